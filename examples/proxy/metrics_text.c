/* SPDX-License-Identifier: MIT */
#include "metrics_text.h"

#include "labels.h"

#include <event2/buffer.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

void metrics_family(struct evbuffer *out, const char *name, const char *type,
                    const char *help)
{
    evbuffer_add_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
                        type);
}

static void add_text(struct evbuffer *out, const char *text)
{
    evbuffer_add(out, text, strlen(text));
}

static void add_escaped(struct evbuffer *out, const char *value)
{
    char clean[512];

    clean_text(clean, sizeof(clean), value);
    for (const char *at = clean; *at != '\0';) {
        size_t plain = strcspn(at, "\\\"\n");

        evbuffer_add(out, at, plain);
        at += plain;
        if (*at == '\0')
            return;
        add_text(out, *at == '\n' ? "\\n" : *at == '"' ? "\\\"" : "\\\\");
        at++;
    }
}

static void add_series(struct evbuffer *out, const char *name,
                       const struct metrics_label *labels, size_t label_count)
{
    add_text(out, name);
    for (size_t i = 0; i < label_count; i++) {
        add_text(out, i == 0 ? "{" : ",");
        add_text(out, labels[i].name);
        add_text(out, "=\"");
        add_escaped(out, labels[i].value);
        add_text(out, "\"");
    }
    add_text(out, label_count > 0 ? "} " : " ");
}

/* As Prometheus spells numbers. */
static void add_number(struct evbuffer *out, double value)
{
    if (isinf(value))
        add_text(out, value > 0 ? "+Inf" : "-Inf");
    else if (rint(value) == value && fabs(value) < 9007199254740992.0)
        evbuffer_add_printf(out, "%.0f", value); /* Counts to the last digit. */
    else
        evbuffer_add_printf(out, "%.12g", value);
}

void metrics_sample(struct evbuffer *out, const char *name,
                    const struct metrics_label *labels, size_t label_count,
                    double value)
{
    if (isnan(value))
        return;
    add_series(out, name, labels, label_count);
    add_number(out, value);
    add_text(out, "\n");
}

void metrics_count(struct evbuffer *out, const char *name,
                   const struct metrics_label *labels, size_t label_count,
                   uint64_t value)
{
    add_series(out, name, labels, label_count);
    evbuffer_add_printf(out, "%" PRIu64 "\n", value);
}

static void add_buckets(struct evbuffer *out, const char *name,
                        const struct histogram *histogram, double divisor)
{
    uint64_t below = 0;

    for (unsigned i = 0; i < COUNTER_BUCKETS; i++) {
        below += histogram->buckets[i];
        evbuffer_add_printf(out, "%s_bucket{le=\"", name);
        add_number(out, histogram_bound(i) / divisor);
        evbuffer_add_printf(out, "\"} %" PRIu64 "\n", below);
    }
}

void metrics_histogram(struct evbuffer *out, const char *name, const char *help,
                       const struct histogram *histogram, double divisor)
{
    metrics_family(out, name, "histogram", help);
    add_buckets(out, name, histogram, divisor);
    evbuffer_add_printf(out, "%s_sum %.12g\n%s_count %" PRIu64 "\n", name,
                        histogram->sum / divisor, name, histogram->count);
}
