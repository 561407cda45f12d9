/* SPDX-License-Identifier: MIT */
#include "journal.h"

#include "target_view.h"

#include <stdlib.h>
#include <string.h>

/* A record of a huge fleet keeps the first ones only: the journal is read by
 * people. */
enum { CANDIDATES_MAX = 512 };

struct journal {
    struct journal_record *records; /* Number n at (n - 1) % capacity. */
    size_t capacity;
    uint64_t newest;
    double explain_rate;
    uint64_t explain_next; /* Time from which on another one may be. */
    /* Found by journal_explain(), for the record that follows. */
    lbroute_candidate *candidates;
    char (*names)[64];
    size_t candidate_count;
};

static struct journal_record *slot(const struct journal *journal,
                                   uint64_t number)
{
    return &journal->records[(number - 1) % journal->capacity];
}

static void forget_candidates(lbroute_candidate **candidates,
                              char (**names)[64], size_t *count)
{
    free(*candidates);
    free(*names);
    *candidates = NULL;
    *names = NULL;
    *count = 0;
}

static void forget_record(struct journal_record *record)
{
    forget_candidates(&record->candidates, &record->candidate_names,
                      &record->candidate_count);
    record->number = 0;
}

static void forget_pending(struct journal *journal)
{
    forget_candidates(&journal->candidates, &journal->names,
                      &journal->candidate_count);
}

static void free_records(struct journal *journal)
{
    for (size_t i = 0; i < journal->capacity; i++)
        forget_record(&journal->records[i]);
    free(journal->records);
}

struct journal *journal_create(size_t capacity, double explain_rate)
{
    struct journal *journal = calloc(1, sizeof(*journal));

    if (journal == NULL)
        return NULL;
    journal->records =
        calloc(capacity ? capacity : 1, sizeof(*journal->records));
    if (journal->records == NULL) {
        free(journal);
        return NULL;
    }
    journal->capacity = capacity;
    journal->explain_rate = explain_rate;
    return journal;
}

void journal_destroy(struct journal *journal)
{
    if (journal == NULL)
        return;
    forget_pending(journal);
    free_records(journal);
    free(journal);
}

/* Moves the newest records to a ring of another size. */
static void move_records(struct journal *journal, struct journal *bigger)
{
    uint64_t number = journal->newest;

    while (number > 0 && journal->newest - number < bigger->capacity &&
           journal->newest - number < journal->capacity) {
        struct journal_record *from = slot(journal, number);

        *slot(bigger, number) = *from;
        memset(from, 0, sizeof(*from));
        number--;
    }
}

void journal_resize(struct journal *journal, size_t capacity,
                    double explain_rate)
{
    struct journal other = {.capacity = capacity};

    journal->explain_rate = explain_rate;
    journal->explain_next = 0;
    if (capacity == journal->capacity)
        return;
    other.records = calloc(capacity ? capacity : 1, sizeof(*other.records));
    if (other.records == NULL)
        return; /* The old size serves as well. */
    move_records(journal, &other);
    free_records(journal);
    journal->records = other.records;
    journal->capacity = capacity;
}

bool journal_wants_explanation(struct journal *journal, uint64_t now)
{
    if (journal->capacity == 0 || !(journal->explain_rate > 0.0) ||
        now < journal->explain_next)
        return false;
    journal->explain_next = now + (uint64_t)(1e9 / journal->explain_rate);
    return true;
}

/* Whatever becomes of the target later, the record names it. */
static void name_candidate(lbroute_router *router, lbroute_target target,
                           char name[64])
{
    lbroute_target_info info;

    name[0] = '\0';
    lbroute_target_info_init(&info, sizeof(info));
    if (lbroute_target_get_info(router, target, &info) != LBROUTE_OK)
        return;
    memcpy(name, info.name, 63);
    name[63] = '\0';
}

static bool make_room(struct journal *journal, size_t count)
{
    journal->candidates = calloc(count, sizeof(*journal->candidates));
    journal->names = calloc(count, sizeof(*journal->names));
    if (journal->candidates == NULL || journal->names == NULL) {
        forget_pending(journal);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        lbroute_candidate_init(&journal->candidates[i],
                               sizeof(journal->candidates[i]));
    return true;
}

void journal_explain(struct journal *journal, lbroute_router *router,
                     const lbroute_request *request, uint64_t now)
{
    lbroute_decision decision;
    size_t room, count = 0;

    forget_pending(journal);
    room = target_count(router);
    if (room > CANDIDATES_MAX)
        room = CANDIDATES_MAX;
    if (room == 0 || !make_room(journal, room))
        return;
    lbroute_decision_init(&decision, sizeof(decision));
    lbroute_explain(router, request, now, &decision, journal->candidates, room,
                    &count);
    journal->candidate_count = count < room ? count : room;
    if (journal->candidate_count == 0)
        forget_pending(journal);
    for (size_t i = 0; i < journal->candidate_count; i++)
        name_candidate(router, journal->candidates[i].target,
                       journal->names[i]);
}

uint64_t journal_add(struct journal *journal,
                     const struct journal_record *record)
{
    struct journal_record *place;

    journal->newest++;
    if (journal->capacity == 0)
        return journal->newest;
    place = slot(journal, journal->newest);
    forget_record(place);
    *place = *record;
    place->number = journal->newest;
    place->candidates = journal->candidates;
    place->candidate_names = journal->names;
    place->candidate_count = journal->candidate_count;
    journal->candidates = NULL;
    journal->names = NULL;
    journal->candidate_count = 0;
    return journal->newest;
}

struct journal_record *journal_find(struct journal *journal, uint64_t number)
{
    struct journal_record *record;

    if (number == 0 || journal->capacity == 0)
        return NULL;
    record = slot(journal, number);
    return record->number == number ? record : NULL;
}

uint64_t journal_newest(const struct journal *journal)
{
    return journal->newest;
}
