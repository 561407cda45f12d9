/* SPDX-License-Identifier: MIT */
#include "names.h"

#include "replay/grow.h"

#include <stdlib.h>
#include <string.h>

bool name_is_plain(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789._/:-@+";
    size_t length = strlen(name);

    return length > 0 && length < 200 && strspn(name, plain) == length;
}

static char *copy(const char *name)
{
    size_t size = strlen(name) + 1;

    return memcpy(grow_zeroed(size, 1), name, size);
}

void names_release(struct names *names)
{
    for (size_t i = 0; i < names->model_count; i++)
        free(names->models[i]);
    for (uint32_t i = 0; i < names->adapter_count; i++)
        free(names->adapters[i]);
    free(names->models);
    *names = (struct names){0};
}

void names_add_model(struct names *names, const char *name)
{
    names->models = grow_array(names->models, &names->model_capacity,
                               names->model_count + 1, sizeof *names->models);
    names->models[names->model_count++] = copy(name);
}

/* The index of an adapter that was ever loaded, or how many there are. */
static uint32_t find_adapter(const struct names *names, const char *name)
{
    uint32_t i = 0;

    while (i < names->adapter_count && strcmp(names->adapters[i], name) != 0)
        i++;
    return i;
}

bool names_load(struct names *names, const char *name)
{
    uint32_t i = find_adapter(names, name);

    if (i == NAMES_ADAPTERS_MAX ||
        (i < names->adapter_count && names->loaded[i]))
        return false;
    if (i == names->adapter_count)
        names->adapters[names->adapter_count++] = copy(name);
    names->loaded[i] = true;
    return true;
}

bool names_unload(struct names *names, const char *name)
{
    uint32_t i = find_adapter(names, name);

    if (i == names->adapter_count || !names->loaded[i])
        return false;
    names->loaded[i] = false;
    return true;
}

const char *names_find(const struct names *names, const char *name,
                       uint32_t *adapter)
{
    uint32_t i;

    *adapter = 0;
    for (size_t m = 0; m < names->model_count; m++)
        if (strcmp(names->models[m], name) == 0)
            return names->models[m];
    i = find_adapter(names, name);
    if (i == names->adapter_count || !names->loaded[i])
        return NULL;
    *adapter = i + 1;
    return names->adapters[i];
}
