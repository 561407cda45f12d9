/* SPDX-License-Identifier: MIT */
/*
 * The models and LoRA adapters of a server by name.
 *
 *     models    all names of the one model that it serves
 *     adapters  by number - 1; an unloaded one keeps its number and name
 */
#ifndef LBROUTE_MOCK_NAMES_H
#define LBROUTE_MOCK_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAMES_ADAPTERS_MAX = 1024 };

/** Zeroed, there are none. */
struct names {
    char **models;
    size_t model_count;
    size_t model_capacity;
    char *adapters[NAMES_ADAPTERS_MAX];
    bool loaded[NAMES_ADAPTERS_MAX];
    uint32_t adapter_count;
};

/** What stands in JSON, labels and logs without being quoted. */
bool name_is_plain(const char *name);

void names_release(struct names *names);

void names_add_model(struct names *names, const char *name);

/** Loads an adapter. Returns false if it is loaded, or there are too many. */
bool names_load(struct names *names, const char *name);

/** Returns false if it is not loaded. */
bool names_unload(struct names *names, const char *name);

/** Finds a model (adapter 0) or a loaded adapter by its name. Returns the name
 * as it is kept here, or NULL. */
const char *names_find(const struct names *names, const char *name,
                       uint32_t *adapter);

#endif
