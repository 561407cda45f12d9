/* SPDX-License-Identifier: MIT */
#include "exchange_parts.h"
#include "fleet.h"
#include "gateway.h"
#include "journal.h"
#include "pulse.h"
#include "times.h"
#include "usage.h"

#include <event2/http.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int exchange_event_of(const struct exchange *exchange, int status)
{
    bool broken =
        exchange->usage && usage_reader_state(exchange->usage)->failed;
    if (status < 300)
        return broken ? LBROUTE_EVENT_FAILURE : LBROUTE_EVENT_SUCCESS;
    if (status == 429 || (status == 503 && exchange->retry_after_ns >= 0))
        return LBROUTE_EVENT_OVERLOAD;
    return status >= 500 ? LBROUTE_EVENT_FAILURE : LBROUTE_EVENT_CLIENT_ERROR;
}

static double seconds_since(uint64_t then, uint64_t now)
{
    return (double)(now - then) * 1e-9;
}

static void copy_path(const struct exchange *exchange, char *out, size_t size)
{
    const char *target = evhttp_request_get_uri(exchange->request);
    snprintf(out, size, "%.*s", (int)strcspn(target, "?"), target);
}

static void add_record(struct exchange *exchange, int result,
                       const lbroute_decision *decision, double took_s)
{
    struct journal_record record;
    memset(&record, 0, sizeof record);
    record.unix_ms = wall_clock_ms();
    snprintf(record.model, sizeof record.model, "%s",
             exchange->asked.model ? exchange->asked.model : "");
    copy_path(exchange, record.path, sizeof record.path);
    record.result = result;
    record.attempt = exchange->attempts;
    record.decision = *decision;
    record.decision_us = took_s * 1e6;
    record.first_token_ms = record.total_ms = (double)NAN;
    record.input_tokens = record.cached_tokens = record.output_tokens = -1;
    exchange->record = journal_add(exchange->gateway->journal, &record);
}

void exchange_note_decision(struct exchange *exchange, int result,
                            const lbroute_decision *decision, double took_s)
{
    struct counters *counters = &exchange->gateway->counters;
    if (took_s > 0) /* Not of one that waited: that pick was for all. */
        histogram_add(&counters->decision, took_s * 1000);
    if (result == LBROUTE_OK && decision->rule >= 0 &&
        decision->rule < LBROUTE_RULE_COUNT)
        counters->rules[decision->rule]++;
    else if (result != LBROUTE_OK && result != LBROUTE_ERR_QUEUED &&
             decision->reason >= 0 && decision->reason < LBROUTE_REASON_COUNT)
        counters->rejected[decision->reason]++;
    add_record(exchange, result, decision, took_s);
}

void exchange_note_token(struct exchange *exchange)
{
    struct gateway *gateway = exchange->gateway;
    uint64_t now = gateway_now();
    lbroute_event event;
    exchange->token_seen = true;
    lbroute_event_init(&event, sizeof event);
    event.ticket = exchange->decision.ticket;
    event.kind = LBROUTE_EVENT_FIRST_TOKEN;
    lbroute_observe(gateway->router, &event, now);
    double took = seconds_since(exchange->began, now);
    histogram_add(&gateway->counters.first_token, took);
    struct journal_record *record =
        journal_find(gateway->journal, exchange->record);
    if (record)
        record->first_token_ms = took * 1000;
}

static void add_known(uint64_t *sum, int64_t count)
{
    if (count > 0)
        *sum += (uint64_t)count;
}

static void tell_usage(struct exchange *exchange, lbroute_event *event)
{
    struct counters *counters = &exchange->gateway->counters;
    if (!exchange->usage)
        return;
    const struct usage *usage = usage_reader_state(exchange->usage);
    event->input_tokens = usage->input_tokens;
    event->cached_tokens = usage->cached_tokens;
    event->output_tokens = usage->output_tokens;
    add_known(&counters->input_tokens, usage->input_tokens);
    add_known(&counters->cached_tokens, usage->cached_tokens);
    add_known(&counters->output_tokens, usage->output_tokens);
}

static void complete_record(const struct exchange *exchange,
                            const lbroute_event *event, double total)
{
    struct journal_record *record =
        journal_find(exchange->gateway->journal, exchange->record);
    if (!record)
        return;
    record->outcome = event->kind;
    record->status = exchange->status;
    record->total_ms = total * 1000;
    record->input_tokens = event->input_tokens;
    record->cached_tokens = event->cached_tokens;
    record->output_tokens = event->output_tokens;
}

void exchange_note_status(struct exchange *exchange, int status)
{
    struct journal_record *record =
        journal_find(exchange->gateway->journal, exchange->record);
    if (record && !record->status)
        record->status = status;
}

void exchange_settle(struct exchange *exchange, int kind)
{
    struct gateway *gateway = exchange->gateway;
    uint64_t now = gateway_now();
    lbroute_event event;
    if (!exchange->open_ticket)
        return;
    exchange->open_ticket = false;
    lbroute_event_init(&event, sizeof event);
    event.ticket = exchange->decision.ticket;
    event.kind = kind;
    event.retry_after_ns = exchange->retry_after_ns;
    if (kind == LBROUTE_EVENT_SUCCESS)
        tell_usage(exchange, &event);
    lbroute_observe(gateway->router, &event, now);
    double total = seconds_since(exchange->began, now);
    if (kind == LBROUTE_EVENT_SUCCESS)
        histogram_add(&gateway->counters.total, total);
    complete_record(exchange, &event, total);
    pulse_serve(gateway);
}
