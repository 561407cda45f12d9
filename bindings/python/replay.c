/* SPDX-License-Identifier: MIT */
#include "replay.h"

#include "replay/grow.h"
#include "replay/options.h"
#include "replay/report.h"
#include "replay/session.h"
#include "replay/tell.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*score_function)(void *user, const lbroute_score_request *request,
                              const lbroute_candidate *candidates, size_t count,
                              double *scores);

/* A call of lbrpy_replay(). */
struct call {
    lbrpy_report *report;
    score_function filter;
    FILE *messages;
    jmp_buf stopped;
};

/* A strategy of the caller's, and the call that it is run in. */
struct own {
    const struct call *call;
    const lbrpy_strategy *strategy;
};

/* The router of the run under way, for lbrpy_replay_target(). */
static lbroute_router *current;

static void hear(void *context, const char *line)
{
    struct call *call = context;

    fprintf(call->messages, "%s\n", line);
}

static void stop(void *context)
{
    struct call *call = context;

    longjmp(call->stopped, 1);
}

static int extend(void *context, lbroute_router *router, lbroute_pool pool)
{
    const struct own *own = context;
    lbroute_scorer_options options;
    lbroute_scorer scorer;

    current = router;
    lbroute_scorer_options_init(&options, sizeof options);
    options.name = "strategy";
    options.name_len = strlen(options.name);
    options.kind = LBROUTE_SCORER_FILTER;
    options.score = own->call->filter;
    options.user = (void *)own->strategy->user;
    return lbroute_scorer_register(router, pool, &options, &scorer);
}

int lbrpy_replay_target(uint64_t target, char *name)
{
    lbroute_target_info info;
    int result;

    lbroute_target_info_init(&info, sizeof info);
    result = lbroute_target_get_info(current, target, &info);
    if (result == LBROUTE_OK)
        memcpy(name, info.name, sizeof info.name);
    return result;
}

static struct session_strategy *own_strategies(const struct call *call,
                                               const lbrpy_strategy *strategies,
                                               size_t count, struct own *owns)
{
    struct session_strategy *list = grow_zeroed(count, sizeof *list);

    for (size_t i = 0; i < count; i++) {
        owns[i] = (struct own){call, &strategies[i]};
        list[i] =
            (struct session_strategy){strategies[i].name, extend, &owns[i]};
    }
    return list;
}

static void print_table(FILE *out, const struct session *session)
{
    replay_report_table(out, session->results, session->result_count);
}

static void print_json(FILE *out, const struct session *session)
{
    replay_report_json(out, session->results, session->result_count);
}

static void print_html(FILE *out, const struct session *session)
{
    replay_report_html(out, session->results, session->result_count);
}

static FILE *open_text(char **text)
{
    size_t length;
    FILE *file = open_memstream(text, &length);

    if (file == NULL)
        tell_and_stop("out of memory");
    return file;
}

static char *text_of(void (*print)(FILE *out, const struct session *session),
                     const struct session *session)
{
    char *text = NULL;
    FILE *file = open_text(&text);

    print(file, session);
    if (fclose(file) != 0)
        tell_and_stop("out of memory");
    return text;
}

static int run(const struct options *options, const struct call *call,
               const lbrpy_strategy *strategies, size_t count, int own_only)
{
    struct own *owns = grow_zeroed(count, sizeof *owns);
    struct session_strategy *own =
        own_strategies(call, strategies, count, owns);
    struct session session = {.options = options,
                              .own = own,
                              .own_count = count,
                              .own_only = own_only != 0,
                              .quiet = true};
    bool good = session_run(&session);

    if (good) {
        call->report->table = text_of(print_table, &session);
        call->report->json = text_of(print_json, &session);
        call->report->html = text_of(print_html, &session);
    }
    session_release(&session);
    free(own);
    free(owns);
    return good ? 0 : -1;
}

static int parse_and_run(int argc, char **argv, const struct call *call,
                         const lbrpy_strategy *strategies, size_t count,
                         int own_only)
{
    struct options options;
    int result = -1;

    if (options_parse(argc, argv, &options)) {
        options.jobs = 1; /* stop() leaves by the caller's own thread */
        if (options.command == COMMAND_RUN)
            result = run(&options, call, strategies, count, own_only);
        else
            tell("that is for the command line only");
    }
    options_release(&options);
    return result;
}

int lbrpy_replay(int argc, char **argv, lbrpy_function filter,
                 const lbrpy_strategy *strategies, size_t count, int own_only,
                 lbrpy_report *report)
{
    struct call call = {.report = report, .filter = (score_function)filter};
    struct tell_listener listener = {hear, stop, &call};
    volatile int result = -1;
    size_t length;

    memset(report, 0, sizeof *report);
    call.messages = open_memstream(&report->messages, &length);
    if (call.messages == NULL)
        return -1;
    tell_to(&listener);
    if (setjmp(call.stopped) == 0)
        result = parse_and_run(argc, argv, &call, strategies, count, own_only);
    tell_to(NULL);
    current = NULL;
    fclose(call.messages);
    return result;
}

void lbrpy_replay_free(lbrpy_report *report)
{
    free(report->messages);
    free(report->table);
    free(report->json);
    free(report->html);
}
