/* SPDX-License-Identifier: MIT */
/*
 * Walks over table and document at once: for each key of a section the value
 * that stands there, or the default. Depth is bounded by the table, so that
 * loops of aliases end.
 */
#include "config_reader.h"

#include <stdlib.h>
#include <string.h>

/* A mapping, or nothing, as it stands for a section. */
struct section {
    struct config_reader *reader;
    const struct config_key *key;
    const yaml_node_t *node; /* NULL: not given */
    void *base;              /* What the offsets of its keys count from. */
};

static bool read_section(const struct section *section);

static const yaml_node_t *node_of(struct config_reader *reader, int index)
{
    return yaml_document_get_node(reader->document, index);
}

static const char *text_of(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE
               ? (const char *)node->data.scalar.value
               : NULL;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, removals and replacements that make one word of the other. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64];
    size_t width = strlen(b);

    if (strlen(a) >= 64 || width >= 64)
        return 64;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t above = row[j];
            size_t changed = corner + (a[i - 1] != b[j - 1]);

            row[j] = smaller(changed, smaller(above, row[j - 1]) + 1);
            corner = above;
        }
    }
    return row[width];
}

static bool fail_unknown(const struct section *section, const yaml_node_t *node,
                         const char *word)
{
    const struct config_key *key, *nearest = NULL;
    size_t least = strlen(word) / 3 + 2;
    struct config_quote quote = config_quote(word);

    for (size_t i = 0; (key = config_key_child(section->key, i)) != NULL; i++)
        if (distance(word, config_key_name(key)) < least) {
            least = distance(word, config_key_name(key));
            nearest = key;
        }
    return config_fail_node(
        section->reader, section->key, node,
        nearest != NULL ? "unknown key \"%s\"; did you mean \"%s\"?"
                        : "unknown key \"%s\"",
        quote.text, nearest != NULL ? config_key_name(nearest) : "");
}

static const struct config_key *find_child(const struct config_key *parent,
                                           const char *word)
{
    const struct config_key *key;

    for (size_t i = 0; (key = config_key_child(parent, i)) != NULL; i++)
        if (strcmp(config_key_name(key), word) == 0)
            return key;
    return NULL;
}

/* The pair of a mapping with this key, before `end`. */
static const yaml_node_pair_t *find_pair(struct config_reader *reader,
                                         const yaml_node_t *node,
                                         const yaml_node_pair_t *end,
                                         const char *word)
{
    const yaml_node_pair_t *pair;

    for (pair = node->data.mapping.pairs.start; pair < end; pair++) {
        const char *text = text_of(node_of(reader, pair->key));

        if (text != NULL && strcmp(text, word) == 0)
            return pair;
    }
    return NULL;
}

static bool fail_repeated(struct config_reader *reader,
                          const struct config_key *key, const yaml_node_t *node,
                          const yaml_node_pair_t *before)
{
    const yaml_node_t *first = node_of(reader, before->key);
    struct config_quote quote = config_quote(text_of(node));

    return config_fail_node(reader, key, node,
                            "\"%s\" was given before, in line %zu", quote.text,
                            first->start_mark.line + 1);
}

/* Each key is text, and stands there once. Costs the square of the keys, but
 * ends with the first that is unknown. */
static bool check_key(const struct section *section,
                      const yaml_node_pair_t *pair)
{
    struct config_reader *reader = section->reader;
    const yaml_node_t *node = node_of(reader, pair->key);
    const char *word = text_of(node);
    const yaml_node_pair_t *before;

    if (!config_visit(reader, section->key, node))
        return false;
    if (word == NULL)
        return config_fail_node(reader, section->key, node,
                                "a key must be a name");
    before = find_pair(reader, section->node, pair, word);
    if (before != NULL)
        return fail_repeated(reader, section->key, node, before);
    return section->key->kind == CONFIG_PARAMETERS ||
           find_child(section->key, word) != NULL ||
           fail_unknown(section, node, word);
}

static bool check_keys(const struct section *section)
{
    const yaml_node_pair_t *pair = section->node->data.mapping.pairs.start;

    for (; pair < section->node->data.mapping.pairs.top; pair++)
        if (!check_key(section, pair))
            return false;
    return true;
}

/* "pools:" with nothing below it is as if it were not there. */
static bool check_kind(struct config_reader *reader,
                       const struct config_key *key, const yaml_node_t **node,
                       yaml_node_type_t type)
{
    if (*node == NULL)
        return true;
    if (!config_visit(reader, key, *node))
        return false;
    if (config_node_is_null(*node))
        *node = NULL;
    return *node == NULL || (*node)->type == type ||
           config_fail_node(reader, key, *node, "expected %s",
                            config_kind_name(key->kind));
}

static bool make_items(struct config_reader *reader,
                       const struct config_key *key, const yaml_node_t *node,
                       void *base, size_t count)
{
    void *items;

    if ((double)count > key->maximum)
        return config_fail_node(reader, key, node, "more than %.0f items",
                                key->maximum);
    items = calloc(count + 1, key->item_size);
    if (items == NULL)
        return config_fail_memory(reader);
    memcpy((char *)base + key->offset, &items, sizeof items);
    memcpy((char *)base + key->count_offset, &count, sizeof count);
    return true;
}

static void *item_at(const struct config_key *key, void *base, size_t index)
{
    char *items;

    memcpy(&items, (char *)base + key->offset, sizeof items);
    return items + index * key->item_size;
}

/* Says where an item stands, to whoever reads it and to later checks. */
static bool note_line(struct config_reader *reader,
                      const struct config_key *key, void *item,
                      const yaml_node_t *node)
{
    unsigned line = (unsigned)node->start_mark.line + 1;
    void *place;

    if (key->line_offset == SIZE_MAX)
        return true;
    place = (char *)item + key->line_offset;
    memcpy(place, &line, sizeof line);
    return config_add_mark(reader, place, key, node);
}

static bool read_item(struct config_reader *reader,
                      const struct config_key *key, const yaml_node_t *node,
                      void *item)
{
    struct section section = {reader, key, node, item};

    if (!config_visit(reader, key, node))
        return false;
    if (node->type != YAML_MAPPING_NODE)
        return config_fail_node(reader, key, node,
                                "expected items with keys of their own");
    return note_line(reader, key, item, node) && read_section(&section);
}

static bool read_list(const struct section *owner, const struct config_key *key,
                      const yaml_node_t *node)
{
    struct config_reader *reader = owner->reader;
    size_t count;

    if (!check_kind(reader, key, &node, YAML_SEQUENCE_NODE) || node == NULL)
        return node == NULL;
    count = (size_t)(node->data.sequence.items.top -
                     node->data.sequence.items.start);
    if (!make_items(reader, key, node, owner->base, count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!read_item(reader, key,
                       node_of(reader, node->data.sequence.items.start[i]),
                       item_at(key, owner->base, i)))
            return false;
    return true;
}

/* Range and meaning of a parameter's value are for the router to tell. */
static const struct config_key any_number = {
    .path = "pools[].parameters",
    .kind = CONFIG_REAL,
    .minimum = -1e308,
    .maximum = 1e308,
};

static bool read_parameter(struct config_reader *reader,
                           const struct config_key *key,
                           const yaml_node_pair_t *pair,
                           struct config_parameter *parameter)
{
    const yaml_node_t *name = node_of(reader, pair->key);

    parameter->name = strdup(text_of(name));
    if (parameter->name == NULL)
        return config_fail_memory(reader);
    return note_line(reader, key, parameter, name) &&
           config_add_mark(reader, &parameter->name, key, name) &&
           config_add_mark(reader, &parameter->value, key,
                           node_of(reader, pair->value)) &&
           config_read_scalar(reader, &any_number, node_of(reader, pair->value),
                              &parameter->value);
}

static bool read_parameters(const struct section *owner,
                            const struct config_key *key,
                            const yaml_node_t *node)
{
    struct config_reader *reader = owner->reader;
    struct section section = {reader, key, NULL, owner->base};
    size_t count;

    if (!check_kind(reader, key, &node, YAML_MAPPING_NODE) || node == NULL)
        return node == NULL;
    section.node = node;
    count =
        (size_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
    if (!make_items(reader, key, node, owner->base, count) ||
        !check_keys(&section))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!read_parameter(reader, key, &node->data.mapping.pairs.start[i],
                            item_at(key, owner->base, i)))
            return false;
    return true;
}

static bool read_inner(const struct section *owner,
                       const struct config_key *key, const yaml_node_t *node)
{
    struct section section = {owner->reader, key, NULL, owner->base};

    if (!check_kind(owner->reader, key, &node, YAML_MAPPING_NODE))
        return false;
    section.node = node;
    return read_section(&section);
}

static bool read_leaf(const struct section *owner, const struct config_key *key,
                      const yaml_node_t *node)
{
    void *place = (char *)owner->base + key->offset;

    if (node == NULL && key->initial == NULL)
        return config_fail_node(owner->reader, owner->key, owner->node,
                                "\"%s\" is missing", config_key_name(key));
    if (node == NULL)
        return config_read_initial(owner->reader, key, place);
    return config_add_mark(owner->reader, place, key, node) &&
           (key->kind == CONFIG_HEADERS
                ? config_read_headers(owner->reader, key, node, place)
                : config_read_scalar(owner->reader, key, node, place));
}

static bool read_key(const struct section *owner, const struct config_key *key)
{
    const yaml_node_t *node = NULL;

    if (owner->node != NULL) {
        const yaml_node_pair_t *pair = find_pair(
            owner->reader, owner->node, owner->node->data.mapping.pairs.top,
            config_key_name(key));

        node = pair != NULL ? node_of(owner->reader, pair->value) : NULL;
    }
    switch (key->kind) {
    case CONFIG_SECTION:
        return read_inner(owner, key, node);
    case CONFIG_LIST:
        return read_list(owner, key, node);
    case CONFIG_PARAMETERS:
        return read_parameters(owner, key, node);
    default:
        return read_leaf(owner, key, node);
    }
}

static bool read_section(const struct section *section)
{
    const struct config_key *key;

    if (section->node != NULL && !check_keys(section))
        return false;
    for (size_t i = 0; (key = config_key_child(section->key, i)) != NULL; i++)
        if (!read_key(section, key))
            return false;
    return true;
}

bool config_read(struct config_reader *reader)
{
    const struct config_key *root = config_key_root();
    struct section section = {reader, root, NULL, reader->config};

    section.node = yaml_document_get_root_node(reader->document);
    return check_kind(reader, root, &section.node, YAML_MAPPING_NODE) &&
           read_section(&section);
}
