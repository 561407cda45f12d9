/* SPDX-License-Identifier: MIT */
#include "config_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Aliases can make a small file say a lot. */
static const size_t most_visits = 2000000;

const struct config_mark *config_find_mark(const struct config_reader *reader,
                                           const void *place)
{
    for (size_t i = 0; i < reader->mark_count; i++)
        if (reader->marks[i].place == place)
            return &reader->marks[i];
    return NULL;
}

static bool grow_marks(struct config_reader *reader)
{
    size_t capacity = reader->mark_capacity * 2 + 64;
    struct config_mark *marks =
        realloc(reader->marks, capacity * sizeof *marks);

    if (marks == NULL)
        return config_fail_memory(reader);
    reader->marks = marks;
    reader->mark_capacity = capacity;
    return true;
}

bool config_add_mark(struct config_reader *reader, const void *place,
                     const struct config_key *key, const yaml_node_t *node)
{
    if (reader->mark_count == reader->mark_capacity && !grow_marks(reader))
        return false;
    reader->marks[reader->mark_count++] =
        (struct config_mark){place, key, (unsigned)node->start_mark.line + 1,
                             (unsigned)node->start_mark.column + 1};
    return true;
}

static void describe(struct config_error *error, const struct config_key *key,
                     const char *format, va_list arguments)
{
    int used = 0;

    if (key != NULL && key->path[0] != '\0')
        used = snprintf(error->text, sizeof error->text, "%s: ", key->path);
    vsnprintf(error->text + used, sizeof error->text - (size_t)used, format,
              arguments);
}

bool config_fail_node(struct config_reader *reader,
                      const struct config_key *key, const yaml_node_t *node,
                      const char *format, ...)
{
    va_list arguments;

    reader->error->line = (unsigned)node->start_mark.line + 1;
    reader->error->column = (unsigned)node->start_mark.column + 1;
    va_start(arguments, format);
    describe(reader->error, key, format, arguments);
    va_end(arguments);
    return false;
}

bool config_fail_at(struct config_reader *reader, const void *place,
                    const char *format, ...)
{
    const struct config_mark *mark = config_find_mark(reader, place);
    va_list arguments;

    reader->error->line = mark != NULL ? mark->line : 0;
    reader->error->column = mark != NULL ? mark->column : 0;
    va_start(arguments, format);
    describe(reader->error, mark != NULL ? mark->key : NULL, format, arguments);
    va_end(arguments);
    return false;
}

bool config_fail_memory(struct config_reader *reader)
{
    *reader->error = (struct config_error){.text = "out of memory"};
    return false;
}

struct config_quote config_quote(const char *text)
{
    struct config_quote quote;
    const size_t most = sizeof quote.text - 1;
    size_t i = 0;

    for (; i < most && text[i] != '\0'; i++) {
        unsigned char byte = (unsigned char)text[i];

        quote.text[i] = byte < 0x20 || byte >= 0x7f ? '?' : text[i];
    }
    quote.text[i] = '\0';
    if (text[i] != '\0')
        memcpy(quote.text + most - 3, "...", 3);
    return quote;
}

bool config_node_is_null(const yaml_node_t *node)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};

    if (node->type != YAML_SCALAR_NODE ||
        node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp((const char *)node->data.scalar.value, words[i]) == 0)
            return true;
    return false;
}

bool config_visit(struct config_reader *reader, const struct config_key *key,
                  const yaml_node_t *node)
{
    static const char *const tags[] = {YAML_STR_TAG, YAML_SEQ_TAG,
                                       YAML_MAP_TAG};
    bool usual = node->tag == NULL;

    if (++reader->visits > most_visits)
        return config_fail_node(reader, key, node,
                                "aliases make the file too large");
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        usual = usual || strcmp((const char *)node->tag, tags[i]) == 0;
    return usual || config_fail_node(reader, key, node,
                                     "tags such as !!int have no meaning here");
}
