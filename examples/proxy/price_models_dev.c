/* SPDX-License-Identifier: MIT */
/*
 * The cost of a model in models.dev's catalog: dollars per million tokens;
 * tiers as a list, or as a field for old readers, whose threshold is not always
 * the true one.
 */
#include "price_catalog.h"

#include <string.h>

static const struct price_layout layout = {{"input", "output", "cache_read"},
                                           6};

static bool read_old_tier(const struct price_entry *entry, const char *name,
                          const json_t *value, struct price_levels *levels)
{
    int64_t above;
    struct price_level *level;

    if (!json_is_object(value) ||
        !price_read_threshold(name, "context_over_", "", &above))
        return true;
    level = price_level(entry, levels, above);
    if (level == NULL)
        return false;
    level->rates = price_rates_none();
    return price_read_rates(entry, &layout, value, &level->rates);
}

static bool read_old_tiers(const struct price_entry *entry, json_t *object,
                           struct price_levels *levels)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        if (!read_old_tier(entry, name, value, levels))
            return false;
    }
    return true;
}

static bool by_context(const json_t *tier)
{
    const json_t *type = json_object_get(tier, "type");

    if (!json_is_object(tier))
        return false;
    return type == NULL || (json_is_string(type) &&
                            strcmp(json_string_value(type), "context") == 0);
}

static bool read_tier(const struct price_entry *entry, const json_t *object,
                      struct price_levels *levels)
{
    const json_t *tier = json_object_get(object, "tier");
    struct price_level *level;
    int64_t above;

    if (!by_context(tier))
        return price_entry_fail(entry, "tiers",
                                "no tier by length of the context");
    if (!price_read_tokens(entry, "tiers", json_object_get(tier, "size"),
                           &above))
        return false;
    level = price_level(entry, levels, above);
    if (level == NULL)
        return false;
    level->rates = price_rates_none();
    return price_read_rates(entry, &layout, object, &level->rates);
}

bool price_read_models_dev(const struct price_entry *entry,
                           const json_t *object, struct price_levels *levels)
{
    const json_t *tiers = json_object_get(object, "tiers");

    if (json_is_array(tiers) && json_array_size(tiers) > 0) {
        for (size_t i = 0; i < json_array_size(tiers); i++)
            if (!read_tier(entry, json_array_get(tiers, i), levels))
                return false;
    } else if (!read_old_tiers(entry, (json_t *)object, levels)) {
        return false;
    }
    return price_read_rates(entry, &layout, object, &levels->plain);
}
