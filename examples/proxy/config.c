/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "config_document.h"
#include "config_reader.h"
#include "whole_file.h"

#include <stdlib.h>
#include <string.h>

static const size_t most_bytes = 16 * 1024 * 1024;

static void release_keys(const struct config_key *parent, void *base);

static void *pointer_at(void *base, size_t offset)
{
    void *pointer;

    memcpy(&pointer, (char *)base + offset, sizeof pointer);
    return pointer;
}

static void release_headers(struct config_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
}

static void release_parameters(struct config_parameter *parameters,
                               size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(parameters[i].name);
}

static void release_items(const struct config_key *key, void *base)
{
    char *items = pointer_at(base, key->offset);
    size_t count;

    memcpy(&count, (char *)base + key->count_offset, sizeof count);
    if (key->kind == CONFIG_PARAMETERS)
        release_parameters((void *)items, count);
    else
        for (size_t i = 0; i < count; i++)
            release_keys(key, items + i * key->item_size);
    free(items);
}

static void release_key(const struct config_key *key, void *base)
{
    switch (key->kind) {
    case CONFIG_SECTION:
        release_keys(key, base);
        break;
    case CONFIG_LIST:
    case CONFIG_PARAMETERS:
        release_items(key, base);
        break;
    case CONFIG_HEADERS:
        release_headers((void *)((char *)base + key->offset));
        break;
    case CONFIG_TEXT:
    case CONFIG_NAME:
        free(pointer_at(base, key->offset));
        break;
    default:
        break;
    }
}

static void release_keys(const struct config_key *parent, void *base)
{
    const struct config_key *key;

    for (size_t i = 0; (key = config_key_child(parent, i)) != NULL; i++)
        release_key(key, base);
}

void config_free(struct config *config)
{
    if (config == NULL)
        return;
    for (size_t i = 0; i < config->target_count; i++) {
        free(config->targets[i].host);
        free(config->targets[i].base_path);
    }
    free(config->cluster.host);
    free(config->cluster.user);
    free(config->cluster.password);
    release_keys(config_key_root(), config);
    free(config->path);
    free(config);
}

static bool read_document(struct config *config, yaml_document_t *document,
                          struct config_error *error)
{
    struct config_reader reader = {
        .document = document, .config = config, .error = error};
    bool good = config_read(&reader) && config_check(&reader);

    free(reader.marks);
    return good;
}

static struct config *new_config(const char *path, struct config_error *error)
{
    struct config *config = calloc(1, sizeof *config);

    if (config != NULL)
        config->path = strdup(path);
    if (config == NULL || config->path == NULL) {
        *error = (struct config_error){.text = "out of memory"};
        free(config);
        return NULL;
    }
    return config;
}

static struct config *fail_file(struct config_error *error, const char *text)
{
    *error = (struct config_error){0};
    snprintf(error->text, sizeof error->text, "%s", text);
    return NULL;
}

struct config *config_parse(const char *path, const char *text, size_t len,
                            struct config_error *error)
{
    yaml_document_t document;
    struct config *config;
    bool good;

    if (!config_document_parse(text, len, &document, error))
        return NULL;
    config = new_config(path, error);
    good = config != NULL && read_document(config, &document, error);
    yaml_document_delete(&document);
    if (!good) {
        config_free(config);
        return NULL;
    }
    return config;
}

struct config *config_load(const char *path, struct config_error *error)
{
    const char *problem;
    size_t len;
    char *text = whole_file_read(path, most_bytes, &len, &problem);
    struct config *config;

    if (text == NULL)
        return fail_file(error, problem);
    config = config_parse(path, text, len, error);
    free(text);
    return config;
}
