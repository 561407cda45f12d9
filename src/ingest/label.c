/* SPDX-License-Identifier: MIT */
#include "ingest/label.h"

#include "base/hash.h"
#include "ingest/letters.h"

/* Whether an odd number of backslashes stands before |at|. */
static int is_escaped(const char *begin, const char *at)
{
    const char *before = at;

    while (before > begin && before[-1] == '\\')
        before--;
    return (int)((size_t)(at - before) % 2);
}

/* The text from an opening quote at |at| to the closing one; moves behind it.
 * NULL when there is none. */
static const char *read_quoted(const char *at, const char *end,
                               struct lbr_text *text)
{
    const char *begin = ++at;
    const char *quote;

    while ((quote = memchr(at, '"', (size_t)(end - at))) != NULL) {
        if (!is_escaped(begin, quote)) {
            *text = lbr_text(begin, (size_t)(quote - begin));
            return quote + 1;
        }
        at = quote + 1;
    }
    return NULL;
}

static const char *read_name(const char *at, const char *end,
                             struct lbr_text *name)
{
    const char *begin = at;

    if (at < end && *at == '"')
        return read_quoted(at, end, name);
    while (at < end && lbr_is_name_letter(*at))
        at++;
    *name = lbr_text(begin, (size_t)(at - begin));
    return at > begin && !lbr_is_digit(*begin) ? at : NULL;
}

/* Behind the label: past a comma, or before the closing brace. */
static const char *end_label(const char *at, const char *end)
{
    at = lbr_skip_blanks(at, end);
    if (at == end || (*at != ',' && *at != '}'))
        return NULL;
    return *at == ',' ? at + 1 : at;
}

static const char *read_label(const char *at, const char *end,
                              struct lbr_label *label)
{
    int quoted = at < end && *at == '"';

    at = read_name(at, end, &label->name);
    if (!at)
        return NULL;
    at = lbr_skip_blanks(at, end);
    if (at < end && *at == '=') {
        at = lbr_skip_blanks(at + 1, end);
        if (at == end || *at != '"')
            return NULL;
        at = read_quoted(at, end, &label->value);
        return at ? end_label(at, end) : NULL;
    }
    label->value = label->name;
    label->name = lbr_text(NULL, 0);
    return quoted ? end_label(at, end) : NULL;
}

enum lbr_label_result lbr_label_next(const char **at, const char *end,
                                     struct lbr_label *label)
{
    const char *next = lbr_skip_blanks(*at, end);

    if (next < end && *next == '}') {
        *at = next + 1;
        return LBR_LABEL_END;
    }
    next = read_label(next, end, label);
    if (!next)
        return LBR_LABEL_BROKEN;
    *at = next;
    return LBR_LABEL_READ;
}

int lbr_label_find(const char *at, const char *end, const char *name,
                   struct lbr_text *value)
{
    struct lbr_text wanted = lbr_text(name, strlen(name));
    struct lbr_label label;

    while (at < end && lbr_label_next(&at, end, &label) == LBR_LABEL_READ)
        if (lbr_text_equal(label.name, wanted)) {
            *value = label.value;
            return 1;
        }
    return 0;
}

uint64_t lbr_label_set_hash(const char *at, const char *end)
{
    struct lbr_label label;
    uint64_t sum = 0;

    while (at < end && lbr_label_next(&at, end, &label) == LBR_LABEL_READ)
        sum += lbr_hash_pair(lbr_hash(label.name.bytes, label.name.length),
                             lbr_hash(label.value.bytes, label.value.length));
    return sum;
}
