/* SPDX-License-Identifier: MIT */
#include "price_catalog.h"

#include <stdlib.h>
#include <string.h>

typedef bool read_entry(const struct price_entry *entry, const json_t *object,
                        struct price_levels *levels);

static bool add_entry(const struct price_entry *entry, const json_t *object,
                      read_entry *read, struct price_list *list)
{
    struct price_levels levels = {.plain = price_rates_none()};

    if (object == NULL || json_is_null(object))
        return true;
    if (!json_is_object(object))
        return price_entry_fail(entry, "", "no object");
    return read(entry, object, &levels) &&
           price_entry_add(entry, &levels, list);
}

static bool read_litellm(json_t *catalog, struct price_list *list,
                         struct price_error *error)
{
    const char *key;
    json_t *object;

    json_object_foreach(catalog, key, object)
    {
        struct price_entry entry = {key, error};

        /* What the file shows its fields with. */
        if (strcmp(key, "sample_spec") != 0 &&
            !add_entry(&entry, object, price_read_litellm, list))
            return false;
    }
    return true;
}

static bool add_model(const char *provider, const char *model,
                      const json_t *object, struct price_list *list,
                      struct price_error *error)
{
    size_t head = strlen(provider), tail = strlen(model);
    char *key = malloc(head + 1 + tail + 1);
    struct price_entry entry = {key, error};
    bool good;

    if (key == NULL)
        return price_fail(error, "out of memory");
    memcpy(key, provider, head);
    key[head] = '/';
    memcpy(key + head + 1, model, tail + 1);
    if (json_is_object(object))
        object = json_object_get(object, "cost");
    good = add_entry(&entry, object, price_read_models_dev, list);
    free(key);
    return good;
}

static bool read_models_dev(json_t *catalog, struct price_list *list,
                            struct price_error *error)
{
    const char *provider, *model;
    json_t *offer, *models, *object;

    json_object_foreach(catalog, provider, offer)
    {
        models = json_object_get(offer, "models");
        if (!json_is_object(models))
            return price_fail(error, "\"%.200s\" has no models", provider);
        json_object_foreach(models, model, object)
        {
            if (!add_model(provider, model, object, list, error))
                return false;
        }
    }
    return true;
}

static bool is_models_dev(json_t *catalog)
{
    const char *key;
    json_t *entry;

    json_object_foreach(catalog, key, entry)
    {
        if (json_object_get(entry, "models") != NULL)
            return true;
    }
    return false;
}

bool price_catalog_read(struct price_list *list, const char *text, size_t len,
                        struct price_error *error)
{
    json_error_t problem;
    json_t *catalog = json_loadb(text, len, JSON_DECODE_INT_AS_REAL, &problem);
    bool good;

    if (catalog == NULL)
        return price_fail(error, "line %d, column %d: %s", problem.line,
                          problem.column, problem.text);
    if (!json_is_object(catalog))
        good = price_fail(error, "no JSON object");
    else if (is_models_dev(catalog))
        good = read_models_dev(catalog, list, error);
    else
        good = read_litellm(catalog, list, error);
    json_decref(catalog);
    return good;
}
