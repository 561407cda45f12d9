/* SPDX-License-Identifier: MIT */
#include "config_reader.h"

#include "digest_key.h"

#include <lbroute/lbroute.h>

#include <stdlib.h>
#include <string.h>

/* Names, to find those that occur twice, and to look others up. */
struct names {
    struct name {
        const char *text;
        const void *place;
    } * rows;
    size_t count;
};

static int by_text(const void *left, const void *right)
{
    const struct name *a = left;
    const struct name *b = right;

    return strcmp(a->text, b->text);
}

static bool names_make(struct config_reader *reader, struct names *names,
                       size_t room)
{
    *names = (struct names){calloc(room + 1, sizeof *names->rows), 0};
    return names->rows != NULL || config_fail_memory(reader);
}

static void names_add(struct names *names, char *const *place)
{
    names->rows[names->count++] = (struct name){*place, place};
}

static void names_sort(struct names *names)
{
    qsort(names->rows, names->count, sizeof *names->rows, by_text);
}

static bool names_have(const struct names *names, const char *text)
{
    struct name row = {text, NULL};

    return bsearch(&row, names->rows, names->count, sizeof row, by_text) !=
           NULL;
}

/* Of two equal names the later one is at fault. Items lie in their order. */
static bool fail_twice(struct config_reader *reader, const struct name *a,
                       const struct name *b)
{
    const struct config_mark *first = config_find_mark(reader, a->place);
    const struct config_mark *second = config_find_mark(reader, b->place);
    struct config_quote quote = config_quote(a->text);

    if (first->line > second->line) {
        const struct config_mark *swap = first;

        first = second;
        second = swap;
    }
    return config_fail_at(reader, second->place,
                          "\"%s\" was given before, in line %u", quote.text,
                          first->line);
}

static bool names_unique(struct config_reader *reader,
                         const struct names *names)
{
    for (size_t i = 1; i < names->count; i++)
        if (by_text(&names->rows[i - 1], &names->rows[i]) == 0)
            return fail_twice(reader, &names->rows[i - 1], &names->rows[i]);
    return true;
}

static bool fail_reference(struct config_reader *reader,
                           const char *const *place, const char *what)
{
    struct config_quote quote = config_quote(*place);

    return config_fail_at(reader, place, "%s \"%s\"", what, quote.text);
}

static bool check_listen(struct config_reader *reader,
                         const struct config_listen *listen)
{
    if (listen->address[0] == '\0')
        return config_fail_at(reader, &listen->address, "must not be empty");
    return config_check_certificate(reader, &listen->certificate, &listen->key);
}

static bool check_prefix(struct config_reader *reader)
{
    const struct config *config = reader->config;
    lbroute_router_options options;
    size_t bytes;

    lbroute_router_options_init(&options, sizeof options);
    options.header_prefix = config->header_prefix;
    options.header_prefix_len = strlen(config->header_prefix);
    return lbroute_router_estimate(&options, &bytes) == LBROUTE_OK ||
           config_fail_at(reader, &config->header_prefix,
                          "no beginning of a header's name");
}

static bool check_digest_key(struct config_reader *reader)
{
    char *const *name = &reader->config->digest_key_env;
    uint8_t key[DIGEST_KEY_BYTES];

    return config_check_variable(reader, name) &&
           ((*name)[0] == '\0' || digest_key_read(getenv(*name), key) ||
            config_fail_at(reader, name,
                           "the variable's value must be 32 hexadecimal "
                           "digits, not all of them 0"));
}

static bool check_pools(struct config_reader *reader, struct names *pools)
{
    const struct config *config = reader->config;

    for (size_t i = 0; i < config->pool_count; i++)
        names_add(pools, &config->pools[i].name);
    names_sort(pools);
    if (!names_unique(reader, pools))
        return false;
    for (size_t i = 0; i < config->pool_count; i++)
        if (!config_check_pool(reader, &config->pools[i]))
            return false;
    return config->default_pool[0] == '\0' ||
           names_have(pools, config->default_pool) ||
           fail_reference(reader, (const char *const *)&config->default_pool,
                          "there is no pool");
}

static bool check_api_key(struct config_reader *reader,
                          const struct config_target *target)
{
    const char *value;

    if (!config_check_variable(reader, &target->api_key_env))
        return false;
    if (target->api_key_env[0] == '\0')
        return true;
    for (value = getenv(target->api_key_env); *value != '\0'; value++)
        if ((unsigned char)*value <= ' ' || (unsigned char)*value >= 0x7f)
            return config_fail_at(reader, &target->api_key_env,
                                  "the variable's value cannot be a key");
    return true;
}

static bool check_target(struct config_reader *reader,
                         struct config_target *target,
                         const struct names *pools)
{
    if (!config_read_url(reader, target))
        return false;
    if (target->pool[0] != '\0' && !names_have(pools, target->pool))
        return fail_reference(reader, (const char *const *)&target->pool,
                              "there is no pool");
    if (target->pool[0] == '\0' && target->model[0] == '\0')
        return config_fail_at(reader, &target->line,
                              "nobody can reach a target that has neither a "
                              "pool nor a model");
    if (target->weight > 0 && target->weight < 1e-6)
        return config_fail_at(reader, &target->weight,
                              "must be 0, or 0.000001 and above");
    return check_api_key(reader, target) &&
           config_check_sources(reader, target);
}

static bool check_targets(struct config_reader *reader,
                          const struct names *pools, struct names *targets)
{
    struct config *config = reader->config;

    for (size_t i = 0; i < config->target_count; i++)
        names_add(targets, &config->targets[i].name);
    names_sort(targets);
    if (!names_unique(reader, targets))
        return false;
    for (size_t i = 0; i < config->target_count; i++)
        if (!check_target(reader, &config->targets[i], pools))
            return false;
    return true;
}

static bool check_adapter(struct config_reader *reader,
                          const struct config_adapter *adapter,
                          const struct names *models)
{
    if (names_have(models, adapter->name))
        return fail_reference(reader, (const char *const *)&adapter->name,
                              "a target's model has this name:");
    return names_have(models, adapter->model) ||
           fail_reference(reader, (const char *const *)&adapter->model,
                          "no target serves the model");
}

static bool check_adapters(struct config_reader *reader, struct names *adapters,
                           struct names *models)
{
    const struct config *config = reader->config;

    for (size_t i = 0; i < config->target_count; i++)
        if (config->targets[i].model[0] != '\0')
            names_add(models, &config->targets[i].model);
    names_sort(models);
    for (size_t i = 0; i < config->adapter_count; i++)
        names_add(adapters, &config->adapters[i].name);
    names_sort(adapters);
    if (!names_unique(reader, adapters))
        return false;
    for (size_t i = 0; i < config->adapter_count; i++)
        if (!check_adapter(reader, &config->adapters[i], models))
            return false;
    return true;
}

static bool check_lists(struct config_reader *reader)
{
    const struct config *config = reader->config;
    struct names pools = {0}, targets = {0}, adapters = {0}, models = {0};
    bool good = names_make(reader, &pools, config->pool_count) &&
                names_make(reader, &targets, config->target_count) &&
                names_make(reader, &models, config->target_count) &&
                names_make(reader, &adapters, config->adapter_count) &&
                check_pools(reader, &pools) &&
                check_targets(reader, &pools, &targets) &&
                check_adapters(reader, &adapters, &models);

    free(pools.rows);
    free(targets.rows);
    free(adapters.rows);
    free(models.rows);
    return good;
}

bool config_check(struct config_reader *reader)
{
    const struct config *config = reader->config;

    return check_listen(reader, &config->listen) &&
           check_listen(reader, &config->admin) && check_prefix(reader) &&
           check_digest_key(reader) && config_check_cluster(reader) &&
           config_check_file(reader, &config->ca_file) &&
           config_check_file(reader, &config->prices) && check_lists(reader);
}
