/* SPDX-License-Identifier: MIT */
#include "support/fleet.h"
#include "support/test.h"

#include "journal.h"

#include <stdio.h>
#include <string.h>

static uint64_t add(struct journal *journal, const char *model)
{
    struct journal_record record;

    memset(&record, 0, sizeof(record));
    snprintf(record.model, sizeof(record.model), "%s", model);
    return journal_add(journal, &record);
}

static void test_numbers_go_up_and_old_ones_go(void **state)
{
    struct journal *journal = journal_create(3, 1.0);

    (void)state;
    assert_int_equal(journal_newest(journal), 0);
    assert_null(journal_find(journal, 0));
    assert_null(journal_find(journal, 1));
    for (uint64_t number = 1; number <= 5; number++)
        assert_int_equal(add(journal, "m"), number);
    assert_int_equal(journal_newest(journal), 5);
    for (uint64_t number = 0; number <= 6; number++) {
        struct journal_record *record = journal_find(journal, number);

        assert_int_equal(record != NULL, number >= 3 && number <= 5);
        assert_true(record == NULL || record->number == number);
    }
    journal_destroy(journal);
}

static void test_a_record_can_be_completed(void **state)
{
    struct journal *journal = journal_create(2, 1.0);
    uint64_t number = add(journal, "m");

    (void)state;
    journal_find(journal, number)->status = 200;
    add(journal, "n");
    assert_int_equal(journal_find(journal, number)->status, 200);
    journal_destroy(journal);
}

static void test_another_size_keeps_the_newest(void **state)
{
    static const size_t sizes[] = {1, 2, 4, 5, 9};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct journal *journal = journal_create(4, 1.0);
        size_t kept = sizes[i] < 4 ? sizes[i] : 4;

        for (int k = 0; k < 7; k++)
            add(journal, "m");
        journal_resize(journal, sizes[i], 2.0);
        for (uint64_t number = 1; number <= 7; number++)
            assert_int_equal(journal_find(journal, number) != NULL,
                             number > 7 - kept);
        assert_int_equal(add(journal, "m"), 8);
        assert_non_null(journal_find(journal, 8));
        journal_destroy(journal);
    }
}

static void test_without_room_it_only_counts(void **state)
{
    struct journal *journal = journal_create(0, 5.0);

    (void)state;
    assert_int_equal(add(journal, "m"), 1);
    assert_null(journal_find(journal, 1));
    assert_int_equal(journal_newest(journal), 1);
    assert_false(journal_wants_explanation(journal, TEST_S));
    journal_resize(journal, 2, 5.0);
    assert_int_equal(add(journal, "m"), 2);
    assert_non_null(journal_find(journal, 2));
    journal_destroy(journal);
}

/* A thousand decisions a second for ten seconds, five explained a second. */
static void test_so_many_are_explained(void **state)
{
    struct journal *journal = journal_create(10, 5.0);
    unsigned wanted = 0, this_second = 0;

    (void)state;
    for (uint64_t ms = 0; ms < 10000; ms++) {
        if (ms % 1000 == 0)
            this_second = 0;
        if (journal_wants_explanation(journal, ms * TEST_MS)) {
            wanted++;
            this_second++;
        }
        assert_true(this_second <= 5);
    }
    assert_int_equal(wanted, 50);
    journal_resize(journal, 10, 0.0);
    assert_false(journal_wants_explanation(journal, 20 * TEST_S));
    journal_destroy(journal);
}

static void test_an_explanation_goes_into_the_next_record(void **state)
{
    struct journal *journal = journal_create(4, 5.0);
    struct fleet fleet;
    const struct journal_record *record;

    (void)state;
    fleet_open(&fleet, "weighted", 3, 1);
    lbroute_target_drain(fleet.router, fleet.targets[1], 1, fleet.now);
    journal_explain(journal, fleet.router, &fleet.request, fleet.now);
    record = journal_find(journal, add(journal, "m"));
    assert_int_equal(record->candidate_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const lbroute_candidate *candidate = &record->candidates[i];
        bool drained = candidate->target == fleet.targets[1];

        assert_int_equal(candidate->verdict, drained ? LBROUTE_REASON_DRAINING
                                                     : LBROUTE_REASON_NONE);
        if (drained)
            assert_string_equal(record->candidate_names[i], "B");
    }
    assert_int_equal(journal_find(journal, add(journal, "m"))->candidate_count,
                     0);
    journal_destroy(journal);
    fleet_close(&fleet);
}

static void test_explaining_has_no_effect(void **state)
{
    struct journal *journal = journal_create(4, 5.0);
    struct fleet fleet;
    lbroute_stats before, after;

    (void)state;
    fleet_open(&fleet, "random", 5, 1);
    lbroute_stats_init(&before, sizeof(before));
    lbroute_stats_init(&after, sizeof(after));
    lbroute_get_stats(fleet.router, &before);
    for (int i = 0; i < 20; i++)
        journal_explain(journal, fleet.router, &fleet.request, fleet.now);
    lbroute_get_stats(fleet.router, &after);
    assert_memory_equal(&before, &after, sizeof(before));
    journal_destroy(journal);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_go_up_and_old_ones_go),
        cmocka_unit_test(test_a_record_can_be_completed),
        cmocka_unit_test(test_another_size_keeps_the_newest),
        cmocka_unit_test(test_without_room_it_only_counts),
        cmocka_unit_test(test_so_many_are_explained),
        cmocka_unit_test(test_an_explanation_goes_into_the_next_record),
        cmocka_unit_test(test_explaining_has_no_effect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
