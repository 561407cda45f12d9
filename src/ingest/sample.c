/* SPDX-License-Identifier: MIT */
#include "ingest/sample.h"

#include "ingest/label.h"
#include "ingest/letters.h"
#include "ingest/number.h"

#include <lbroute/ingest.h>

/* Reads a set of labels from its brace on; returns what follows it, or NULL.
 * A label without a name is the metric's own, quoted. */
static const char *read_labels(const char *at, const char *end,
                               struct lbr_sample *sample)
{
    enum lbr_label_result result;
    struct lbr_label label;

    sample->labels = ++at;
    while ((result = lbr_label_next(&at, end, &label)) == LBR_LABEL_READ)
        if (!label.name.length) {
            sample->name = label.value;
            sample->plain = 0;
        }
    sample->labels_end = at;
    return result == LBR_LABEL_END ? at : NULL;
}

/* Lines of one name mostly follow each other: to compare is faster than to look
 * at each letter. */
static const char *read_name(const char *at, const char *end,
                             struct lbr_sample *sample)
{
    const char *begin = at;
    size_t known = sample->name.length;

    if (sample->plain && (size_t)(end - at) > known &&
        !lbr_is_name_letter(at[known]) &&
        lbr_text_equal(sample->name, lbr_text(at, known)))
        return at + known;
    if (!lbr_is_digit(*at))
        while (at < end && lbr_is_name_letter(*at))
            at++;
    sample->name = lbr_text(begin, (size_t)(at - begin));
    sample->plain = 1;
    return at;
}

/* What may stand behind a value: nothing, a time stamp, an exemplar. */
static int read_rest(const char *at, const char *end)
{
    const char *next = lbr_skip_blanks(at, end);
    double timestamp;

    if (next == end)
        return LBROUTE_OK;
    if (next == at)
        return LBROUTE_DIAG_VALUE;
    if (*next == '#')
        return LBROUTE_OK;
    at = lbr_number_read(next, end, &timestamp);
    if (!at)
        return LBROUTE_DIAG_TIMESTAMP;
    next = lbr_skip_blanks(at, end);
    if (next == end || (next > at && *next == '#'))
        return LBROUTE_OK;
    return LBROUTE_DIAG_TIMESTAMP;
}

/* Reads name and labels. Returns where the value begins, or NULL and why not.
 */
static const char *read_series(const char *at, const char *end,
                               struct lbr_sample *sample, int *reason)
{
    const char *behind_name = read_name(at, end, sample);

    *reason = LBROUTE_DIAG_NAME;
    sample->labels = sample->labels_end = NULL;
    at = lbr_skip_blanks(behind_name, end);
    if (at == end || *at != '{')
        return sample->name.length && (at > behind_name || at == end) ? at
                                                                      : NULL;
    at = read_labels(at, end, sample);
    if (!at) {
        *reason = LBROUTE_DIAG_LABELS;
        return NULL;
    }
    return sample->name.length ? lbr_skip_blanks(at, end) : NULL;
}

int lbr_sample_read(const char *at, const char *end, struct lbr_sample *sample)
{
    int reason;

    at = read_series(at, end, sample, &reason);
    if (!at)
        return reason;
    at = lbr_number_read(at, end, &sample->value);
    return at ? read_rest(at, end) : LBROUTE_DIAG_VALUE;
}
