/* SPDX-License-Identifier: MIT */
/*
 * An entry of LiteLLM's catalog: dollars a token; tiers as fields with a
 * threshold in their name, or as a list of ranges, in any order.
 */
#include "price_catalog.h"

#include <stdio.h>

static const struct price_layout layout = {{"input_cost_per_token",
                                            "output_cost_per_token",
                                            "cache_read_input_token_cost"},
                                           12};

static bool read_tier_field(const struct price_entry *entry, const char *name,
                            const json_t *value, struct price_levels *levels)
{
    for (int i = 0; i < RATE_COUNT; i++) {
        char head[64];
        int64_t above;
        struct price_level *level;

        snprintf(head, sizeof head, "%s_above_", layout.fields[i]);
        if (!price_read_threshold(name, head, "_tokens", &above) ||
            json_is_null(value))
            continue;
        level = price_level(entry, levels, above);
        return level != NULL &&
               price_read_rate(entry, name, value, layout.digits,
                               &level->rates.values[i]);
    }
    return true;
}

static bool read_tier_fields(const struct price_entry *entry, json_t *object,
                             struct price_levels *levels)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        if (!read_tier_field(entry, name, value, levels))
            return false;
    }
    return true;
}

static bool read_range(const struct price_entry *entry, const json_t *range,
                       struct price_levels *levels)
{
    const json_t *bounds = json_object_get(range, "range");
    struct price_level *level;
    int64_t above;

    if (!json_is_array(bounds) || json_array_size(bounds) == 0)
        return price_entry_fail(entry, "tiered_pricing", "no range");
    if (!price_read_tokens(entry, "tiered_pricing", json_array_get(bounds, 0),
                           &above))
        return false;
    level = price_level(entry, levels, above);
    if (level == NULL)
        return false;
    level->rates = price_rates_none();
    return price_read_rates(entry, &layout, range, &level->rates);
}

bool price_read_litellm(const struct price_entry *entry, const json_t *object,
                        struct price_levels *levels)
{
    const json_t *ranges = json_object_get(object, "tiered_pricing");

    if (!read_tier_fields(entry, (json_t *)object, levels))
        return false;
    if (json_is_array(ranges)) {
        levels->count = 0;
        for (size_t i = 0; i < json_array_size(ranges); i++)
            if (!read_range(entry, json_array_get(ranges, i), levels))
                return false;
    }
    return price_read_rates(entry, &layout, object, &levels->plain);
}
