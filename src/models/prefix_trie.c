/* SPDX-License-Identifier: MIT */
#include "models/prefix_trie_upkeep.h"

#include <string.h>

#define CHUNK_BITS 6
#define MOST_RECORDS 16777215U
#define TEXT_CHUNK ((size_t)32 * 1024)
_Static_assert(4 * (LBR_TRIE_LONGEST_RUN + sizeof(struct lbr_trie_text) + 24) <=
                   TEXT_CHUNK - 64,
               "four of the longest runs fit into a chunk");
/* Records that even the smallest trie may keep. */
#define FIRST_RECORDS ((size_t)32 * 1024)
/* A node, a hold, and an entry for each in tables that are at least 3/8 full:
 * as much as they take where pointers have 64 bits, so that a budget is worth
 * the same everywhere and decisions do not depend on the machine. */
#define RECORDS ((size_t)261)
_Static_assert(sizeof(struct lbr_trie_node) + sizeof(struct lbr_trie_hold) +
                       2 * sizeof(struct lbr_map_entry) * 8 / 3 <=
                   RECORDS,
               "that pays for them");

static size_t shorter(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A sixteenth of the text for gaps between texts. */
size_t lbr_trie_cost(size_t bytes)
{
    size_t text = lbr_arena_cost(sizeof(struct lbr_trie_text) + bytes);

    return text + text / 16 + RECORDS;
}

void lbr_trie_init(struct lbr_trie *trie, struct lbr_memory *memory,
                   uint32_t unit, uint32_t kind, uint64_t secret)
{
    lbr_trie_init_stakes(trie, memory, unit, kind, secret, NULL);
}

void lbr_trie_init_stakes(struct lbr_trie *trie, struct lbr_memory *memory,
                          uint32_t unit, uint32_t kind, uint64_t secret,
                          const struct lbr_trie_stakes *stakes)
{
    memset(trie, 0, sizeof *trie);
    trie->unit = unit;
    trie->secret = secret;
    trie->stakes = stakes;
    lbr_arena_init(&trie->texts, memory, TEXT_CHUNK);
    lbr_memory_init_part(&trie->records, memory, 0);
    lbr_slab_init(&trie->nodes, &trie->records, kind,
                  sizeof(struct lbr_trie_node), CHUNK_BITS, MOST_RECORDS);
    lbr_slab_init(&trie->holds, &trie->records, kind,
                  stakes ? stakes->hold_size : sizeof(struct lbr_trie_hold),
                  CHUNK_BITS, MOST_RECORDS);
    lbr_map_init(&trie->children, &trie->records);
    lbr_map_init(&trie->held, &trie->records);
    lbr_list_init(&trie->pending);
    lbr_list_init(&trie->over);
}

void lbr_trie_destroy(struct lbr_trie *trie)
{
    lbr_arena_destroy(&trie->texts);
    lbr_slab_destroy(&trie->nodes);
    lbr_slab_destroy(&trie->holds);
    lbr_map_destroy(&trie->children);
    lbr_map_destroy(&trie->held);
}

void lbr_trie_owner_init(struct lbr_trie_owner *owner, uint32_t number)
{
    memset(owner, 0, sizeof *owner);
    lbr_list_init(&owner->holds);
    owner->number = number;
}

/* ---- finding ---- */

/* Bytes that |a| and |b| have in common, whole symbols; |same| are known to be:
 * large steps as long as they are equal, then smaller ones. Mostly all are. */
static size_t common(const struct lbr_trie *trie, const unsigned char *a,
                     const unsigned char *b, size_t same, size_t length)
{
    static const size_t steps[] = {4096, 512, 64, 8, 1};
    size_t i;

    for (i = 0; same < length && i < sizeof steps / sizeof steps[0]; i++) {
        size_t step = shorter(steps[i], length - same);

        while (step && memcmp(a + same, b + same, step) == 0) {
            same += step;
            step = shorter(steps[i], length - same);
        }
    }
    return same - same % trie->unit;
}

static inline struct lbr_trie_match find_from(const struct lbr_trie *trie,
                                              struct lbr_trie_match match,
                                              uint64_t root,
                                              const unsigned char *prompt,
                                              size_t length, size_t deepest)
{
    size_t done = 0;

    while (done < length) {
        struct lbr_trie_node *child =
            lbr_trie_child(trie, match.node, root, prompt + done);
        size_t same;

        match.deep = child && !deepest--;
        if (!child || match.deep)
            break;
        same = common(trie, lbr_trie_run(child), prompt + done, trie->unit,
                      shorter(child->length, length - done));
        match.node = child;
        done += same;
        if (same < child->length)
            break;
    }
    match.matched += done;
    return match;
}

struct lbr_trie_match lbr_trie_find(const struct lbr_trie *trie, uint64_t root,
                                    const void *bytes, size_t length)
{
    struct lbr_trie_match nothing = {NULL, 0, 0};

    return find_from(trie, nothing, root, bytes, length, LBR_TRIE_DEEPEST);
}

struct lbr_trie_match lbr_trie_find_below(const struct lbr_trie *trie,
                                          struct lbr_trie_node *node,
                                          uint64_t root, const void *bytes,
                                          size_t length)
{
    struct lbr_trie_match match = {node, node ? node->start + node->length : 0,
                                   0};

    return find_from(trie, match, root, bytes, length, SIZE_MAX);
}

int lbr_trie_holds(const struct lbr_trie *trie,
                   const struct lbr_trie_node *node,
                   const struct lbr_trie_owner *owner)
{
    return lbr_trie_find_hold(trie, node, owner) != NULL;
}

size_t lbr_trie_held(const struct lbr_trie *trie, struct lbr_trie_match match,
                     const struct lbr_trie_owner *owner)
{
    const struct lbr_trie_node *node = match.node;

    while (node && !lbr_trie_holds(trie, node, owner))
        node = node->parent;
    return node ? lbr_trie_depth(match, node) : 0;
}

/* ---- what requests have in common ---- */

static uint32_t epoch_of(const struct lbr_trie *trie)
{
    return trie->requests / LBR_TRIE_EPOCH;
}

/* That of the last complete epoch. */
double lbr_trie_traffic(const struct lbr_trie *trie,
                        const struct lbr_trie_node *node)
{
    uint32_t uses = 0;

    if (node->uses.epoch == epoch_of(trie))
        uses = node->uses.before;
    else if (node->uses.epoch + 1 == epoch_of(trie))
        uses = node->uses.now;
    return (double)uses / LBR_TRIE_EPOCH;
}

void lbr_trie_note_request(struct lbr_trie *trie, struct lbr_trie_node *node)
{
    uint32_t epoch = epoch_of(trie);

    for (; node; node = node->parent) {
        struct lbr_trie_uses *uses = &node->uses;

        if (uses->epoch != epoch) {
            uses->before = uses->epoch + 1 == epoch ? uses->now : 0;
            uses->now = 0;
            uses->epoch = epoch;
        }
        uses->now++;
    }
    trie->requests++;
}

size_t lbr_trie_common_head(const struct lbr_trie *trie,
                            struct lbr_trie_match match, size_t length,
                            double part)
{
    const struct lbr_trie_node *node = match.node;

    if (match.matched == length)
        return 0;
    while (node && lbr_trie_traffic(trie, node) < part)
        node = node->parent;
    return node ? lbr_trie_depth(match, node) : 0;
}

/* ---- recording ---- */

/* Touches what the owner holds of the way to |node|, from the leaf up, and sets
 * `below` on it. Returns the lowest hold; |*missing| receives the highest node
 * that it does not hold, or NULL. */
static struct lbr_trie_hold *touch(struct lbr_trie *trie,
                                   struct lbr_trie_node *node,
                                   struct lbr_trie_owner *owner,
                                   struct lbr_trie_node **missing)
{
    struct lbr_trie_hold *lowest = NULL;

    *missing = NULL;
    if (node)
        node->below = NULL;
    for (; node; node = node->parent) {
        struct lbr_trie_hold *hold = lbr_trie_find_hold(trie, node, owner);

        if (node->parent)
            node->parent->below = node;
        if (!hold) {
            *missing = node;
            continue;
        }
        if (!lowest)
            lowest = hold;
        lbr_trie_place_below(&owner->holds, &hold->recency);
    }
    return lowest;
}

static uint64_t rest_of(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

static uint64_t lower(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t at_least(uint64_t value, uint64_t least)
{
    return value < least ? least : value;
}

/* Texts and records share what all budgets allow, a sixteenth and a chunk more,
 * however fragmented either of them is. Records get no more than seven eighths:
 * they are never given back, and many short prompts must leave something for
 * long ones. Both may begin, whatever the budgets. */
static void set_limits(struct lbr_trie *trie)
{
    uint64_t whole = trie->budgets + trie->budgets / 16 + TEXT_CHUNK;
    uint64_t for_texts =
        at_least(rest_of(whole, trie->records.held), TEXT_CHUNK);
    uint64_t for_records =
        lower(whole - whole / 8, rest_of(whole, lbr_arena_held(&trie->texts)));

    trie->records.limit = at_least(for_records, FIRST_RECORDS);
    lbr_arena_set_limit(&trie->texts,
                        trie->budgets ? (size_t)lower(for_texts, SIZE_MAX) : 0);
}

/* Evicts one hold for want of memory, but nothing as new as |keep|. Returns 0
 * when there is none. */
static int evict_one(struct lbr_trie *trie, struct lbr_trie_owner *owner,
                     const struct lbr_trie_hold *keep)
{
    struct lbr_trie_hold *hold = lbr_trie_oldest(owner);

    if (!hold || hold == keep)
        return 0;
    lbr_trie_evict(trie, hold);
    set_limits(trie);
    return 1;
}

/* Holds |node|, paid for, as the newest but those above it. NULL when it does
 * not fit. */
static struct lbr_trie_hold *hold_next(struct lbr_trie *trie,
                                       struct lbr_trie_node *node,
                                       struct lbr_trie_owner *owner,
                                       struct lbr_trie_hold *above)
{
    struct lbr_trie_hold *hold;

    if (lbr_trie_make_room(trie, owner, lbr_trie_price(node), above) <
        lbr_trie_price(node))
        return NULL;
    while (!(hold = lbr_trie_add_hold(trie, node, owner)))
        if (!evict_one(trie, owner, above))
            return NULL;
    if (above)
        lbr_trie_place_below(&above->recency, &hold->recency);
    owner->charged += lbr_trie_price(node);
    return hold;
}

/* How much of |length| bytes fits behind the |have| that a node has and is paid
 * for (0: a new node), once the oldest holds but |keep| made room. */
static size_t run_that_fits(struct lbr_trie *trie, struct lbr_trie_owner *owner,
                            size_t have, size_t length,
                            const struct lbr_trie_hold *keep)
{
    size_t run = shorter(length, LBR_TRIE_LONGEST_RUN - have);
    size_t paid = have ? lbr_trie_cost(have) : 0;
    size_t cost = lbr_trie_cost(have + run) - paid;
    size_t room = lbr_trie_make_room(trie, owner, cost, keep) + paid;
    size_t least = lbr_trie_cost(have) + 2 * LBR_ARENA_GRANULE;

    if (room < cost + paid)
        run = room > least ? shorter(run, (room - least) / 17 * 16) : 0;
    return run - run % trie->unit;
}

/* The same as lbr_trie_compose(), evicting while there is no memory. */
static struct lbr_trie_text *compose(struct lbr_trie *trie,
                                     const struct lbr_trie_node *node,
                                     const unsigned char *bytes, size_t run,
                                     struct lbr_trie_owner *owner,
                                     const struct lbr_trie_hold *keep)
{
    struct lbr_trie_text *text;

    while (!(text = lbr_trie_compose(trie, node, bytes, run)))
        if (!evict_one(trie, owner, keep))
            return NULL;
    return text;
}

/* Whether a node is a leaf of this owner alone, so that it may simply grow. */
static int may_grow(const struct lbr_trie_node *node,
                    const struct lbr_trie_hold *hold)
{
    return node && hold && hold->node == node && !node->children &&
           node->holder_count == 1 && node->length < LBR_TRIE_LONGEST_RUN;
}

/* Lets the path's last node grow by a run of at most |length| bytes. A
 * conversation that goes on stays one node. Returns the bytes added. */
static size_t grow_leaf(struct lbr_trie *trie, struct lbr_trie_node *node,
                        const unsigned char *bytes, size_t length,
                        struct lbr_trie_owner *owner,
                        const struct lbr_trie_hold *last)
{
    size_t run = run_that_fits(trie, owner, node->length, length, last);
    struct lbr_trie_text *text =
        run ? compose(trie, node, bytes, run, owner, last) : NULL;

    if (!text)
        return 0;
    lbr_trie_replace_text(trie, node, owner, text, (uint32_t)run);
    return run;
}

/* Adds a node of at most |length| bytes below the path's last one, and holds
 * it. Returns the bytes added. */
static size_t add_leaf(struct lbr_trie *trie, struct lbr_trie_match *path,
                       uint64_t root, const unsigned char *bytes, size_t length,
                       struct lbr_trie_owner *owner,
                       struct lbr_trie_hold **last)
{
    size_t run = run_that_fits(trie, owner, 0, length, *last);
    struct lbr_trie_text *text =
        run ? compose(trie, NULL, bytes, run, owner, *last) : NULL;
    struct lbr_trie_node *node;

    if (!text)
        return 0;
    while (!(node = lbr_trie_new_node(trie, path->node, root, path->matched)))
        if (!evict_one(trie, owner, *last)) {
            lbr_arena_give(&trie->texts, text);
            return 0;
        }
    lbr_trie_link(trie, node, text, 0, (uint32_t)run);
    *last = hold_next(trie, node, owner, *last);
    if (!*last) {
        lbr_trie_free_node(trie, node);
        return 0;
    }
    path->node = node;
    return run;
}

/* Takes up the rest of a prompt as far as it fits. */
static void append(struct lbr_trie *trie, struct lbr_trie_match *path,
                   uint64_t root, const unsigned char *prompt, size_t length,
                   struct lbr_trie_owner *owner, struct lbr_trie_hold *last)
{
    while (path->matched < length) {
        const unsigned char *rest = prompt + path->matched;
        size_t left = length - path->matched;
        size_t run = may_grow(path->node, last)
                         ? grow_leaf(trie, path->node, rest, left, owner, last)
                         : add_leaf(trie, path, root, rest, left, owner, &last);

        if (!run)
            return;
        path->matched += run;
    }
}

void lbr_trie_set_budget(struct lbr_trie *trie, struct lbr_trie_owner *owner,
                         size_t budget)
{
    if (owner->budget != budget) {
        trie->budgets -= owner->budget;
        owner->budget = (size_t)lower(budget, UINT64_MAX / 2 - trie->budgets);
        trie->budgets += owner->budget;
    }
    set_limits(trie);
}

/* Leaves room for the split that the next record may begin with: by then it is
 * too late to evict, since the match must stay as it was found. */
static void spare_one(struct lbr_trie *trie, struct lbr_trie_owner *owner)
{
    while (lbr_slab_reserve(&trie->nodes) || lbr_slab_reserve(&trie->holds) ||
           !lbr_map_reserve(&trie->children) || !lbr_trie_reserve_hold(trie))
        if (!evict_one(trie, owner, NULL))
            return;
}

void lbr_trie_record(struct lbr_trie *trie, struct lbr_trie_match path,
                     uint64_t root, const void *bytes, size_t length,
                     struct lbr_trie_owner *owner, size_t budget)
{
    struct lbr_trie_node *missing;
    struct lbr_trie_hold *last;
    int fits;

    lbr_trie_set_budget(trie, owner, budget);
    fits = !path.deep && lbr_trie_cut(trie, &path);
    last = touch(trie, path.node, owner, &missing);
    for (; missing; missing = missing->below) {
        struct lbr_trie_hold *hold = hold_next(trie, missing, owner, last);

        if (!hold) {
            fits = 0;
            break;
        }
        last = hold;
    }
    if (fits)
        append(trie, &path, root, bytes, length, owner, last);
    lbr_trie_note_request(trie, path.node);
    (void)lbr_trie_make_room(trie, owner, 0, NULL);
    if (trie->nodes.live)
        spare_one(trie, owner);
    lbr_trie_settle(trie);
}

void lbr_trie_purge(struct lbr_trie *trie, struct lbr_trie_owner *owner)
{
    struct lbr_trie_hold *hold;

    while ((hold = lbr_trie_oldest(owner)) != NULL)
        lbr_trie_evict(trie, hold);
    if (owner->over.next)
        lbr_list_remove(&owner->over);
    owner->over.next = NULL;
    lbr_trie_set_budget(trie, owner, 0);
    lbr_trie_settle(trie);
}
