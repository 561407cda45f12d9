/* SPDX-License-Identifier: MIT */
/*
 * lbroute-replay: what-if on LLM traffic.
 */
#include "options.h"
#include "session.h"
#include "tell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

static bool file_failed(const char *path)
{
    tell("%s: %s", path, strerror(errno));
    return false;
}

/* Before the runs, so that a wrong path does not cost them. What the file holds
 * stays until there is something to put in its place. */
static bool check_output(const char *path)
{
    FILE *file;

    if (path == NULL)
        return true;
    file = fopen(path, "a");
    if (file == NULL)
        return file_failed(path);
    fclose(file);
    return true;
}

typedef int (*report_writer)(FILE *out, const struct replay_result *results,
                             size_t count);

static bool write_output(const char *path, report_writer write,
                         const struct session *session)
{
    FILE *file;
    int result;

    if (path == NULL)
        return true;
    file = fopen(path, "w");
    if (file == NULL)
        return file_failed(path);
    result = write(file, session->results, session->result_count);
    if (fclose(file) != 0 || result != 0)
        return file_failed(path);
    return true;
}

static bool report(struct session *session)
{
    const char *json = session->options->json_path;
    const char *html = session->options->html_path;
    bool good;

    if (!check_output(json) || !check_output(html) || !session_run(session))
        return false;
    replay_report_table(stdout, session->results, session->result_count);
    good = fflush(stdout) == 0 || file_failed("standard output");
    good = write_output(json, replay_report_json, session) && good;
    return write_output(html, replay_report_html, session) && good;
}

static bool run(const struct options *options)
{
    struct session session = {.options = options};
    bool good = report(&session);

    session_release(&session);
    return good;
}

int main(int argc, char **argv)
{
    struct options options;
    bool good;
    int status;

    tell_as("lbroute-replay");
    good = options_parse(argc, argv, &options);
    status = good ? EXIT_SUCCESS : EXIT_USAGE;
    if (good) {
        switch (options.command) {
        case COMMAND_HELP:
            options_print_help(stdout);
            break;
        case COMMAND_LIST:
            options_print_list(stdout);
            break;
        case COMMAND_VERSION:
            printf("lbroute-replay %s\n", lbroute_version());
            break;
        case COMMAND_RUN:
            status = run(&options) ? EXIT_SUCCESS : EXIT_FAILURE;
            break;
        }
    }
    options_release(&options);
    return status;
}
