/* SPDX-License-Identifier: MIT */
#include "ingest/adapter_list.h"

#include "ingest/letters.h"

void lbr_adapter_list_init(struct lbr_adapter_list *list)
{
    list->count = list->dropped = list->used = 0;
}

/* Without blanks around it. */
static struct lbr_text trim(struct lbr_text name)
{
    while (name.length && lbr_is_blank(name.bytes[0])) {
        name.bytes++;
        name.length--;
    }
    while (name.length && lbr_is_blank(name.bytes[name.length - 1]))
        name.length--;
    return name;
}

/* Without ":12" at its end. */
static struct lbr_text without_count(struct lbr_text name)
{
    size_t at = name.length;

    while (at && lbr_is_digit(name.bytes[at - 1]))
        at--;
    if (at > 1 && at < name.length && name.bytes[at - 1] == ':')
        name.length = at - 1;
    return name;
}

/* The name without its escapes, in the list's own bytes; empty without room. */
static struct lbr_text unescape(struct lbr_adapter_list *list,
                                struct lbr_text name)
{
    char *copy = list->bytes + list->used;
    size_t length = 0;
    size_t i;

    if (name.length > LBR_LISTED_BYTES - list->used)
        return lbr_text(NULL, 0);
    for (i = 0; i < name.length; i++) {
        int escaped = name.bytes[i] == '\\' && i + 1 < name.length;

        i += (size_t)escaped;
        copy[length++] = escaped && name.bytes[i] == 'n' ? '\n' : name.bytes[i];
    }
    list->used += length;
    return lbr_text(copy, length);
}

static void add_name(struct lbr_adapter_list *list, struct lbr_text name)
{
    name = without_count(trim(name));
    if (!name.length)
        return;
    if (memchr(name.bytes, '\\', name.length))
        name = unescape(list, name);
    if (!lbr_text_is_name(name, 0)) {
        list->dropped++;
        return;
    }
    list->names[list->count] = name.bytes;
    list->lengths[list->count++] = name.length;
}

/* The part of |value| up to the next comma. */
static struct lbr_text first_part(struct lbr_text value)
{
    const char *comma = memchr(value.bytes, ',', value.length);

    return lbr_text(value.bytes,
                    comma ? (size_t)(comma - value.bytes) : value.length);
}

void lbr_adapter_list_add(struct lbr_adapter_list *list, struct lbr_text value)
{
    size_t most = list->count + LBROUTE_ADAPTERS_MAX;

    while (value.length) {
        struct lbr_text part = first_part(value);
        size_t step =
            part.length < value.length ? part.length + 1 : part.length;

        if (list->count < most && list->count < LBR_LISTED_MOST)
            add_name(list, part);
        else
            list->dropped++;
        value.bytes += step;
        value.length -= step;
    }
}
