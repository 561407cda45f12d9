/* SPDX-License-Identifier: MIT */
#include "report_routers.h"

#include "report_object.h"

#include <stdio.h>

/* ---- for programs ---- */

static json_t *request_array(const struct replay_routers *routers)
{
    json_t *array = json_array();

    for (size_t i = 0; i < routers->count; i++)
        if (json_array_append_new(array, object_count(routers->requests[i])) !=
            0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static void put_deltas(struct report_object *object,
                       const struct replay_routers *routers)
{
    object_put(object, "interval_s",
               object_number(routers->interval_s, OBJECT_MICRO));
    object_put(object, "deltas", object_count(routers->deltas));
    object_put(object, "bytes", object_count(routers->bytes));
    object_put(object, "bytes_per_request",
               object_number(routers->bytes_per_request, OBJECT_MILLI));
    object_put(object, "bytes_per_s",
               object_number(routers->bytes_per_s, OBJECT_MILLI));
    object_put(object, "applied", object_count(routers->applied));
    object_put(object, "lost", object_count(routers->lost));
    object_put(object, "gaps", object_count(routers->gaps));
    object_put(object, "prompts", object_count(routers->prompts));
    object_put(object, "sessions", object_count(routers->sessions));
    object_put(object, "skipped", object_count(routers->skipped));
    object_put(object, "dropped", object_count(routers->dropped));
}

json_t *report_routers_object(const struct replay_routers *routers)
{
    struct report_object object = object_begin();

    object_put(&object, "count", object_count(routers->count));
    object_put(&object, "share",
               object_text(routers->share ? "deltas" : "none"));
    object_put(&object, "requests", request_array(routers));
    if (routers->share)
        put_deltas(&object, routers);
    return object_end(&object);
}

/* ---- for people ---- */

void report_routers_text(char text[REPORT_ROUTERS_MAX],
                         const struct replay_routers *routers)
{
    char seconds[REPORT_TEXT_MAX];

    text[0] = '\0';
    if (routers->count < 2)
        return;
    report_text_number(seconds, routers->interval_s);
    if (routers->share)
        snprintf(text, REPORT_ROUTERS_MAX, "%zu routers, deltas every %s s",
                 routers->count, seconds);
    else
        snprintf(text, REPORT_ROUTERS_MAX,
                 "%zu routers that know nothing of each other", routers->count);
}

static double written(const struct replay_result *result)
{
    return (double)result->routers.deltas;
}

static double per_request(const struct replay_result *result)
{
    return result->routers.bytes_per_request;
}

static double kb_per_s(const struct replay_result *result)
{
    return result->routers.bytes_per_s / 1e3;
}

static double lost(const struct replay_result *result)
{
    return (double)result->routers.lost;
}

static double not_told(const struct replay_result *result)
{
    return (double)result->routers.dropped;
}

const struct report_column report_routers_columns[] = {
    {"deltas", "written", "By all routers; each goes to all others.",
     REPORT_BETTER_NONE, REPORT_ANYWHERE, written, report_text_count},
    {"deltas", "B/request", "Of deltas, for each request.", REPORT_BETTER_NONE,
     REPORT_ANYWHERE, per_request, report_text_count},
    {"deltas", "kB/s", "Of deltas, for each second of the run.",
     REPORT_BETTER_NONE, REPORT_ANYWHERE, kb_per_s, report_text_ratio},
    {"deltas", "lost", "Deltas that did not reach one of the others.",
     REPORT_BETTER_NONE, REPORT_ANYWHERE, lost, report_text_count},
    {"deltas", "not told", "Prompts and sessions for which there was no room.",
     REPORT_BETTER_NONE, REPORT_ANYWHERE, not_told, report_text_count},
};

const size_t report_routers_column_count =
    sizeof report_routers_columns / sizeof report_routers_columns[0];
