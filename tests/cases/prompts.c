/* SPDX-License-Identifier: MIT */
#include "prompts.h"

#include <stdlib.h>
#include <string.h>

#include "support/rng.h"
#include "support/test.h"

void prompt_fill(unsigned char *bytes, size_t length, uint64_t seed)
{
    struct test_rng rng = {seed * UINT64_C(0xd1342543de82ef95)};

    while (length > 0) {
        uint64_t word = test_rng_next(&rng);
        size_t part = length < sizeof word ? length : sizeof word;
        memcpy(bytes, &word, part);
        bytes += part;
        length -= part;
    }
}

void prompt_set(struct fleet *fleet, const void *bytes, size_t length)
{
    fleet->request.prompt = bytes;
    fleet->request.prompt_len = length;
}

void prompt_expect(const struct fleet *fleet, int rule, size_t matched)
{
    const lbroute_decision *decision = &fleet->decision;

    assert_string_equal(lbroute_rule_name(decision->rule),
                        lbroute_rule_name(rule));
    assert_int_equal(decision->prefix_matched, matched);
    assert_int_equal(decision->prefix_total, fleet->request.prompt_len);
}

size_t prompt_serve(struct fleet *fleet, int rule, size_t matched)
{
    size_t index = fleet_serve(fleet);

    assert_true(index != FLEET_NONE);
    prompt_expect(fleet, rule, matched);
    return index;
}

/* Everybody but |index|; the caller frees the list. */
static lbroute_target *all_but(const struct fleet *fleet, size_t index)
{
    lbroute_target *others = calloc(fleet->count, sizeof *others);
    size_t count = 0;

    assert_non_null(others);
    for (size_t i = 0; i < fleet->count; i++) {
        if (i != index)
            others[count++] = fleet->targets[i];
    }
    return others;
}

void prompt_warm(struct fleet *fleet, size_t index, const void *bytes,
                 size_t length)
{
    lbroute_request before = fleet->request;

    prompt_set(fleet, bytes, length);
    fleet_send(fleet, index, LBROUTE_EVENT_CANCEL);
    fleet->request.prompt = before.prompt;
    fleet->request.prompt_len = before.prompt_len;
}

/* What a pick that only one target may take would say. */
static lbroute_decision explain_on(struct fleet *fleet, size_t index,
                                   const void *bytes, size_t length)
{
    lbroute_target *others = all_but(fleet, index);
    lbroute_request request = fleet->request;
    lbroute_decision decision;

    lbroute_decision_init(&decision, sizeof decision);
    request.prompt = bytes;
    request.prompt_len = length;
    request.exclude = others;
    request.exclude_len = fleet->count - 1;
    assert_int_equal(lbroute_explain(fleet->router, &request, fleet->now,
                                     &decision, NULL, 0, NULL),
                     LBROUTE_OK);
    free(others);
    assert_int_equal(decision.target, fleet->targets[index]);
    return decision;
}

size_t prompt_known(struct fleet *fleet, size_t index, const void *bytes,
                    size_t length)
{
    lbroute_decision decision = explain_on(fleet, index, bytes, length);

    assert_int_equal(decision.prefix_total, length);
    return (size_t)decision.prefix_matched;
}

size_t prompt_known_blocks(struct fleet *fleet, size_t index, const void *bytes,
                           size_t length)
{
    lbroute_decision decision = explain_on(fleet, index, bytes, length);

    assert_true(decision.prefix_matched >= 0);
    assert_true(decision.prefix_matched <= decision.prefix_total);
    return (size_t)decision.prefix_matched;
}
