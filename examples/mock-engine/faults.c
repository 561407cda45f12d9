/* SPDX-License-Identifier: MIT */
#include "faults.h"

#include <stdio.h>
#include <string.h>

const struct fault_plan fault_none = {.cut_after = -1, .hang_after = -1};

void faults_init(struct faults *faults)
{
    *faults = (struct faults){.plan = fault_none};
}

void faults_release(struct faults *faults)
{
    json_decref(faults->given);
    faults->given = NULL;
}

static bool read_scope(struct faults *faults, const json_t *given,
                       struct refusal *refusal)
{
    static const struct {
        const char *name;
        enum fault_scope scope;
    } scopes[] = {{"generate", FAULTS_GENERATE},
                  {"metrics", FAULTS_METRICS},
                  {"all", FAULTS_ALL}};
    const json_t *value = json_object_get(given, "scope");

    faults->scope = FAULTS_GENERATE;
    if (value == NULL)
        return true;
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++) {
        if (json_is_string(value) &&
            strcmp(json_string_value(value), scopes[i].name) == 0) {
            faults->scope = scopes[i].scope;
            return true;
        }
    }
    return refuse_field(refusal, "scope", "unknown scope");
}

/* Reads a number of a field that may be missing. */
static bool read_number(const json_t *given, const char *name, double fallback,
                        double maximum, double *number, struct refusal *refusal)
{
    const json_t *value = json_object_get(given, name);

    *number = fallback;
    if (value == NULL)
        return true;
    *number = json_number_value(value);
    if (json_is_number(value) && *number >= 0.0 && *number <= maximum)
        return true;
    return refuse_field(refusal, name, "%s is no number in its range", name);
}

static bool read_count(const json_t *given, const char *name, int64_t *count,
                       struct refusal *refusal)
{
    double number;

    if (!read_number(given, name, -1.0, 1e15, &number, refusal))
        return false;
    *count = (int64_t)number;
    return true;
}

static bool read_status(struct fault_plan *plan, const json_t *given,
                        struct refusal *refusal)
{
    const json_t *after = json_object_get(given, "retry_after");
    double status;

    if (!read_number(given, "status", 0.0, 599.0, &status, refusal))
        return false;
    plan->status = (int)status;
    if (plan->status != 0 && plan->status < 400)
        return refuse_field(refusal, "status", "status is no error");
    if (json_is_string(after))
        snprintf(plan->retry_after, sizeof plan->retry_after, "%s",
                 json_string_value(after));
    else if (json_is_number(after))
        snprintf(plan->retry_after, sizeof plan->retry_after, "%g",
                 json_number_value(after));
    return true;
}

static void read_malformed(struct fault_plan *plan, const json_t *given)
{
    const json_t *value = json_object_get(given, "malformed");

    if (json_is_true(value))
        plan->malformed = MALFORMED_HTTP;
    else if (json_is_string(value))
        plan->malformed = strcmp(json_string_value(value), "json") == 0
                              ? MALFORMED_JSON
                              : MALFORMED_HTTP;
}

static bool read_plan(struct fault_plan *plan, const json_t *given,
                      struct refusal *refusal)
{
    *plan = fault_none;
    plan->close_before_answer =
        json_is_true(json_object_get(given, "close_before_answer"));
    plan->hang = json_is_true(json_object_get(given, "hang"));
    read_malformed(plan, given);
    return read_number(given, "delay_ms", 0.0, 1e7, &plan->delay_ms, refusal) &&
           read_status(plan, given, refusal) &&
           read_count(given, "cut_after_chunks", &plan->cut_after, refusal) &&
           read_count(given, "hang_after_chunks", &plan->hang_after, refusal);
}

static bool read_refuse(struct faults *faults, const json_t *given,
                        struct refusal *refusal)
{
    if (json_is_boolean(json_object_get(given, "refuse"))) {
        faults->refuse_s =
            json_is_true(json_object_get(given, "refuse")) ? -1.0 : 0.0;
        return true;
    }
    return read_number(given, "refuse", 0.0, 1e6, &faults->refuse_s, refusal);
}

/* A misspelt name would be a fault that never comes. */
static bool all_known(const json_t *given, struct refusal *refusal)
{
    static const char *const known[] = {"rate",          "count",
                                        "scope",         "delay_ms",
                                        "hang",          "close_before_answer",
                                        "status",        "retry_after",
                                        "malformed",     "cut_after_chunks",
                                        "refuse",        "hang_after_chunks",
                                        "drop_kv_events"};
    const char *name;
    json_t *value;

    if (!json_is_object(given))
        return refuse_field(refusal, NULL, "faults must be an object");
    json_object_foreach((json_t *)given, name, value)
    {
        size_t i = 0;

        while (i < sizeof known / sizeof known[0] &&
               strcmp(known[i], name) != 0)
            i++;
        if (i == sizeof known / sizeof known[0])
            return refuse_field(refusal, NULL, "unknown fault \"%s\"", name);
    }
    return true;
}

bool faults_set(struct faults *faults, const json_t *given,
                struct refusal *refusal)
{
    struct faults next;
    double drop;

    faults_init(&next);
    if (!all_known(given, refusal) || !read_scope(&next, given, refusal) ||
        !read_plan(&next.plan, given, refusal) ||
        !read_number(given, "rate", 1.0, 1.0, &next.rate, refusal) ||
        !read_count(given, "count", &next.count, refusal) ||
        !read_refuse(&next, given, refusal) ||
        !read_number(given, "drop_kv_events", 0.0, 1e15, &drop, refusal))
        return false;
    next.drop_kv_events = (uint64_t)drop;
    next.suffered = faults->suffered;
    next.given = json_deep_copy(given);
    faults_release(faults);
    *faults = next;
    return true;
}

static bool is_plan(const struct fault_plan *plan)
{
    return plan->delay_ms > 0.0 || plan->close_before_answer || plan->hang ||
           plan->status != 0 || plan->malformed != MALFORMED_NOT ||
           plan->cut_after >= 0 || plan->hang_after >= 0;
}

struct fault_plan faults_take(struct faults *faults, enum fault_scope scope)
{
    if (!is_plan(&faults->plan) || faults->count == 0 ||
        (faults->scope != FAULTS_ALL && faults->scope != scope))
        return fault_none;
    faults->due += faults->rate;
    if (faults->due < 1.0 - 1e-9)
        return fault_none;
    faults->due -= 1.0;
    faults->suffered++;
    if (faults->count > 0)
        faults->count--;
    return faults->plan;
}
