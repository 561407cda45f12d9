/* SPDX-License-Identifier: MIT */
#include "price_list.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The cells of a line, cut off one after the other. */
struct cells {
    char *next; /* NULL: none left */
    const char *wrong;
};

static bool fail(struct cells *cells, const char *what)
{
    cells->wrong = what;
    return false;
}

static char *cut(char **text, char end)
{
    char *start = *text;
    char *stop = start != NULL ? strchr(start, end) : NULL;

    *text = stop != NULL ? stop + 1 : NULL;
    if (stop != NULL)
        *stop = '\0';
    return start;
}

static bool read_whole(const char *text, int64_t *number)
{
    char *end;

    if (text == NULL || strspn(text, "0123456789") == 0)
        return false;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0';
}

static bool read_rate(struct cells *cells, const char *text, int64_t *rate)
{
    if (text == NULL)
        return fail(cells, "a price is missing");
    *rate = -1;
    if (strcmp(text, "-") == 0)
        return true;
    return read_whole(text, rate) ||
           fail(cells, "a price is neither a whole number nor \"-\"");
}

static bool read_rates(struct cells *cells, char **text, char end,
                       int64_t *input, int64_t *output, int64_t *cached)
{
    return read_rate(cells, cut(text, end), input) &&
           read_rate(cells, cut(text, end), output) &&
           read_rate(cells, cut(text, end), cached);
}

static bool read_tier(struct cells *cells, char *text, lbroute_price *price)
{
    lbroute_price_tier *tier = &price->tiers[price->tier_count];

    if (price->tier_count == LBROUTE_PRICE_TIERS)
        return fail(cells, "there are too many tiers");
    if (!read_whole(cut(&text, ':'), &tier->above_tokens))
        return fail(cells, "a tier does not begin with a number of tokens");
    if (price->tier_count++ > 0 && tier[-1].above_tokens >= tier->above_tokens)
        return fail(cells, "tiers do not ascend");
    return read_rates(cells, &text, ':', &tier->input, &tier->output,
                      &tier->cached_input) &&
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

static bool read_row(struct cells *cells, struct price_list *list)
{
    const char *key = cut(&cells->next, '\t');
    lbroute_price price;

    lbroute_price_init(&price, sizeof price);
    if (!is_key(key))
        return fail(cells, "the key is empty, too long or odd");
    if (!read_rates(cells, &cells->next, '\t', &price.input, &price.output,
                    &price.cached_input))
        return false;
    while (cells->next != NULL)
        if (!read_tier(cells, cut(&cells->next, '\t'), &price))
            return false;
    return price_list_add(list, key, &price) || fail(cells, "out of memory");
}

const char *price_list_add_line(struct price_list *list, char *line, size_t len)
{
    struct cells cells = {line, NULL};

    if (strlen(line) != len)
        return "there is a zero byte";
    if (len > 0 && line[0] != '#')
        read_row(&cells, list);
    return cells.wrong;
}
