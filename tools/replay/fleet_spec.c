/* SPDX-License-Identifier: MIT */
#include "fleet_spec.h"

#include "choices.h"
#include "grow.h"
#include "parse_number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double max_weight = 1e9;

enum { MAX_LIMIT = 1000000 };

/* One item of the list, cut out of the text. */
struct item {
    char text[256];
    uint32_t count;
    struct fleet_target target;
};

struct parser {
    const struct fleet_defaults *defaults;
    char *error;
    size_t error_size;
};

static bool fail(const struct parser *parser, const char *what,
                 const char *text)
{
    snprintf(parser->error, parser->error_size, "%s \"%s\"", what, text);
    return false;
}

/* "3x8b-…" counts, "8b-…" and "32b-2x…" do not: only digits before the x. */
static bool cut_count(const struct parser *parser, struct item *item,
                      char **rest)
{
    size_t digits = strspn(item->text, "0123456789");
    uint64_t count;

    item->count = 1;
    *rest = item->text;
    if (digits == 0 || (item->text[digits] != 'x' && item->text[digits] != 0))
        return true;
    *rest = item->text[digits] == 'x' ? item->text + digits + 1 : NULL;
    item->text[digits] = '\0';
    if (!parse_whole(item->text, 1, FLEET_MAX_TARGETS, &count))
        return fail(parser,
                    "the number of targets is not 1 to 4096:", item->text);
    item->count = (uint32_t)count;
    return true;
}

/* Cuts "…=KEY" off. A key may hold any of the other marks. */
static bool cut_price_key(const struct parser *parser, struct item *item,
                          char *rest)
{
    char *equals = strchr(rest, '=');

    if (equals == NULL)
        return true;
    *equals = '\0';
    if (equals[1] == '\0')
        return fail(parser, "there is no price key after \"=\" of", rest);
    strcpy(item->target.price_key, equals + 1);
    return true;
}

/* Cuts "…:LIMIT" off. */
static bool cut_limit(const struct parser *parser, struct item *item,
                      char *rest)
{
    char *colon = strchr(rest, ':');
    uint64_t limit;

    if (colon == NULL)
        return true;
    *colon = '\0';
    if (!parse_whole(colon + 1, 0, MAX_LIMIT, &limit))
        return fail(parser,
                    "a limit after \":\" is not 0 to 1000000:", colon + 1);
    item->target.limit = (uint32_t)limit;
    return true;
}

/* Cuts "…@WEIGHT" off. */
static bool cut_weight(const struct parser *parser, struct item *item,
                       char *rest)
{
    char *at = strchr(rest, '@');
    double weight;

    if (at == NULL)
        return true;
    *at = '\0';
    if (!parse_real(at + 1, 0.0, max_weight, &weight) ||
        (weight > 0.0 && weight < 1e-6))
        return fail(parser,
                    "a weight after \"@\" is not 0 or 1e-6 to 1e9:", at + 1);
    item->target.weight = weight;
    return true;
}

static bool parse_item(const struct parser *parser, struct item *item)
{
    const struct fleet_defaults *defaults = parser->defaults;
    struct fleet_target *target = &item->target;
    char *rest;

    target->spec = defaults->engine;
    target->weight = 1.0;
    target->limit = defaults->limit;
    if (!cut_count(parser, item, &rest))
        return false;
    if (rest != NULL) {
        if (!cut_price_key(parser, item, rest) ||
            !cut_limit(parser, item, rest) || !cut_weight(parser, item, rest))
            return false;
        target->spec = engine_spec_find(rest, strlen(rest));
        if (target->spec == NULL)
            return choices_unknown(parser->error, parser->error_size, "engine",
                                   rest, strlen(rest), engine_spec_name);
    }
    if (target->price_key[0] == '\0')
        strcpy(target->price_key, target->spec->name);
    target->cache_tokens = defaults->cache_tokens > 0
                               ? defaults->cache_tokens
                               : target->spec->cache_tokens;
    return true;
}

static void add_targets(struct fleet_spec *spec, size_t *capacity,
                        const struct item *item)
{
    spec->targets =
        grow_array(spec->targets, capacity, spec->count + item->count,
                   sizeof *spec->targets);
    for (uint32_t i = 0; i < item->count; i++) {
        struct fleet_target *target = &spec->targets[spec->count];
        unsigned number = 1;

        for (size_t k = 0; k < spec->count; k++)
            number += spec->targets[k].spec == item->target.spec;
        *target = item->target;
        snprintf(target->name, sizeof target->name, "%s-%u", target->spec->name,
                 number);
        spec->count++;
    }
}

static bool parse_list(const struct parser *parser, const char *text,
                       struct fleet_spec *spec)
{
    size_t capacity = 0;

    for (;;) {
        struct item item = {0};
        size_t length = strcspn(text, ",");

        if (length == 0 || length >= sizeof item.text)
            return fail(parser, "empty or too long item in", text);
        memcpy(item.text, text, length);
        if (!parse_item(parser, &item))
            return false;
        if (spec->count + item.count > FLEET_MAX_TARGETS)
            return fail(parser, "more than 4096 targets in", text);
        add_targets(spec, &capacity, &item);
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

bool fleet_spec_parse(const char *text, const struct fleet_defaults *defaults,
                      struct fleet_spec *spec, char *error, size_t error_size)
{
    struct parser parser = {defaults, error, error_size};

    *spec = (struct fleet_spec){0};
    if (parse_list(&parser, text, spec))
        return true;
    fleet_spec_release(spec);
    return false;
}

void fleet_spec_release(struct fleet_spec *spec)
{
    free(spec->targets);
    *spec = (struct fleet_spec){0};
}
