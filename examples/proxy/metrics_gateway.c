/* SPDX-License-Identifier: MIT */
#include "figure.h"
#include "gateway.h"
#include "labels.h"
#include "metrics_page.h"
#include "metrics_text.h"
#include "state_keep.h"

#include <stdio.h>

#define COUNTED(name, help, field)                                             \
    {                                                                          \
        "lbroute_" name, "counter", help, FIGURE_U64,                          \
            offsetof(struct counters, field)                                   \
    }

static const struct figure figures[] = {
    COUNTED("requests_total", "Requests of clients.", requests),
    COUNTED("refused_total", "Malformed requests, which were never routed.",
            refused),
    COUNTED("retries_total", "Further targets tried.", retries),
    COUNTED("queued_total", "Requests that had to wait.", queued),
    COUNTED("client_gone_total",
            "Clients that went away before the end of their answer.",
            client_gone),
    COUNTED("cut_short_total",
            "Answers that an engine broke off after the first byte.",
            cut_short),
    COUNTED("received_bytes_total", "Bytes of request bodies.", bytes_in),
    COUNTED("sent_bytes_total", "Bytes of answer bodies.", bytes_out),
    COUNTED("input_tokens_total",
            "Input tokens as engines say, cached ones included.", input_tokens),
    COUNTED("cached_tokens_total", "Input tokens that engines had cached.",
            cached_tokens),
    COUNTED("output_tokens_total", "Output tokens as engines say.",
            output_tokens),
    COUNTED("reloads_total", "Configurations put in force.", reloads),
    COUNTED("tokenize_failures_total",
            "Prompts whose token ids were asked for and did not come.",
            tokenize_failures),
    COUNTED("reload_failures_total", "Configurations that were refused.",
            reload_failures),
    COUNTED("state_saves_total", "How often what was learned was saved.",
            state_saves),
    COUNTED("state_save_failures_total",
            "How often what was learned could not be saved.",
            state_save_failures),
};

static void write_gauge(struct evbuffer *out, const char *name,
                        const char *help, double value)
{
    metrics_family(out, name, "gauge", help);
    metrics_sample(out, name, NULL, 0, value);
}

static void write_state(const struct gateway *gateway, uint64_t now,
                        struct evbuffer *out)
{
    struct metrics_label version = {"version", lbroute_version()};
    int adaptive = 1;

    lbroute_get_adaptive(gateway->router, &adaptive);
    metrics_family(out, "lbroute_build_info", "gauge", "Version of lbroute.");
    metrics_sample(out, "lbroute_build_info", &version, 1, 1.0);
    write_gauge(out, "lbroute_uptime_seconds", "Time since the start.",
                (double)(now - gateway->started) / 1e9);
    write_gauge(out, "lbroute_draining", "1: ends when the last answer has.",
                gateway->draining);
    write_gauge(out, "lbroute_adaptive_enabled",
                "0: the kill switch of adaptive pools is set.", adaptive);
    write_gauge(out, "lbroute_open_requests", "Requests under way.",
                gateway->open_exchanges);
    write_gauge(out, "lbroute_waiting_requests", "Of these, wait for a slot.",
                gateway->waiting);
}

static void write_saved(const struct state_keep *keep, struct evbuffer *out)
{
    if (keep == NULL || keep->saved_ns == 0)
        return;
    write_gauge(out, "lbroute_state_saved_timestamp_seconds",
                "When what was learned was last saved.",
                (double)keep->saved_ns / 1e9);
    write_gauge(out, "lbroute_state_saved_bytes", "How long that file is.",
                (double)keep->saved_bytes);
    write_gauge(out, "lbroute_state_save_seconds",
                "For how long saving it held up everything else.",
                keep->save_s);
}

static void write_answers(const struct counters *counters, struct evbuffer *out)
{
    char class[8];
    struct metrics_label label = {"class", class};

    metrics_family(out, "lbroute_answers_total", "counter",
                   "Answers by class of status; none: the client was gone.");
    for (int i = 0; i < COUNTER_STATUSES; i++) {
        snprintf(class, sizeof(class), i ? "%dxx" : "none", i);
        metrics_count(out, "lbroute_answers_total", &label, 1,
                      counters->answers[i]);
    }
}

static void write_rejected(const struct counters *counters,
                           struct evbuffer *out)
{
    metrics_family(out, "lbroute_rejected_total", "counter",
                   "Requests that found no target, by reason.");
    for (int reason = 1; reason < LBROUTE_REASON_COUNT; reason++) {
        struct metrics_label label = {"reason", lbroute_reason_name(reason)};

        metrics_count(out, "lbroute_rejected_total", &label, 1,
                      counters->rejected[reason]);
    }
}

static void write_rules(const struct counters *counters, struct evbuffer *out)
{
    metrics_family(out, "lbroute_decisions_total", "counter",
                   "Decisions by the rule that made them.");
    for (int rule = 1; rule < LBROUTE_RULE_COUNT; rule++) {
        struct metrics_label label = {"rule", lbroute_rule_name(rule)};

        metrics_count(out, "lbroute_decisions_total", &label, 1,
                      counters->rules[rule]);
    }
}

static void write_durations(const struct counters *counters,
                            struct evbuffer *out)
{
    metrics_histogram(out, "lbroute_decision_seconds", "What a decision takes.",
                      &counters->decision, 1000.0);
    metrics_histogram(out, "lbroute_first_token_seconds",
                      "From the request to the first token.",
                      &counters->first_token, 1.0);
    metrics_histogram(out, "lbroute_request_seconds",
                      "From the request to the end of its answer.",
                      &counters->total, 1.0);
    metrics_histogram(out, "lbroute_wait_seconds",
                      "How long requests that had to wait have waited.",
                      &counters->wait, 1.0);
}

void metrics_gateway_write(const struct gateway *gateway, uint64_t now,
                           struct evbuffer *out)
{
    const struct counters *counters = &gateway->counters;

    write_state(gateway, now, out);
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
        const struct figure *figure = &figures[i];

        metrics_family(out, figure->name, figure->type, figure->help);
        metrics_sample(out, figure->name, NULL, 0,
                       figure_value(figure, counters));
    }
    write_saved(gateway->state, out);
    write_answers(counters, out);
    write_rejected(counters, out);
    write_rules(counters, out);
    write_durations(counters, out);
}
