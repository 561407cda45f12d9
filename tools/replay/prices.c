/* SPDX-License-Identifier: MIT */
#include "prices.h"

#include "grow.h"
#include "line_reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double pico_per_dollar = 1e12;

/* A copy: the line is cut into pieces. */
static const char *read_line(const struct line_reader *lines,
                             struct price_list *list)
{
    char *copy = grow_zeroed(lines->length + 1, 1);
    const char *wrong;

    memcpy(copy, lines->line, lines->length);
    wrong = price_list_add_line(list, copy, lines->length);
    free(copy);
    return wrong;
}

static bool sort(struct price_list *list, const char *path, char *error,
                 size_t error_size)
{
    const char *twice = price_list_sort(list);

    if (twice != NULL)
        snprintf(error, error_size, "%s: \"%s\" has two prices", path, twice);
    return twice == NULL;
}

static bool read_lines(struct byte_source *source, const char *path,
                       struct price_list *list, char *error, size_t error_size)
{
    struct line_reader lines;
    const char *wrong = NULL;

    line_reader_init(&lines, source);
    while (wrong == NULL && line_reader_next(&lines))
        wrong = read_line(&lines, list);
    line_reader_release(&lines);
    if (wrong != NULL) {
        snprintf(error, error_size, "%s:%zu: %s", path, lines.number, wrong);
        return false;
    }
    if (byte_source_error(source) != NULL) {
        snprintf(error, error_size, "%s: %s", path, byte_source_error(source));
        return false;
    }
    return sort(list, path, error, error_size);
}

bool prices_read(const char *path, struct price_list *list, char *error,
                 size_t error_size)
{
    struct byte_source *source = byte_source_open(path);
    bool good;

    *list = (struct price_list){0};
    if (source == NULL) {
        snprintf(error, error_size, "%s: %s", path, strerror(errno));
        return false;
    }
    good = read_lines(source, path, list, error, error_size);
    byte_source_close(source);
    if (!good)
        price_list_release(list);
    return good;
}

/* The rates of a request with so much input: one tier is for all of it. */
static lbroute_price_tier rates_for(const lbroute_price *price, uint64_t input)
{
    lbroute_price_tier rates = {0, price->input, price->output,
                                price->cached_input};

    for (uint32_t i = 0; i < price->tier_count; i++)
        if (input > (uint64_t)price->tiers[i].above_tokens)
            rates = price->tiers[i];
    return rates;
}

double price_cost_usd(const lbroute_price *price, uint64_t input_tokens,
                      uint64_t cached_tokens, uint64_t output_tokens)
{
    lbroute_price_tier rates;

    if (price == NULL)
        return (double)NAN;
    rates = rates_for(price, input_tokens);
    if (rates.input < 0 || (rates.output < 0 && output_tokens > 0))
        return (double)NAN;
    if (rates.cached_input < 0)
        rates.cached_input = rates.input;
    return ((double)rates.input * (double)(input_tokens - cached_tokens) +
            (double)rates.cached_input * (double)cached_tokens +
            (double)rates.output * (double)output_tokens) /
           pico_per_dollar;
}
