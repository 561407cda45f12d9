/* SPDX-License-Identifier: MIT */
#include "price_catalog.h"

#include "price_decimal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A dollar for one token, a thousand times what the dearest model asks. */
static const int64_t most_pico = 1000000000000;

bool price_entry_fail(const struct price_entry *entry, const char *field,
                      const char *problem)
{
    return price_fail(entry->error, "\"%.200s\": %.60s%s%s", entry->key, field,
                      field[0] != '\0' ? ": " : "", problem);
}

struct price_rates price_rates_none(void)
{
    return (struct price_rates){{-1, -1, -1}};
}

bool price_read_rate(const struct price_entry *entry, const char *field,
                     const json_t *value, int digits, int64_t *rate)
{
    double dollars;
    int64_t pico;

    if (value == NULL || json_is_null(value))
        return true;
    if (!json_is_number(value))
        return price_entry_fail(entry, field, "no number");
    dollars = json_number_value(value);
    if (dollars < 0)
        return price_entry_fail(entry, field, "negative");
    pico = dollars <= 1e9 ? price_pico(dollars, digits) : INT64_MAX;
    if (pico > most_pico ||
        (pico == most_pico && dollars * pow(10, digits) > (double)most_pico))
        return price_entry_fail(entry, field, "more than a dollar a token");
    if (pico == 0 && dollars > 0)
        return price_entry_fail(entry, field, "less than half a pico-dollar");
    *rate = pico;
    return true;
}

bool price_read_rates(const struct price_entry *entry,
                      const struct price_layout *layout, const json_t *object,
                      struct price_rates *rates)
{
    for (int i = 0; i < RATE_COUNT; i++)
        if (!price_read_rate(entry, layout->fields[i],
                             json_object_get(object, layout->fields[i]),
                             layout->digits, &rates->values[i]))
            return false;
    return true;
}

bool price_read_tokens(const struct price_entry *entry, const char *field,
                       const json_t *value, int64_t *tokens)
{
    double number = json_is_number(value) ? json_number_value(value) : -1;

    if (!(number >= 0) || number >= ldexp(1, 63) || number < floor(number) ||
        number > floor(number))
        return price_entry_fail(entry, field, "no number of tokens");
    *tokens = (int64_t)number;
    return true;
}

bool price_read_threshold(const char *name, const char *head, const char *tail,
                          int64_t *above)
{
    size_t length = strlen(head);
    const char *digits = name + length;
    char *end;

    if (strncmp(name, head, length) != 0 || strspn(digits, "0123456789") == 0)
        return false;
    *above = strtoll(digits, &end, 10);
    if (*end == 'k' || *end == 'm') {
        int64_t unit = *end++ == 'k' ? 1000 : 1000000;

        *above = *above > INT64_MAX / unit ? INT64_MAX : *above * unit;
    }
    return strcmp(end, tail) == 0;
}

struct price_level *price_level(const struct price_entry *entry,
                                struct price_levels *levels, int64_t above)
{
    size_t room = sizeof levels->levels / sizeof levels->levels[0];

    for (size_t i = 0; i < levels->count; i++)
        if (levels->levels[i].above == above)
            return &levels->levels[i];
    if (levels->count == room) {
        price_entry_fail(entry, "", "more than 4 tiers");
        return NULL;
    }
    levels->levels[levels->count] =
        (struct price_level){above, price_rates_none()};
    return &levels->levels[levels->count++];
}

static int by_threshold(const void *left, const void *right)
{
    const struct price_level *a = left;
    const struct price_level *b = right;

    return (a->above > b->above) - (a->above < b->above);
}

static void fill_up(struct price_rates *rates, const struct price_rates *plain)
{
    for (int i = 0; i < RATE_COUNT; i++)
        if (rates->values[i] < 0)
            rates->values[i] = plain->values[i];
}

/* One from 0 on is the price of short input. */
static bool settle_levels(const struct price_entry *entry,
                          struct price_levels *levels)
{
    struct price_level *first = levels->levels;

    qsort(first, levels->count, sizeof *first, by_threshold);
    for (size_t i = 0; i < levels->count; i++)
        fill_up(&levels->levels[i].rates, &levels->plain);
    if (levels->count > 0 && first->above == 0) {
        levels->plain = first->rates;
        memmove(first, first + 1, --levels->count * sizeof *first);
    }
    return levels->count <= LBROUTE_PRICE_TIERS ||
           price_entry_fail(entry, "", "more than 4 tiers");
}

static bool any_known(const struct price_levels *levels)
{
    bool known = false;

    for (int i = 0; i < RATE_COUNT; i++) {
        known = known || levels->plain.values[i] >= 0;
        for (size_t j = 0; j < levels->count; j++)
            known = known || levels->levels[j].rates.values[i] >= 0;
    }
    return known;
}

static bool check_key(const struct price_entry *entry)
{
    size_t length = strlen(entry->key);

    if (length < 1 || length > LBROUTE_NAME_MAX)
        return price_entry_fail(entry, "", "the key has not 1 to 255 bytes");
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)entry->key[i] < 0x20 || entry->key[i] == 0x7f)
            return price_entry_fail(entry, "", "control characters in the key");
    return entry->key[0] != '#' ||
           price_entry_fail(entry, "", "the key begins with #");
}

static lbroute_price to_price(const struct price_levels *levels)
{
    lbroute_price price;

    lbroute_price_init(&price, sizeof price);
    price.input = levels->plain.values[RATE_INPUT];
    price.output = levels->plain.values[RATE_OUTPUT];
    price.cached_input = levels->plain.values[RATE_CACHED];
    for (size_t i = 0; i < levels->count; i++) {
        const struct price_level *level = &levels->levels[i];

        price.tiers[price.tier_count++] = (lbroute_price_tier){
            level->above, level->rates.values[RATE_INPUT],
            level->rates.values[RATE_OUTPUT], level->rates.values[RATE_CACHED]};
    }
    return price;
}

bool price_entry_add(const struct price_entry *entry,
                     struct price_levels *levels, struct price_list *list)
{
    lbroute_price price;

    if (!settle_levels(entry, levels))
        return false;
    if (!any_known(levels))
        return true;
    price = to_price(levels);
    return check_key(entry) && (price_list_add(list, entry->key, &price) ||
                                price_fail(entry->error, "out of memory"));
}
