/* SPDX-License-Identifier: MIT */
#include "report_handover.h"

#include "report_object.h"

/* ---- for programs ---- */

static json_t *span_object(const struct replay_span *span)
{
    struct report_object object = object_begin();

    object_put(&object, "requests", object_count(span->requests));
    object_put(&object, "hit_share",
               object_number(span->hit_share, OBJECT_MICRO));
    object_put(&object, "ttft_ms", object_quantiles(&span->ttft_ms));
    return object_end(&object);
}

json_t *report_handover_object(const struct replay_handover *handover)
{
    struct report_object object = object_begin();

    object_put(&object, "at_s", object_number(handover->at_s, OBJECT_MICRO));
    object_put(&object, "window_s",
               object_number(handover->window_s, OBJECT_MICRO));
    object_put(&object, "forgotten", object_count(handover->forgotten));
    object_put(&object, "snapshot_bytes",
               object_count(handover->snapshot_bytes));
    object_put(&object, "before", span_object(&handover->before));
    object_put(&object, "after", span_object(&handover->after));
    object_put(&object, "rest", span_object(&handover->rest));
    return object_end(&object);
}

/* ---- for people ---- */

static double hits_before(const struct replay_result *result)
{
    return result->handover.before.hit_share;
}

static double hits_after(const struct replay_result *result)
{
    return result->handover.after.hit_share;
}

static double hits_later(const struct replay_result *result)
{
    return result->handover.rest.hit_share;
}

static double first_before(const struct replay_result *result)
{
    return result->handover.before.ttft_ms.mean;
}

static double first_after(const struct replay_result *result)
{
    return result->handover.after.ttft_ms.mean;
}

static double first_later(const struct replay_result *result)
{
    return result->handover.rest.ttft_ms.mean;
}

static double p99_before(const struct replay_result *result)
{
    return result->handover.before.ttft_ms.p99;
}

static double p99_after(const struct replay_result *result)
{
    return result->handover.after.ttft_ms.p99;
}

static double forgotten(const struct replay_result *result)
{
    return (double)result->handover.forgotten;
}

static double snapshot_kb(const struct replay_result *result)
{
    return (double)result->handover.snapshot_bytes / 1e3;
}

const struct report_column report_handover_columns[] = {
    {"cache hits", "before", "In the window before the restart.",
     REPORT_BETTER_NONE, REPORT_ANYWHERE, hits_before, report_text_share},
    {"cache hits", "after", "In the window after it.", REPORT_BETTER_HIGHER,
     REPORT_ANYWHERE, hits_after, report_text_share},
    {"cache hits", "later", "From then on.", REPORT_BETTER_HIGHER,
     REPORT_ANYWHERE, hits_later, report_text_share},
    {"first token, mean", "before", "In the window before the restart.",
     REPORT_BETTER_NONE, REPORT_ANYWHERE, first_before, report_text_ms},
    {"first token, mean", "after", "In the window after it.",
     REPORT_BETTER_LOWER, REPORT_ANYWHERE, first_after, report_text_ms},
    {"first token, mean", "later", "From then on.", REPORT_BETTER_LOWER,
     REPORT_ANYWHERE, first_later, report_text_ms},
    {"first token, p99", "before", "In the window before the restart.",
     REPORT_BETTER_NONE, REPORT_ANYWHERE, p99_before, report_text_ms},
    {"first token, p99", "after", "In the window after it.",
     REPORT_BETTER_LOWER, REPORT_ANYWHERE, p99_after, report_text_ms},
    {"", "forgotten",
     "Requests under way of which the new router does not "
     "know.",
     REPORT_BETTER_NONE, REPORT_ANYWHERE, forgotten, report_text_count},
    {"", "snapshot", "kB of what it was told; 0: nothing.", REPORT_BETTER_NONE,
     REPORT_ANYWHERE, snapshot_kb, report_text_count},
};

const size_t report_handover_column_count =
    sizeof report_handover_columns / sizeof report_handover_columns[0];
