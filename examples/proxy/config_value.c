/* SPDX-License-Identifier: MIT */
#include "config_reader.h"

#include "header.h"

#include <lbroute/lbroute.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A scalar that is given, or the default of one that is not. */
struct value {
    struct config_reader *reader;
    const struct config_key *key;
    const yaml_node_t *node; /* NULL: the default */
    const char *text;
};

static bool fail(const struct value *value, const char *problem)
{
    struct config_quote quote = config_quote(value->text);

    return config_fail_node(value->reader, value->key, value->node, "\"%s\" %s",
                            quote.text, problem);
}

static bool fail_type(const struct value *value)
{
    struct config_quote quote = config_quote(value->text);

    return config_fail_node(value->reader, value->key, value->node,
                            "expected %s, not \"%s\"",
                            config_kind_name(value->key->kind), quote.text);
}

static bool check_range(const struct value *value, double number)
{
    const struct config_key *key = value->key;
    struct config_quote quote = config_quote(value->text);

    if (number >= key->minimum && number <= key->maximum)
        return true;
    return config_fail_node(value->reader, key, value->node,
                            "%s is not within %.15g to %.15g", quote.text,
                            key->minimum, key->maximum);
}

static bool read_text(const struct value *value, char **text)
{
    size_t length = strlen(value->text);

    for (size_t i = 0; i < length; i++)
        if ((unsigned char)value->text[i] < 0x20 || value->text[i] == 0x7f)
            return fail(value, "holds control characters");
    if (length == 0 && value->key->initial == NULL)
        return fail(value, "must not be empty");
    if (value->key->kind == CONFIG_NAME && length > LBROUTE_NAME_MAX)
        return fail(value, "is longer than 255 bytes");
    *text = strdup(value->text);
    return *text != NULL || config_fail_memory(value->reader);
}

/* Decimal numbers only: strtod() would take hexadecimal ones, and "nan". */
static bool read_real(const struct value *value, double *number)
{
    char *end;

    if (value->text[0] == '\0' ||
        value->text[strspn(value->text, "+-.0123456789eE")] != '\0')
        return fail_type(value);
    *number = strtod(value->text, &end);
    if (*end != '\0')
        return fail_type(value);
    return check_range(value, *number);
}

/* A leading zero would mean octal to some readers of YAML. */
static bool read_digits(const struct value *value, char **end, uint64_t *number)
{
    const char *text = value->text;

    if (strspn(text, "0123456789") == 0)
        return text[0] == '-'
                   ? check_range(value, strtod(text, NULL)) && fail_type(value)
                   : fail_type(value);
    if (text[0] == '0' && strspn(text, "0123456789") > 1)
        return fail(value, "begins with a zero");
    errno = 0;
    *number = strtoull(text, end, 10);
    return errno == 0 || check_range(value, HUGE_VAL);
}

static bool read_whole(const struct value *value, uint64_t *number)
{
    char *end;

    if (!read_digits(value, &end, number))
        return false;
    if (*end != '\0')
        return fail_type(value);
    return check_range(value, (double)*number);
}

static bool read_bytes(const struct value *value, size_t *bytes)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB"};
    uint64_t number = 0;
    char *end;

    if (!read_digits(value, &end, &number))
        return false;
    end += strspn(end, " ");
    for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++) {
        double scale = ldexp(1, 10 * (int)i);

        if (strcmp(end, units[i]) != 0)
            continue;
        if (!check_range(value, (double)number * scale))
            return false;
        *bytes = (size_t)(number << (10 * i));
        return true;
    }
    return fail_type(value);
}

static bool read_number(const struct value *value, void *place)
{
    uint64_t number = 0;

    if (value->key->kind == CONFIG_REAL || value->key->kind == CONFIG_SECONDS)
        return read_real(value, place);
    if (value->key->kind == CONFIG_BYTES)
        return read_bytes(value, place);
    if (!read_whole(value, &number))
        return false;
    if (value->key->kind == CONFIG_PORT)
        *(uint16_t *)place = (uint16_t)number;
    else if (value->key->kind == CONFIG_COUNT)
        *(uint32_t *)place = (uint32_t)number;
    else
        *(uint64_t *)place = number;
    return true;
}

static bool read_value(const struct value *value, void *place)
{
    return config_kind_is_number(value->key->kind) ? read_number(value, place)
                                                   : read_text(value, place);
}

/* A value in quotes is text, whatever it looks like. */
static bool check_scalar(struct config_reader *reader,
                         const struct config_key *key, const yaml_node_t *node)
{
    const char *expected = config_kind_name(key->kind);

    if (!config_visit(reader, key, node))
        return false;
    if (node->type != YAML_SCALAR_NODE)
        return config_fail_node(
            reader, key, node, "expected %s, not a %s", expected,
            node->type == YAML_MAPPING_NODE ? "mapping" : "list");
    if (config_node_is_null(node))
        return config_fail_node(reader, key, node,
                                "expected %s, but nothing is there", expected);
    if (strlen((const char *)node->data.scalar.value) !=
        node->data.scalar.length)
        return config_fail_node(reader, key, node, "a zero byte is in it");
    if (config_kind_is_number(key->kind) &&
        node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return config_fail_node(reader, key, node,
                                "expected %s, without quotes", expected);
    return true;
}

bool config_read_scalar(struct config_reader *reader,
                        const struct config_key *key, const yaml_node_t *node,
                        void *place)
{
    struct value value = {reader, key, node, NULL};

    if (!check_scalar(reader, key, node))
        return false;
    value.text = (const char *)node->data.scalar.value;
    return read_value(&value, place);
}

/* Names of headers are compared in lower case, whatever the locale. */
static bool add_header(struct config_reader *reader, const char *text,
                       size_t length, struct config_names *names)
{
    char *name = strndup(text, length);

    if (name == NULL)
        return config_fail_memory(reader);
    for (char *byte = name; *byte != '\0'; byte++)
        if (*byte >= 'A' && *byte <= 'Z')
            *byte = (char)(*byte - 'A' + 'a');
    names->names[names->count++] = name;
    return true;
}

static bool make_room(struct config_reader *reader, struct config_names *names,
                      size_t count)
{
    names->names = calloc(count + 1, sizeof *names->names);
    return names->names != NULL || config_fail_memory(reader);
}

static bool read_header(struct config_reader *reader,
                        const struct config_key *key, const yaml_node_t *node,
                        struct config_names *names)
{
    const char *text;
    struct config_quote quote;

    if (!check_scalar(reader, key, node))
        return false;
    text = (const char *)node->data.scalar.value;
    quote = config_quote(text);
    if (!header_is_token(text))
        return config_fail_node(reader, key, node,
                                "\"%s\" is no name of a header", quote.text);
    return add_header(reader, text, strlen(text), names);
}

bool config_read_headers(struct config_reader *reader,
                         const struct config_key *key, const yaml_node_t *node,
                         struct config_names *names)
{
    yaml_node_item_t *item;
    size_t count;

    if (!config_visit(reader, key, node))
        return false;
    if (node->type != YAML_SEQUENCE_NODE)
        return config_fail_node(reader, key, node, "expected %s",
                                config_kind_name(key->kind));
    count = (size_t)(node->data.sequence.items.top -
                     node->data.sequence.items.start);
    if (count > 16)
        return config_fail_node(reader, key, node, "more than 16 headers");
    if (!make_room(reader, names, count))
        return false;
    for (item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++)
        if (!read_header(reader, key,
                         yaml_document_get_node(reader->document, *item),
                         names))
            return false;
    return true;
}

static bool initial_headers(struct config_reader *reader, const char *text,
                            struct config_names *names)
{
    if (!make_room(reader, names, 16))
        return false;
    while (*text != '\0') {
        size_t length = strcspn(text, ", ");

        if (length > 0 && !add_header(reader, text, length, names))
            return false;
        text += length + strspn(text + length, ", ");
    }
    return true;
}

bool config_read_initial(struct config_reader *reader,
                         const struct config_key *key, void *place)
{
    struct value value = {reader, key, NULL, key->initial};

    return key->kind == CONFIG_HEADERS
               ? initial_headers(reader, key->initial, place)
               : read_value(&value, place);
}
