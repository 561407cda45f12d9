/* SPDX-License-Identifier: MIT */
#include "config_document.h"

#include <stdio.h>

/* Bounds on what is read at all. libyaml looks for an anchor among all of
 * them, one by one, so that their number has a bound of its own. */
enum { MOST_NODES = 1000000, MOST_ANCHORS = 1000, MOST_DEPTH = 32 };

struct text {
    const char *bytes;
    size_t size;
};

/* What a first pass over the file has counted. */
struct count {
    size_t documents, nodes, anchors, depth;
};

static bool fail(struct config_error *error, yaml_mark_t mark, const char *text,
                 const char *context)
{
    error->line = (unsigned)mark.line + 1;
    error->column = (unsigned)mark.column + 1;
    snprintf(error->text, sizeof error->text,
             context != NULL ? "%s (%s)" : "%s", text, context);
    return false;
}

static bool fail_file(struct config_error *error, const char *text)
{
    snprintf(error->text, sizeof error->text, "%s", text);
    return false;
}

/* The parser tells the place of bytes that are no text as an offset only. */
static yaml_mark_t mark_of_offset(const struct text *text, size_t offset)
{
    yaml_mark_t mark = {0};

    for (size_t i = 0; i < offset && i < text->size; i++) {
        mark.column++;
        if (text->bytes[i] == '\n') {
            mark.line++;
            mark.column = 0;
        }
    }
    return mark;
}

static bool fail_parser(const yaml_parser_t *parser, const struct text *text,
                        struct config_error *error)
{
    const char *problem = parser->problem;

    if (parser->error == YAML_MEMORY_ERROR || problem == NULL)
        return fail_file(error, "out of memory");
    if (parser->error == YAML_READER_ERROR)
        return fail(error, mark_of_offset(text, parser->problem_offset),
                    problem, NULL);
    return fail(error, parser->problem_mark, problem, parser->context);
}

static bool has_anchor(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return event->data.scalar.anchor != NULL;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.anchor != NULL;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.anchor != NULL;
    default:
        return false;
    }
}

static const char *count_event(struct count *count, const yaml_event_t *event)
{
    count->nodes++;
    count->anchors += has_anchor(event);
    if (event->type == YAML_DOCUMENT_START_EVENT && ++count->documents > 1)
        return "a second document begins; only one is read";
    if (event->type == YAML_SEQUENCE_START_EVENT ||
        event->type == YAML_MAPPING_START_EVENT)
        count->depth++;
    if (event->type == YAML_SEQUENCE_END_EVENT ||
        event->type == YAML_MAPPING_END_EVENT)
        count->depth--;
    if (count->depth > MOST_DEPTH)
        return "too deep";
    if (count->anchors > MOST_ANCHORS)
        return "more than 1,000 anchors";
    return count->nodes > MOST_NODES ? "more than 1,000,000 values" : NULL;
}

/* A pass that keeps nothing, so that a file out of bounds costs no memory. */
static bool count_events(yaml_parser_t *parser, const struct text *text,
                         struct config_error *error)
{
    struct count count = {0};
    bool over = false;

    while (!over) {
        yaml_event_t event;
        const char *wrong;

        if (!yaml_parser_parse(parser, &event))
            return fail_parser(parser, text, error);
        over = event.type == YAML_STREAM_END_EVENT;
        wrong = count_event(&count, &event);
        if (wrong != NULL)
            fail(error, event.start_mark, wrong, NULL);
        yaml_event_delete(&event);
        if (wrong != NULL)
            return false;
    }
    return count.documents > 0 || fail_file(error, "the file is empty");
}

static bool load(yaml_parser_t *parser, const struct text *text,
                 yaml_document_t *document, struct config_error *error)
{
    if (!yaml_parser_load(parser, document))
        return fail_parser(parser, text, error);
    return true;
}

static bool with_parser(const struct text *text, yaml_document_t *document,
                        struct config_error *error)
{
    yaml_parser_t parser;
    bool good;

    if (!yaml_parser_initialize(&parser))
        return fail_file(error, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text->bytes,
                                 text->size);
    good = document == NULL ? count_events(&parser, text, error)
                            : load(&parser, text, document, error);
    yaml_parser_delete(&parser);
    return good;
}

bool config_document_parse(const char *bytes, size_t len,
                           yaml_document_t *document,
                           struct config_error *error)
{
    struct text text = {bytes, len};

    *error = (struct config_error){0};
    return with_parser(&text, NULL, error) &&
           with_parser(&text, document, error);
}
