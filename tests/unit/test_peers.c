/* SPDX-License-Identifier: MIT */
/* state/peers: which deltas have come, against a set of numbers. */
#include "state/peers.h"

#include <string.h>

#include "heap.h"
#include "support/rng.h"
#include "support/test.h"

#define WINDOW 64
#define MOST 2000

struct account {
    unsigned char come[MOST];
    uint64_t first, latest;
};

static int has(const struct account *account, uint64_t sequence)
{
    return account->come[sequence] ||
           (account->latest > WINDOW && sequence < account->latest - WINDOW);
}

static uint32_t missing(const struct account *account, uint64_t sequence)
{
    uint32_t count = 0;

    for (uint64_t i = account->first; i < sequence; i++)
        count += !has(account, i);
    return count;
}

static void come(struct lbr_peers *peers, struct lbr_peer *peer,
                 struct account *account, uint64_t sequence)
{
    assert_int_equal(lbr_peer_has(peer, sequence), has(account, sequence));
    if (has(account, sequence))
        return;
    lbr_peer_note(peers, peer, sequence);
    account->come[sequence] = 1;
    if (sequence > account->latest)
        account->latest = sequence;
    if (!account->first || sequence < account->first)
        account->first = sequence;
    assert_int_equal(lbr_peer_missing(peer, sequence),
                     missing(account, sequence));
}

static void any_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct test_rng rng = {seed};
        struct unit_heap heap;
        struct lbr_peers peers;
        struct lbr_peer peer;
        struct account account;
        /* Now and then far ahead, so that all before it are too old. */
        size_t ahead = seed % 5 ? 20 : 150;
        uint64_t around = 1 + test_rng_below(&rng, 100);

        unit_heap_open(&heap);
        memset(&peer, 0, sizeof peer);
        memset(&account, 0, sizeof account);
        lbr_peers_init(&peers, &heap.memory, 4, 1);
        lbr_list_append(&peers.heard, &peer.heard);
        while (around + ahead < MOST) {
            uint64_t back = test_rng_below(&rng, 80);

            come(&peers, &peer, &account,
                 test_rng_below(&rng, 3) || back >= around ? around
                                                           : around - back);
            around += test_rng_below(&rng, 4) ? test_rng_below(&rng, 3)
                                              : test_rng_below(&rng, ahead);
            for (uint64_t i = 1; i < around; i++)
                assert_int_equal(lbr_peer_has(&peer, i), has(&account, i));
        }
        lbr_list_remove(&peer.heard);
        lbr_peers_destroy(&peers);
        unit_heap_close(&heap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
