/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reader of KV events with any bytes, which two targets of a router
 * are fed alike. Both must come to the same; the counts must add up; a payload
 * that is no batch must change nothing, and one that comes again must not count
 * twice.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <lbroute/ingest.h>

#include "api.h"
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SOURCE = 3, SEQ = 40 };

/* What the call said, and what is held now. */
struct answer {
    int code;
    lbroute_kv_result result;
    lbroute_diag diag;
    int known;
    lbroute_kv_source_stats stats;
};

static void look(lbroute_router *router, lbroute_target target,
                 struct answer *answer)
{
    lbroute_kv_source_stats_init(&answer->stats, sizeof answer->stats);
    answer->known =
        !lbroute_get_kv_source_stats(router, target, SOURCE, 1, &answer->stats);
}

static struct answer feed(lbroute_router *router, lbroute_target target,
                          uint64_t seq, const uint8_t *data, size_t size)
{
    struct answer answer;

    memset(&answer, 0, sizeof answer);
    lbroute_kv_result_init(&answer.result, sizeof answer.result);
    lbroute_diag_init(&answer.diag, sizeof answer.diag);
    answer.code =
        lbroute_ingest_kv_events(router, target, SOURCE, seq, data, size, 1,
                                 &answer.result, &answer.diag);
    look(router, target, &answer);
    return answer;
}

static uint64_t sum(const uint64_t *values, size_t first, size_t last)
{
    uint64_t total = 0;

    for (size_t i = first; i <= last; i++)
        total += values[i];
    return total;
}

static void check_counts(const lbroute_diag *diag)
{
    CHECK_U(diag->broken, diag->reasons[LBROUTE_DIAG_FORMAT] +
                              diag->reasons[LBROUTE_DIAG_EVENT]);
    CHECK_U(diag->skipped,
            sum(diag->reasons, LBROUTE_DIAG_KIND, LBROUTE_DIAG_REMOTE));
    CHECK_I(diag->offset >= 0, diag->broken > 0);
    CHECK_I(diag->line >= 1, diag->reasons[LBROUTE_DIAG_EVENT] > 0);
}

/* No batch: nothing was seen, nothing counts, and no source came to be. */
static void check_refused(const struct answer *answer)
{
    CHECK_I(answer->code, LBROUTE_ERR_FORMAT);
    CHECK_U(answer->diag.accepted + answer->diag.skipped, 0);
    CHECK_U(answer->diag.broken, 1);
    CHECK_U(answer->diag.reasons[LBROUTE_DIAG_FORMAT], 1);
    CHECK_I(answer->result.outcome, 0);
    CHECK_I(answer->known, 0);
}

/* The first batch of a source is taken over, whatever its number. */
static void check_taken(const struct answer *answer)
{
    const lbroute_kv_source_stats *stats = &answer->stats;

    CHECK_I(answer->known, 1);
    CHECK(answer->result.outcome == LBROUTE_KV_APPLIED ||
          answer->result.outcome == LBROUTE_KV_PARTIAL);
    if (answer->diag.broken)
        CHECK_I(answer->result.outcome, LBROUTE_KV_PARTIAL);
    CHECK_I(answer->result.state, LBROUTE_KV_SOURCE_FRESH);
    CHECK_U(stats->next_seq, SEQ + 1);
    CHECK_U(stats->batches, 1);
    CHECK_U(stats->stored, answer->result.stored);
    CHECK_U(stats->removed, answer->result.removed);
    CHECK(stats->removed <= stats->stored);
    CHECK(sum(stats->blocks, 0, LBROUTE_MEDIUM_COUNT - 1) <= stats->stored);
}

/* The same batch once more, under the same number. */
static void check_again(lbroute_router *router, lbroute_target target,
                        const struct answer *before, const uint8_t *data,
                        size_t size)
{
    struct answer again = feed(router, target, SEQ, data, size);

    CHECK_I(again.code, 0);
    CHECK_I(again.result.outcome, LBROUTE_KV_DUPLICATE);
    CHECK_U(again.stats.duplicates, 1);
    CHECK_U(again.stats.stored, before->stats.stored);
    CHECK_U(again.stats.removed, before->stats.removed);
    CHECK_U(again.stats.waiting, before->stats.waiting);
    for (int i = 0; i < LBROUTE_MEDIUM_COUNT; i++)
        CHECK_U(again.stats.blocks[i], before->stats.blocks[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lbroute_router *router = api_router(1);
    lbroute_pool pool = api_pool(router, "pool", "precise_cache_aware");
    lbroute_target targets[2];
    struct answer answers[2];

    api_targets(router, pool, 2, targets);
    for (int i = 0; i < 2; i++) {
        answers[i] = feed(router, targets[i], SEQ, data, size);
        check_counts(&answers[i].diag);
        if (answers[i].code)
            check_refused(&answers[i]);
        else
            check_taken(&answers[i]);
    }
    CHECK(memcmp(&answers[0], &answers[1], sizeof answers[0]) == 0);
    if (!answers[0].code)
        check_again(router, targets[0], &answers[0], data, size);
    lbroute_router_destroy(router);
    return 0;
}
