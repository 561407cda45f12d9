/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "gateway.h"
#include "log.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static const char USAGE[] =
    "usage: lbroute-proxy [--check] --config FILE\n"
    "\n"
    "An OpenAI- and Anthropic-compatible proxy that routes by lbroute.\n"
    "\n"
    "  -c, --config FILE  configuration (YAML)\n"
    "      --check        only check it; 0 if it is good\n"
    "      --help-config  print its keys\n"
    "      --version      print the version\n"
    "      --help         print this\n"
    "\n"
    "SIGHUP reads the file anew, SIGTERM and SIGINT finish what is under way\n"
    "and end.\n";

struct options {
    const char *config;
    bool check;
};

enum { CHECK = 256, VERSION, HELP };

/* Of one option: the status to exit with at once; -1: go on. */
static int take(int name, struct options *options)
{
    switch (name) {
    case 'c':
        options->config = optarg;
        return -1;
    case CHECK:
        options->check = true;
        return -1;
    case VERSION:
        printf("lbroute-proxy %s\n", lbroute_version());
        return EXIT_SUCCESS;
    case HELP:
        fputs(USAGE, stdout);
        return EXIT_SUCCESS;
    default:
        fputs(USAGE, stderr);
        return 2;
    }
}

static int read_options(int argc, char **argv, struct options *options)
{
    static const struct option NAMES[] = {
        {"config", required_argument, NULL, 'c'},
        {"check", no_argument, NULL, CHECK},
        {"version", no_argument, NULL, VERSION},
        {"help", no_argument, NULL, HELP},
        {NULL, 0, NULL, 0},
    };
    int name = 0, status = -1;
    while (status < 0 &&
           (name = getopt_long(argc, argv, "c:", NAMES, NULL)) != -1)
        status = take(name, options);
    if (status >= 0)
        return status;
    if (!options->config && optind < argc)
        options->config = argv[optind++];
    if (options->config && optind == argc)
        return -1;
    fputs(USAGE, stderr);
    return 2;
}

static struct config *load(const char *path)
{
    struct config_error error = {0};
    struct config *config = config_load(path, &error);
    if (config)
        return config;
    if (error.line)
        fprintf(stderr, "%s:%u:%u: %s\n", path, error.line, error.column,
                error.text);
    else
        fprintf(stderr, "%s: %s\n", path, error.text);
    return NULL;
}

static int serve(struct config *config)
{
    char error[1024] = "";
    struct gateway gateway;
    int status = EXIT_FAILURE;
    if (gateway_open(&gateway, config, error, sizeof error)) {
        log_line("started");
        status = gateway_run(&gateway);
        log_line("ended");
    } else {
        log_line("%s", error);
    }
    gateway_close(&gateway);
    return status;
}

int main(int argc, char **argv)
{
    struct options options = {NULL, false};
    int status = read_options(argc, argv, &options);
    if (status >= 0)
        return status;
    signal(SIGPIPE, SIG_IGN);
    struct config *config = load(options.config);
    if (!config)
        return EXIT_FAILURE;
    if (options.check) {
        printf("%s: good\n", options.config);
        config_free(config);
        return EXIT_SUCCESS;
    }
    return serve(config);
}
