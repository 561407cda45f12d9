/* SPDX-License-Identifier: MIT */
/* Least work left where engines tell what they hold: from when on that is all
 * there is to know. */
#include <string.h>

#include "kv_events.h"
#include "support/fleet.h"
#include "support/test.h"

#define A 0
#define B 1

enum { PICKS = 24, LAST = 4096 };

/* Two engines of which the router hears from batch |seq| on, and a prompt that
 * it sent to A. What they tell first is another one. */
static void open_at(struct fleet *fleet, struct kv *sources, uint64_t seq)
{
    fleet_open(fleet, "least_work", 2, 1);
    for (size_t i = A; i <= B; i++) {
        kv_open(&sources[i], fleet, i);
        sources[i].seq = seq;
        kv_store(&sources[i], 1, 9001, 9016);
        kv_expect(&sources[i], LBROUTE_KV_APPLIED, LBROUTE_KV_SOURCE_FRESH);
    }
    kv_ask(fleet, 1, LAST);
    fleet_send(fleet, A, LBROUTE_EVENT_CANCEL);
}

/* Whether all picks go to A. They count as sent to where they go. */
static int goes_home(struct fleet *fleet)
{
    fleet_reset_picks(fleet);
    for (int i = 0; i < PICKS; i++)
        fleet_pick_frozen(fleet);
    assert_int_equal(fleet->decision.kv_state, LBROUTE_KV_SOURCE_FRESH);
    return fleet->picks[A] == PICKS;
}

/* Who tells everything from his first batch on holds no more than he tells. */
static void lw_events_are_all_there_is(void **state)
{
    static const uint64_t begins[] = {0, UINT64_MAX}; /* MAX: has no number */
    struct fleet fleet;
    struct kv s[2];
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        open_at(&fleet, s, begins[i]);
        assert_false(goes_home(&fleet));
        fleet_close(&fleet);
    }
}

/* An engine that is older than the router does not tell again what it holds,
 * and what follows on that stands nowhere: the router goes by what it sent. */
static void lw_engines_older_than_the_router(void **state)
{
    struct fleet fleet;
    struct kv s[2];
    (void)state;

    open_at(&fleet, s, 100);
    assert_true(goes_home(&fleet));
    kv_store_after(&s[A], 77, 20, LAST + 1, LAST + 64);
    assert_true(goes_home(&fleet));
    fleet_close(&fleet);
}

/* Events count as before where they know more: nothing of this was sent. */
static void lw_older_engines_still_tell(void **state)
{
    struct fleet fleet;
    struct kv s[2];
    (void)state;

    open_at(&fleet, s, 100);
    kv_ask(&fleet, 5001, 5512);
    kv_store(&s[A], 100, 5001, 5512);
    assert_true(goes_home(&fleet));
    assert_int_equal(fleet.decision.kv_blocks[LBROUTE_MEDIUM_GPU], 512 / 16);
    fleet_close(&fleet);
}

/* Whoever begins anew, or empties his cache, tells all again from then on. */
static void lw_older_engines_begin_anew(void **state)
{
    struct fleet fleet;
    struct kv s[2];
    (void)state;

    open_at(&fleet, s, 100);
    kv_empty(&s[A]);
    assert_false(goes_home(&fleet));
    fleet_close(&fleet);

    open_at(&fleet, s, 100);
    s[A].seq = 0;
    kv_store(&s[A], 1, 9001, 9016);
    assert_int_equal(s[A].result.outcome, LBROUTE_KV_RESTARTED);
    assert_false(goes_home(&fleet));
    fleet_close(&fleet);
}

/* A host that cannot have batches again forgets the source; its engine does not
 * forget anything. */
static void lw_forgotten_by_call(void **state)
{
    struct fleet fleet;
    struct kv s[2];
    (void)state;

    open_at(&fleet, s, 0);
    assert_false(goes_home(&fleet));
    kv_forget(&s[A]);
    s[A].seq = 7;
    kv_store(&s[A], 1, 9001, 9016);
    assert_true(goes_home(&fleet));
    fleet_close(&fleet);
}

/* One of several ranks is older. It ends with its target's other source. */
static void lw_one_rank_is_older(void **state)
{
    struct fleet fleet;
    struct kv s[2];
    struct kv rank;
    (void)state;

    open_at(&fleet, s, 0);
    rank = s[A];
    rank.source = 1;
    rank.seq = 100;
    kv_store(&rank, 1, 9001, 9016);
    assert_true(goes_home(&fleet));
    kv_forget(&rank);
    rank.seq = 0;
    kv_store(&rank, 1, 9001, 9016);
    assert_false(goes_home(&fleet));
    fleet_close(&fleet);
}

/* A restored router knows from when on it has heard everything. */
static void lw_older_than_the_restored(void **state)
{
    struct fleet before;
    struct fleet after;
    struct kv s[2];
    (void)state;

    for (uint64_t seq = 0; seq <= 100; seq += 100) {
        open_at(&before, s, seq);
        fleet_open(&after, "least_work", 2, 1);
        kv_ask(&after, 1, LAST);
        fleet_carry_over(&before, &after);
        assert_int_equal(goes_home(&after), seq > 0);
        fleet_close(&before);
        fleet_close(&after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lw_events_are_all_there_is),
        cmocka_unit_test(lw_engines_older_than_the_router),
        cmocka_unit_test(lw_older_engines_still_tell),
        cmocka_unit_test(lw_older_engines_begin_anew),
        cmocka_unit_test(lw_forgotten_by_call),
        cmocka_unit_test(lw_one_rank_is_older),
        cmocka_unit_test(lw_older_than_the_restored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
