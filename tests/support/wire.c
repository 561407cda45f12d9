/* SPDX-License-Identifier: MIT */
#include "support/wire.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

struct pack wire;
lbroute_kv_result wire_result;
lbroute_diag wire_diag;

void wire_begin(size_t events)
{
    pack_reset(&wire);
    pack_array(&wire, 2);
    pack_double(&wire, 1.0);
    pack_array(&wire, events);
}

int wire_feed_bytes(struct fleet *fleet, size_t index, uint64_t seq,
                    const void *bytes, size_t length)
{
    unsigned char *copy = malloc(length > 0 ? length : 1);
    int code;

    assert_non_null(copy);
    if (length > 0)
        memcpy(copy, bytes, length);
    lbroute_kv_result_init(&wire_result, sizeof wire_result);
    lbroute_diag_init(&wire_diag, sizeof wire_diag);
    code = lbroute_ingest_kv_events(fleet->router, fleet->targets[index], 0,
                                    seq, copy, length, fleet->now, &wire_result,
                                    &wire_diag);
    free(copy);
    return code;
}

int wire_feed(struct fleet *fleet, size_t index)
{
    lbroute_kv_source_stats stats;
    uint64_t seq = 0;

    lbroute_kv_source_stats_init(&stats, sizeof stats);
    if (!lbroute_get_kv_source_stats(fleet->router, fleet->targets[index], 0,
                                     fleet->now, &stats))
        seq = stats.next_seq;
    assert_int_equal(
        wire_feed_bytes(fleet, index, seq, wire.bytes, wire.length), 0);
    pack_reset(&wire);
    return wire_result.outcome;
}

lbroute_kv_source_stats wire_stats(struct fleet *fleet, size_t index)
{
    lbroute_kv_source_stats stats;

    lbroute_kv_source_stats_init(&stats, sizeof stats);
    assert_int_equal(lbroute_get_kv_source_stats(fleet->router,
                                                 fleet->targets[index], 0,
                                                 fleet->now, &stats),
                     0);
    return stats;
}

void wire_tokens(struct fleet *fleet, uint32_t first, size_t count)
{
    static uint32_t tokens[WIRE_TOKENS];

    assert_true(count <= WIRE_TOKENS);
    for (size_t i = 0; i < count; i++)
        tokens[i] = first + (uint32_t)i;
    fleet->request.tokens = tokens;
    fleet->request.tokens_len = count;
}

int64_t wire_known(struct fleet *fleet, size_t index)
{
    lbroute_target *others = calloc(fleet->count, sizeof *others);
    lbroute_decision decision;
    size_t count = 0;

    assert_non_null(others);
    for (size_t i = 0; i < fleet->count; i++)
        if (i != index)
            others[count++] = fleet->targets[i];
    lbroute_decision_init(&decision, sizeof decision);
    fleet->request.exclude = others;
    fleet->request.exclude_len = count;
    assert_int_equal(lbroute_explain(fleet->router, &fleet->request, fleet->now,
                                     &decision, NULL, 0, NULL),
                     0);
    assert_int_equal(decision.target, fleet->targets[index]);
    fleet->request.exclude = NULL;
    fleet->request.exclude_len = 0;
    free(others);
    return decision.prefix_matched;
}
