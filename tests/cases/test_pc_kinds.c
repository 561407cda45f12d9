/* SPDX-License-Identifier: MIT */
/* More of the kinds that the field reports PC are of: what engines may say of
 * their blocks. A block is 16 tokens. */
#include "kv_events.h"
#include "support/fleet.h"
#include "support/test.h"

#define A 0
#define B 1

enum {
    GPU = LBROUTE_MEDIUM_GPU,
    HOST = LBROUTE_MEDIUM_HOST,
    DISK = LBROUTE_MEDIUM_DISK,
    ANY = LBROUTE_MEDIUM_ANY,
    MEDIA = LBROUTE_MEDIUM_COUNT
};

static void open_one(struct fleet *fleet, struct kv *a)
{
    fleet_open(fleet, "precise_cache_aware", 1, 1);
    kv_open(a, fleet, A);
}

/* ---- cleared ---- */

/* Every rank of an engine has a cache of its own. */
static void pc_01_kind_one_source_of_two(void **state)
{
    struct fleet fleet;
    struct kv a, rank;
    (void)state;

    open_one(&fleet, &a);
    kv_open(&rank, &fleet, A);
    rank.source = 1;
    kv_store(&a, 1, 1, 64);
    kv_store(&rank, 1, 1, 48);
    assert_int_equal(kv_count(&fleet, A, 1, 64), 4);
    kv_empty(&a);
    assert_int_equal(kv_count(&fleet, A, 1, 64), 3);
    assert_int_equal(kv_stats(&a).blocks[GPU], 0);
    assert_int_equal(kv_stats(&a).clears, 1);
    assert_int_equal(kv_stats(&rank).blocks[GPU], 3);
    assert_int_equal(kv_stats(&rank).clears, 0);
    assert_int_equal(fleet_stats(&fleet, A).kv_blocks, 3);
    kv_remove(&a, 1, 3);
    assert_int_equal(kv_count(&fleet, A, 1, 64), 3);
    assert_int_equal(a.result.reasons[LBROUTE_KV_REASON_UNKNOWN], 3);
    fleet_close(&fleet);
}

/* Order within a batch counts. */
static void pc_01_kind_clear_amid_a_batch(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    kv_store(&a, 1, 1, 64);
    kv_begin(&a);
    kv_store(&a, 9, 1001, 1032);
    kv_empty(&a);
    kv_store(&a, 9, 2001, 2016);
    kv_remove(&a, 1, 1);
    kv_send(&a);
    assert_int_equal(a.result.reasons[LBROUTE_KV_REASON_UNKNOWN], 1);
    assert_int_equal(kv_count(&fleet, A, 1, 64), 0);
    assert_int_equal(kv_count(&fleet, A, 1001, 1032), 0);
    assert_int_equal(kv_count(&fleet, A, 2001, 2032), 1);
    assert_int_equal(kv_stats(&a).blocks[GPU], 1);
    fleet_close(&fleet);
}

/* What waits for its parent is in the cache, too, and gone with it. */
static void pc_01_kind_clear_drops_what_waits(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    kv_store_after(&a, 1, 2, 17, 32);
    assert_int_equal(kv_stats(&a).waiting, 1);
    kv_empty(&a);
    assert_int_equal(kv_stats(&a).waiting, 0);
    kv_store(&a, 1, 1, 16);
    assert_int_equal(kv_count(&fleet, A, 1, 32), 1);
    fleet_close(&fleet);
}

/* By call: the source is fresh, and begins with whatever number comes. */
static void pc_01_kind_cleared_by_call(void **state)
{
    struct fleet fleet;
    struct kv a, rank, b;
    (void)state;

    fleet_open(&fleet, "precise_cache_aware", 2, 1);
    kv_open(&a, &fleet, A);
    kv_open(&rank, &fleet, A);
    rank.source = 7;
    kv_open(&b, &fleet, B);
    kv_store(&a, 1, 1, 64);
    kv_store(&rank, 1, 1, 32);
    kv_store(&b, 1, 1, 16);
    kv_forget(&a);
    assert_int_equal(kv_stats(&a).state, LBROUTE_KV_SOURCE_FRESH);
    assert_int_equal(kv_stats(&a).blocks[GPU], 0);
    assert_int_equal(kv_stats(&a).next_seq, UINT64_MAX);
    assert_int_equal(kv_count(&fleet, A, 1, 64), 2);
    a.seq = 1000;
    kv_store(&a, 1, 1, 48);
    kv_expect(&a, LBROUTE_KV_APPLIED, LBROUTE_KV_SOURCE_FRESH);
    assert_int_equal(kv_count(&fleet, A, 1, 64), 3);
    a.source = UINT32_MAX;
    kv_forget(&a);
    assert_int_equal(kv_count(&fleet, A, 1, 64), 0);
    assert_int_equal(kv_count(&fleet, B, 1, 64), 1);
    assert_int_equal(fleet_stats(&fleet, A).kv_blocks, 0);
    fleet_close(&fleet);
}

/* ---- media ---- */

static void store_in(struct kv *kv, int medium, uint64_t label, uint32_t first)
{
    kv->medium = medium;
    kv_store(kv, label, first, first + KV_SIZE - 1);
}

static void remove_from(struct kv *kv, int medium, uint64_t label)
{
    kv->medium = medium;
    kv_remove(kv, label, 1);
}

/* Checks that the fastest of |held| is what the block counts for. */
static void expect_fastest(struct kv *kv, const int held[MEDIA])
{
    int seen = 0;

    kv_ask(kv->fleet, 1, 16);
    for (int medium = 0; medium < MEDIA; medium++) {
        assert_int_equal(kv_resident_in(kv->fleet, kv->index, medium),
                         held[medium] && !seen);
        seen |= held[medium];
        assert_int_equal(kv_stats(kv).blocks[medium], held[medium]);
    }
}

/* In three media, and out of them in every order. */
static void pc_12_kind_every_order_of_removal(void **state)
{
    static const int orders[6][MEDIA] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    for (size_t in = 0; in < 6; in++) {
        for (size_t out = 0; out < 6; out++) {
            int held[MEDIA] = {0, 0, 0};
            for (size_t i = 0; i < MEDIA; i++) {
                store_in(&a, orders[in][i], 1, 1);
                held[orders[in][i]] = 1;
                expect_fastest(&a, held);
            }
            for (size_t i = 0; i < MEDIA; i++) {
                remove_from(&a, orders[out][i], 1);
                held[orders[out][i]] = 0;
                expect_fastest(&a, held);
            }
        }
    }
    fleet_close(&fleet);
}

/* A removal that says no medium means all; one that names a medium in which
 * the block is not takes nothing away. */
static void pc_12_kind_removal_of_all_and_of_none(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    store_in(&a, GPU, 1, 1);
    store_in(&a, DISK, 1, 1);
    remove_from(&a, HOST, 1);
    assert_int_equal(a.result.removed, 0);
    assert_int_equal(kv_count(&fleet, A, 1, 16), 1);
    remove_from(&a, ANY, 1);
    assert_int_equal(a.result.removed, 2);
    assert_int_equal(kv_count(&fleet, A, 1, 16), 0);
    remove_from(&a, ANY, 1);
    assert_int_equal(a.result.removed, 0);
    assert_int_equal(a.result.reasons[LBROUTE_KV_REASON_UNKNOWN], 1);
    fleet_close(&fleet);
}

/* The decision says what lies where: each block by its fastest medium. */
static void pc_12_kind_decision_by_media(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    kv_store(&a, 1, 1, 80);
    a.medium = HOST;
    kv_locate(&a, 1, 3);
    a.medium = DISK;
    kv_locate(&a, 3, 2);
    a.medium = GPU;
    kv_remove(&a, 2, 3);
    kv_ask(&fleet, 1, 80);
    kv_expect_pick(&fleet, A, 5);
    assert_int_equal(fleet.decision.prefix_total, 5);
    assert_int_equal(fleet.decision.kv_blocks[GPU], 2);
    assert_int_equal(fleet.decision.kv_blocks[HOST], 2);
    assert_int_equal(fleet.decision.kv_blocks[DISK], 1);
    fleet_close(&fleet);
}

/* Events without tokens move blocks that are known, and create none. */
static void pc_12_kind_location_only(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    kv_store(&a, 1, 1, 16);
    a.medium = HOST;
    kv_locate(&a, 1, 2);
    assert_int_equal(a.result.stored, 1);
    assert_int_equal(a.result.reasons[LBROUTE_KV_REASON_UNKNOWN], 1);
    assert_int_equal(kv_stats(&a).blocks[HOST], 1);
    a.medium = GPU;
    kv_remove(&a, 1, 1);
    assert_int_equal(kv_count(&fleet, A, 1, 32), 1);
    a.medium = HOST;
    kv_remove(&a, 1, 2);
    assert_int_equal(kv_count(&fleet, A, 1, 32), 0);
    kv_locate(&a, 1, 1);
    assert_int_equal(a.result.reasons[LBROUTE_KV_REASON_UNKNOWN], 1);
    assert_int_equal(kv_count(&fleet, A, 1, 32), 0);
    fleet_close(&fleet);
}

/* Stored twice in a medium is gone after one removal, or after two if the pool
 * counts copies. */
static void pc_12_kind_copies_in_a_medium(void **state)
{
    (void)state;

    for (int counted = 0; counted < 2; counted++) {
        struct fleet fleet;
        struct kv a;
        open_one(&fleet, &a);
        fleet_param(&fleet, "precise_cache_aware.count_copies", counted);
        store_in(&a, GPU, 1, 1);
        store_in(&a, GPU, 1, 1);
        store_in(&a, HOST, 1, 1);
        remove_from(&a, HOST, 1);
        assert_int_equal(kv_count(&fleet, A, 1, 16), 1);
        remove_from(&a, GPU, 1);
        assert_int_equal(kv_count(&fleet, A, 1, 16), counted);
        remove_from(&a, GPU, 1);
        assert_int_equal(kv_count(&fleet, A, 1, 16), 0);
        fleet_close(&fleet);
    }
}

/* ---- labels ---- */

/* Two blocks may hold the same: it is there until both are gone. */
static void pc_12_kind_two_labels_of_one_content(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    for (uint64_t last = 1; last <= 2; last++) {
        kv_store(&a, 1, 1, 16);
        kv_store(&a, 2, 1, 16);
        assert_int_equal(kv_count(&fleet, A, 1, 16), 1);
        kv_remove(&a, 3 - last, 1);
        assert_int_equal(kv_count(&fleet, A, 1, 16), 1);
        kv_remove(&a, last, 1);
        assert_int_equal(kv_count(&fleet, A, 1, 16), 0);
    }
    fleet_close(&fleet);
}

/* The faster of two copies counts. */
static void pc_12_kind_two_labels_in_two_media(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    store_in(&a, DISK, 1, 1);
    store_in(&a, GPU, 2, 1);
    kv_ask(&fleet, 1, 16);
    assert_int_equal(kv_resident_in(&fleet, A, GPU), 1);
    assert_int_equal(kv_resident_in(&fleet, A, DISK), 0);
    remove_from(&a, GPU, 2);
    assert_int_equal(kv_resident_in(&fleet, A, GPU), 0);
    assert_int_equal(kv_resident_in(&fleet, A, DISK), 1);
    fleet_close(&fleet);
}

/* A label that is used again stands for what it was used for last. */
static void pc_04_kind_renamed(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    store_in(&a, GPU, 1, 1);
    store_in(&a, HOST, 1, 1);
    store_in(&a, GPU, 1, 1001);
    assert_int_equal(a.result.reasons[LBROUTE_KV_REASON_RENAMED], 1);
    assert_int_equal(kv_count(&fleet, A, 1, 16), 0);
    assert_int_equal(kv_count(&fleet, A, 1001, 1016), 1);
    assert_int_equal(kv_stats(&a).blocks[GPU], 1);
    assert_int_equal(kv_stats(&a).blocks[HOST], 0);
    remove_from(&a, GPU, 1);
    assert_int_equal(kv_count(&fleet, A, 1001, 1016), 0);
    fleet_close(&fleet);
}

/* What came behind the old content stays there. */
static void pc_04_kind_renamed_parent(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    kv_store(&a, 1, 1, 32);
    kv_store(&a, 1, 1001, 1016);
    assert_int_equal(kv_count(&fleet, A, 1, 32), 0);
    kv_ask(&fleet, 1001, 1016);
    kv_ask_more(&fleet, 17, 32);
    assert_int_equal(kv_resident(&fleet, A), 1);
    kv_store_after(&a, 1, 3, 17, 32);
    assert_int_equal(kv_resident(&fleet, A), 2);
    kv_store(&a, 4, 1, 16);
    assert_int_equal(kv_count(&fleet, A, 1, 32), 2);
    fleet_close(&fleet);
}

/* A label that is used again for a block that waits stands for nothing else any
 * more, although blocks behind the old one are left. */
static void pc_04_kind_renamed_to_wait(void **state)
{
    (void)state;

    for (int how = 0; how < 3; how++) {
        struct fleet fleet;
        struct kv a;
        open_one(&fleet, &a);
        kv_store(&a, 1, 1, 48);
        kv_store_after(&a, 9, 2, 1017, 1032);
        assert_int_equal(kv_count(&fleet, A, 1, 48), 1);
        assert_int_equal(kv_stats(&a).waiting, 1);
        if (how == 1)
            kv_locate(&a, 2, 1);
        if (how == 2)
            kv_remove(&a, 2, 1);
        assert_int_equal(kv_count(&fleet, A, 1, 48), 1);
        kv_store_after(&a, 2, 5, 2033, 2048);
        kv_ask(&fleet, 1, 32);
        kv_ask_more(&fleet, 2033, 2048);
        assert_int_equal(kv_resident(&fleet, A), 1);
        kv_store_after(&a, 1, 6, 17, 32);
        assert_int_equal(kv_resident(&fleet, A), 2);
        kv_store(&a, 9, 1001, 1016);
        kv_ask(&fleet, 1001, 1032);
        kv_ask_more(&fleet, 2033, 2048);
        assert_int_equal(kv_resident(&fleet, A), how == 2 ? 1 : 3);
        fleet_close(&fleet);
    }
}

/* Labels are each source's own, and each group's. */
static void pc_04_kind_labels_are_local(void **state)
{
    struct fleet fleet;
    struct kv a, b, group;
    (void)state;

    fleet_open(&fleet, "precise_cache_aware", 2, 1);
    kv_open(&a, &fleet, A);
    kv_open(&b, &fleet, B);
    kv_store(&a, 1, 1, 16);
    kv_store(&b, 1, 1001, 1016);
    assert_int_equal(kv_count(&fleet, A, 1, 16), 1);
    assert_int_equal(kv_count(&fleet, B, 1, 16), 0);
    kv_remove(&b, 1, 1);
    assert_int_equal(kv_count(&fleet, A, 1, 16), 1);
    group = a;
    group.group = 3;
    kv_remove(&group, 1, 1);
    assert_int_equal(kv_count(&fleet, A, 1, 16), 1);
    kv_store(&group, 1, 1, 16);
    group.group = 0;
    kv_remove(&group, 1, 1);
    assert_int_equal(kv_count(&fleet, A, 1, 16), 1);
    group.group = 3;
    kv_remove(&group, 1, 1);
    assert_int_equal(kv_count(&fleet, A, 1, 16), 0);
    fleet_close(&fleet);
}

/* ---- parents ---- */

static void store_link(struct kv *kv, uint64_t label)
{
    uint32_t first = (uint32_t)label * KV_SIZE;

    if (label == 1)
        kv_store(kv, label, first, first + KV_SIZE - 1);
    else
        kv_store_after(kv, label - 1, label, first, first + KV_SIZE - 1);
}

/* A chain of three in every order: as soon as the beginning is there, all that
 * hangs together counts. */
static void pc_08_kind_parents_come_later(void **state)
{
    static const uint64_t orders[6][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3},
                                          {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
    (void)state;

    for (size_t o = 0; o < 6; o++) {
        struct fleet fleet;
        struct kv a;
        int stored[5] = {0, 0, 0, 0, 0};
        open_one(&fleet, &a);
        for (size_t i = 0; i < 3; i++) {
            int64_t run = 0;
            store_link(&a, orders[o][i]);
            stored[orders[o][i]] = 1;
            while (stored[run + 1])
                run++;
            assert_int_equal(kv_count(&fleet, A, 16, 63), run);
            assert_int_equal(kv_stats(&a).blocks[GPU], run);
            assert_int_equal(kv_stats(&a).waiting, (int64_t)i + 1 - run);
        }
        assert_int_equal(kv_count(&fleet, A, 16, 63), 3);
        fleet_close(&fleet);
    }
}

/* Several wait for one, and more for these. */
static void pc_08_kind_branches_wait(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    kv_store_after(&a, 2, 3, 33, 48);
    kv_store_after(&a, 2, 4, 1033, 1048);
    kv_store_after(&a, 4, 5, 1049, 1080);
    kv_store_after(&a, 1, 2, 17, 32);
    assert_int_equal(kv_stats(&a).waiting, 5);
    assert_int_equal(kv_count(&fleet, A, 1, 48), 0);
    kv_store(&a, 1, 1, 16);
    assert_int_equal(kv_stats(&a).waiting, 0);
    assert_int_equal(kv_count(&fleet, A, 1, 48), 3);
    kv_ask(&fleet, 1, 32);
    kv_ask_more(&fleet, 1033, 1080);
    assert_int_equal(kv_resident(&fleet, A), 5);
    fleet_close(&fleet);
}

/* Once in the same place under another parent: not there any more. */
static void pc_08_kind_waiting_is_removed(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    kv_store_after(&a, 1, 2, 17, 32);
    assert_int_equal(a.result.reasons[LBROUTE_KV_REASON_WAITING], 1);
    kv_remove(&a, 2, 1);
    assert_int_equal(kv_stats(&a).waiting, 0);
    kv_store(&a, 1, 1, 16);
    assert_int_equal(kv_count(&fleet, A, 1, 32), 1);
    fleet_close(&fleet);
}

/* Children of a removed block keep their place: they count again as soon as
 * it is back, under whatever label. */
static void pc_08_kind_removed_parent_with_children(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    kv_store(&a, 1, 1, 48);
    kv_remove(&a, 2, 1);
    assert_int_equal(kv_count(&fleet, A, 1, 48), 1);
    assert_int_equal(kv_stats(&a).blocks[GPU], 2);
    assert_int_equal(kv_store_after(&a, 2, 4, 1033, 1048), LBROUTE_KV_APPLIED);
    kv_ask(&fleet, 1, 32);
    kv_ask_more(&fleet, 1033, 1048);
    assert_int_equal(kv_resident(&fleet, A), 1);
    kv_store_after(&a, 1, 20, 17, 32);
    assert_int_equal(kv_resident(&fleet, A), 3);
    assert_int_equal(kv_count(&fleet, A, 1, 48), 3);
    kv_remove(&a, 1, 1);
    assert_int_equal(kv_count(&fleet, A, 1, 48), 0);
    kv_store(&a, 1, 1, 16);
    assert_int_equal(kv_count(&fleet, A, 1, 48), 3);
    fleet_close(&fleet);
}

/* A removed block without children is as unknown as one never heard of. */
static void pc_08_kind_removed_parent_without_children(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    kv_store(&a, 1, 1, 16);
    kv_remove(&a, 1, 1);
    kv_store_after(&a, 1, 2, 17, 32);
    assert_int_equal(a.result.reasons[LBROUTE_KV_REASON_WAITING], 1);
    assert_int_equal(kv_stats(&a).blocks[GPU], 0);
    kv_store(&a, 1, 1001, 1016);
    assert_int_equal(kv_count(&fleet, A, 1, 32), 0);
    kv_ask(&fleet, 1001, 1016);
    kv_ask_more(&fleet, 17, 32);
    assert_int_equal(kv_resident(&fleet, A), 2);
    fleet_close(&fleet);
}

/* A block cannot stand behind itself. */
static void pc_kind_own_parent(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    assert_int_equal(kv_store_after(&a, 1, 1, 1, 16), LBROUTE_KV_PARTIAL);
    assert_int_equal(a.result.reasons[LBROUTE_KV_REASON_OWN_PARENT], 1);
    assert_int_equal(a.result.stored, 0);
    assert_int_equal(kv_count(&fleet, A, 1, 16), 0);
    kv_store(&a, 1, 1, 16);
    assert_int_equal(kv_count(&fleet, A, 1, 16), 1);
    assert_int_equal(kv_store_after(&a, 1, 1, 17, 32), LBROUTE_KV_PARTIAL);
    assert_int_equal(kv_count(&fleet, A, 1, 32), 1);
    fleet_close(&fleet);
}

/* Two that wait for each other wait for ever, until one of them is told
 * otherwise. */
static void pc_kind_cycle_of_two(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    kv_store_after(&a, 2, 1, 1, 16);
    kv_store_after(&a, 1, 2, 17, 32);
    assert_int_equal(kv_count(&fleet, A, 1, 32), 0);
    assert_int_equal(kv_stats(&a).blocks[GPU], 0);
    assert_int_equal(kv_stats(&a).waiting, 2);
    kv_store(&a, 1, 1, 16);
    assert_int_equal(kv_count(&fleet, A, 1, 32), 2);
    assert_int_equal(kv_stats(&a).waiting, 0);
    kv_empty(&a);
    kv_store(&a, 1, 1, 32);
    kv_store_after(&a, 2, 1, 1, 16);
    assert_int_equal(kv_count(&fleet, A, 1, 32), 0);
    kv_remove(&a, 1, 2);
    assert_int_equal(kv_stats(&a).blocks[GPU], 0);
    assert_int_equal(fleet_totals(&fleet).kv_blocks, 0);
    fleet_close(&fleet);
}

/* Only the unbroken beginning counts; what is behind a hole is not lost. */
static void pc_kind_holes(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    kv_store(&a, 1, 1, 160);
    for (uint64_t hole = 10; hole > 0; hole--) {
        uint32_t first = (uint32_t)(hole - 1) * KV_SIZE + 1;
        kv_remove(&a, hole, 1);
        assert_int_equal(kv_count(&fleet, A, 1, 160), hole - 1);
        if (hole == 1)
            kv_store(&a, 1, 1, 16);
        else
            kv_store_after(&a, hole - 1, hole, first, first + KV_SIZE - 1);
        assert_int_equal(kv_count(&fleet, A, 1, 160), 10);
    }
    fleet_close(&fleet);
}

/* The same tokens elsewhere in a prompt are other blocks. */
static void pc_kind_the_same_content_elsewhere(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    kv_store(&a, 1, 1, 16);
    kv_store_after(&a, 1, 2, 1, 16);
    assert_int_equal(kv_count(&fleet, A, 1, 16), 1);
    kv_ask_more(&fleet, 1, 16);
    kv_ask_more(&fleet, 1, 16);
    assert_int_equal(kv_resident(&fleet, A), 2);
    kv_remove(&a, 1, 1);
    assert_int_equal(kv_resident(&fleet, A), 0);
    assert_int_equal(kv_count(&fleet, A, 1, 16), 0);
    fleet_close(&fleet);
}

/* Said again in full, nothing changes. */
static void pc_kind_announced_again(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    kv_store(&a, 1, 1, 64);
    assert_int_equal(a.result.stored, 4);
    assert_int_equal(kv_store(&a, 1, 1, 64), LBROUTE_KV_APPLIED);
    assert_int_equal(kv_stats(&a).blocks[GPU], 4);
    assert_int_equal(fleet_totals(&fleet).kv_blocks, 4);
    kv_remove(&a, 4, 1);
    assert_int_equal(kv_count(&fleet, A, 1, 64), 3);
    fleet_close(&fleet);
}

/* What the statistics say. */
static void pc_13_kind_figures(void **state)
{
    struct fleet fleet;
    struct kv a, b;
    lbroute_stats totals;
    uint32_t source = 9;
    (void)state;

    fleet_open(&fleet, "precise_cache_aware", 2, 1);
    assert_int_equal(
        lbroute_kv_source_next(fleet.router, fleet.targets[A], -1, &source),
        LBROUTE_ERR_NOT_FOUND);
    kv_open(&a, &fleet, A);
    kv_open(&b, &fleet, B);
    b.source = UINT32_MAX - 1;
    fleet.now = TEST_S;
    kv_store(&a, 1, 1, 64);
    kv_store(&b, 1, 1, 32);
    kv_store(&b, 7, 1001, 1016);
    b.source = 4;
    kv_store(&b, 1, 1, 32);
    fleet.now += TEST_S;
    totals = fleet_totals(&fleet);
    assert_int_equal(totals.kv_blocks, 9);
    assert_int_equal(totals.kv_contents, 5);
    assert_int_equal(totals.kv_sources, 3);
    assert_int_equal(totals.kv_evicted, 0);
    assert_int_equal(fleet_stats(&fleet, A).kv_blocks, 4);
    assert_int_equal(fleet_stats(&fleet, A).kv_age_ns, TEST_S);
    assert_int_equal(kv_stats(&a).age_ns, TEST_S);
    assert_int_equal(kv_stats(&a).block_size, KV_SIZE);
    assert_int_equal(kv_stats(&a).batches, 1);
    assert_int_equal(kv_stats(&a).stored, 4);
    assert_int_equal(
        lbroute_kv_source_next(fleet.router, fleet.targets[B], -1, &source),
        LBROUTE_OK);
    assert_int_equal(source, 4);
    assert_int_equal(
        lbroute_kv_source_next(fleet.router, fleet.targets[B], source, &source),
        LBROUTE_OK);
    assert_int_equal(source, UINT32_MAX - 1);
    assert_int_equal(
        lbroute_kv_source_next(fleet.router, fleet.targets[B], source, &source),
        LBROUTE_ERR_NOT_FOUND);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pc_01_kind_one_source_of_two),
        cmocka_unit_test(pc_01_kind_clear_amid_a_batch),
        cmocka_unit_test(pc_01_kind_clear_drops_what_waits),
        cmocka_unit_test(pc_01_kind_cleared_by_call),
        cmocka_unit_test(pc_12_kind_every_order_of_removal),
        cmocka_unit_test(pc_12_kind_removal_of_all_and_of_none),
        cmocka_unit_test(pc_12_kind_decision_by_media),
        cmocka_unit_test(pc_12_kind_location_only),
        cmocka_unit_test(pc_12_kind_copies_in_a_medium),
        cmocka_unit_test(pc_12_kind_two_labels_of_one_content),
        cmocka_unit_test(pc_12_kind_two_labels_in_two_media),
        cmocka_unit_test(pc_04_kind_renamed),
        cmocka_unit_test(pc_04_kind_renamed_parent),
        cmocka_unit_test(pc_04_kind_renamed_to_wait),
        cmocka_unit_test(pc_04_kind_labels_are_local),
        cmocka_unit_test(pc_08_kind_parents_come_later),
        cmocka_unit_test(pc_08_kind_branches_wait),
        cmocka_unit_test(pc_08_kind_waiting_is_removed),
        cmocka_unit_test(pc_08_kind_removed_parent_with_children),
        cmocka_unit_test(pc_08_kind_removed_parent_without_children),
        cmocka_unit_test(pc_kind_own_parent),
        cmocka_unit_test(pc_kind_cycle_of_two),
        cmocka_unit_test(pc_kind_holes),
        cmocka_unit_test(pc_kind_the_same_content_elsewhere),
        cmocka_unit_test(pc_kind_announced_again),
        cmocka_unit_test(pc_13_kind_figures),
    };
    return cmocka_run_group_tests_name("PC kinds", tests, NULL, NULL);
}
