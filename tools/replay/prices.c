/* SPDX-License-Identifier: MIT */
#include "prices.h"

#include "grow.h"
#include "line_reader.h"
#include "parse_number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double pico_per_dollar = 1e12;

/* The cells of a line, cut out one after the other. */
struct cells {
    char *next; /* NULL: none left */
    const char *wrong;
};

static char *cut(char **text, char end)
{
    char *start = *text;
    char *stop = start != NULL ? strchr(start, end) : NULL;

    *text = stop != NULL ? stop + 1 : NULL;
    if (stop != NULL)
        *stop = '\0';
    return start;
}

static bool fail(struct cells *cells, const char *what)
{
    cells->wrong = what;
    return false;
}

static bool read_rate(struct cells *cells, const char *text, int64_t *rate)
{
    uint64_t value;

    if (text == NULL)
        return fail(cells, "a price is missing");
    *rate = -1;
    if (strcmp(text, "-") == 0)
        return true;
    if (!parse_whole(text, 0, INT64_MAX, &value))
        return fail(cells, "a price is neither a whole number nor \"-\"");
    *rate = (int64_t)value;
    return true;
}

static bool read_tier(struct cells *cells, char *text, lbroute_price *price)
{
    lbroute_price_tier *tier = &price->tiers[price->tier_count];
    uint64_t above;

    if (price->tier_count == LBROUTE_PRICE_TIERS)
        return fail(cells, "there are too many tiers");
    if (!parse_whole(cut(&text, ':'), 0, INT64_MAX, &above))
        return fail(cells, "a tier does not begin with a number of tokens");
    tier->above_tokens = (int64_t)above;
    if (price->tier_count > 0 && tier[-1].above_tokens >= tier->above_tokens)
        return fail(cells, "tiers do not ascend");
    price->tier_count++;
    return read_rate(cells, cut(&text, ':'), &tier->input) &&
           read_rate(cells, cut(&text, ':'), &tier->output) &&
           read_rate(cells, cut(&text, ':'), &tier->cached_input) &&
           (text == NULL || fail(cells, "a tier has too many parts"));
}

static bool is_key(const char *key)
{
    size_t length = strlen(key);

    for (size_t i = 0; i < length; i++)
        if ((unsigned char)key[i] < 0x20 || key[i] == 0x7f)
            return false;
    return length >= 1 && length <= LBROUTE_NAME_MAX;
}

static bool read_row(struct cells *cells, struct price_row *row)
{
    const char *key = cut(&cells->next, '\t');
    lbroute_price *price = &row->price;

    if (!is_key(key))
        return fail(cells, "the key is empty, too long or odd");
    strcpy(row->key, key);
    lbroute_price_init(price, sizeof *price);
    if (!read_rate(cells, cut(&cells->next, '\t'), &price->input) ||
        !read_rate(cells, cut(&cells->next, '\t'), &price->output) ||
        !read_rate(cells, cut(&cells->next, '\t'), &price->cached_input))
        return false;
    while (cells->next != NULL)
        if (!read_tier(cells, cut(&cells->next, '\t'), price))
            return false;
    return true;
}

static bool read_line(const struct line_reader *lines, struct price_list *list,
                      const char **wrong)
{
    struct price_row row;
    struct cells cells = {0};
    char *copy;
    bool good;

    *wrong = "there is a zero byte";
    if (strlen(lines->line) != lines->length)
        return false;
    if (lines->length == 0 || lines->line[0] == '#')
        return true;
    copy = grow_zeroed(lines->length + 1, 1);
    memcpy(copy, lines->line, lines->length);
    cells.next = copy;
    good = read_row(&cells, &row);
    free(copy);
    *wrong = cells.wrong;
    if (!good)
        return false;
    list->rows = grow_array(list->rows, &list->capacity, list->count + 1,
                            sizeof *list->rows);
    list->rows[list->count++] = row;
    return true;
}

static int by_key(const void *left, const void *right)
{
    const struct price_row *a = left;
    const struct price_row *b = right;

    return strcmp(a->key, b->key);
}

static bool sort(struct price_list *list, const char *path, char *error,
                 size_t error_size)
{
    if (list->count > 0)
        qsort(list->rows, list->count, sizeof *list->rows, by_key);
    for (size_t i = 1; i < list->count; i++)
        if (by_key(&list->rows[i - 1], &list->rows[i]) == 0) {
            snprintf(error, error_size, "%s: \"%s\" has two prices", path,
                     list->rows[i].key);
            return false;
        }
    return true;
}

static bool read_lines(struct byte_source *source, const char *path,
                       struct price_list *list, char *error, size_t error_size)
{
    struct line_reader lines;
    const char *wrong = NULL;
    bool good = true;

    line_reader_init(&lines, source);
    while (good && line_reader_next(&lines)) {
        good = read_line(&lines, list, &wrong);
        if (!good)
            snprintf(error, error_size, "%s:%zu: %s", path, lines.number,
                     wrong);
    }
    line_reader_release(&lines);
    if (good && byte_source_error(source) != NULL) {
        snprintf(error, error_size, "%s: %s", path, byte_source_error(source));
        return false;
    }
    return good && sort(list, path, error, error_size);
}

bool price_list_read(const char *path, struct price_list *list, char *error,
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

void price_list_release(struct price_list *list)
{
    free(list->rows);
    *list = (struct price_list){0};
}

static int compare_key(const void *key, const void *row)
{
    return strcmp(key, ((const struct price_row *)row)->key);
}

const lbroute_price *price_list_find(const struct price_list *list,
                                     const char *key)
{
    const struct price_row *row;

    if (list->count == 0)
        return NULL;
    row =
        bsearch(key, list->rows, list->count, sizeof *list->rows, compare_key);
    return row != NULL ? &row->price : NULL;
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
