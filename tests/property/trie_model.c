/* SPDX-License-Identifier: MIT */
#include "trie_model.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "models/prefix_trie_upkeep.h"
#include "trie_check.h"

enum { KIND = 9 };

void trie_model_open(struct trie_model *model, uint32_t unit, size_t owners)
{
    lbroute_router_options options;

    memset(model, 0, sizeof *model);
    lbroute_router_options_init(&options, sizeof options);
    heap_attach(&model->heap, &options);
    lbr_memory_init(&model->memory, &options.allocator);
    lbr_trie_init(&model->trie, &model->memory, unit, KIND, 1);
    model->owner_count = owners;
    for (size_t i = 0; i < owners; i++)
        lbr_trie_owner_init(&model->owners[i], (uint32_t)i * 7 + 1);
}

void trie_model_close(struct trie_model *model)
{
    for (size_t i = 0; i < model->prompt_count; i++)
        free(model->prompts[i].bytes);
    lbr_trie_destroy(&model->trie);
    CHECK_U(model->memory.held, 0);
    CHECK_U(model->heap.live, 0);
}

/* Whole symbols that two prompts have in common, in bytes. */
static size_t in_common(const struct trie_model *model,
                        const struct trie_prompt *a,
                        const struct trie_prompt *b)
{
    size_t same = 0;

    if (a->root != b->root)
        return 0;
    while (same < a->length && same < b->length &&
           a->bytes[same] == b->bytes[same])
        same++;
    return same - same % model->trie.unit;
}

/* ---- what an owner holds ---- */

static struct lbr_trie_match find(const struct trie_model *model, size_t number)
{
    const struct trie_prompt *prompt = &model->prompts[number];
    struct lbr_trie_match match = lbr_trie_find(&model->trie, prompt->root,
                                                prompt->bytes, prompt->length);

    CHECK(match.matched <= prompt->length);
    return match;
}

/* Numbers the holds of an owner's list, in the room that slots have for it. */
static void rank_holds(const struct lbr_trie_owner *owner)
{
    uint32_t rank = 0;

    for (const struct lbr_link *link = owner->holds.next; link != &owner->holds;
         link = link->next)
        LBR_OWNER(link, struct lbr_trie_hold, recency)->slot.spare = ++rank;
}

static void read_path(const struct trie_model *model, size_t owner,
                      size_t prompt, struct trie_path *path)
{
    struct lbr_trie_match match = find(model, prompt);
    const struct lbr_trie_node *node = match.node;
    uint32_t depth = 0;

    while (node && !lbr_trie_holds(&model->trie, node, &model->owners[owner]))
        node = node->parent;
    for (const struct lbr_trie_node *i = node; i; i = i->parent)
        depth++;
    CHECK(depth <= TRIE_DEPTH);
    path->nodes = depth;
    for (; node; node = node->parent) {
        path->ends[--depth] = lbr_trie_depth(match, node);
        path->ranks[depth] =
            lbr_trie_find_hold(&model->trie, node, &model->owners[owner])
                ->slot.spare;
    }
}

static size_t held(const struct trie_path *path)
{
    return path->nodes > 0 ? path->ends[path->nodes - 1] : 0;
}

/* Rank of the node with byte |at|, which is held. */
static uint32_t rank_at(const struct trie_path *path, size_t at)
{
    uint32_t i = 0;

    while (path->ends[i] <= at)
        i++;
    return path->ranks[i];
}

/* ---- prompts ---- */

size_t trie_model_prompt(struct trie_model *model, uint64_t root,
                         const void *bytes, size_t length)
{
    size_t number = model->prompt_count;
    struct trie_prompt *prompt = &model->prompts[number];

    for (size_t i = 0; i < number; i++)
        if (model->prompts[i].root == root &&
            model->prompts[i].length == length &&
            memcmp(model->prompts[i].bytes, bytes, length) == 0)
            return i;
    CHECK(number < TRIE_PROMPTS);
    prompt->root = root;
    prompt->length = length;
    prompt->bytes = malloc(length > 0 ? length : 1);
    CHECK(prompt->bytes);
    memcpy(prompt->bytes, bytes, length);
    for (size_t i = 0; i <= number; i++)
        model->common[i][number] = model->common[number][i] =
            in_common(model, prompt, &model->prompts[i]);
    model->prompt_count++;
    for (size_t i = 0; i < model->owner_count; i++)
        read_path(model, i, number, &model->paths[i][number]);
    return number;
}

/* ---- comparing ---- */

/* When an owner last touched byte |at| of a prompt; 0: never. */
static uint32_t touched(const struct trie_model *model, size_t owner,
                        size_t prompt, size_t at)
{
    uint32_t latest = 0;

    for (size_t i = 0; i < model->prompt_count; i++)
        if (model->common[prompt][i] > at && model->last[owner][i] > latest)
            latest = model->last[owner][i];
    return latest;
}

static size_t recorded(const struct trie_model *model, size_t owner,
                       const size_t common[TRIE_PROMPTS])
{
    size_t most = 0;

    for (size_t i = 0; i < model->prompt_count; i++)
        if (model->last[owner][i] && common[i] > most)
            most = common[i];
    return most;
}

static void check_held(const struct trie_model *model, size_t owner,
                       const size_t common[TRIE_PROMPTS], size_t held)
{
    size_t most = recorded(model, owner, common);

    CHECK_U(held % model->trie.unit, 0);
    if (model->lossy)
        CHECK(held <= most);
    else
        CHECK_U(held, most);
}

/* Ends of what an owner lost and of what it has left, by rank and time. */
struct ages {
    uint32_t lost_rank, left_rank;
    uint32_t lost_time, left_time;
};

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Ancestors are newer, so the first byte lost is the newest of those lost, and
 * the last byte left the oldest of those left. |touched_bytes| of the prompt
 * were recorded just now. */
static void note_ages(const struct trie_model *model, size_t owner,
                      size_t prompt, const struct trie_path *now,
                      size_t touched_bytes, struct ages *ages)
{
    const struct trie_path *before = &model->paths[owner][prompt];
    size_t left = held(now);

    if (left < held(before)) {
        ages->lost_rank = larger(ages->lost_rank, rank_at(before, left));
        ages->lost_time =
            larger(ages->lost_time, touched(model, owner, prompt, left));
    }
    if (left == 0)
        return;
    ages->left_time =
        smaller(ages->left_time, touched(model, owner, prompt, left - 1));
    if (left > touched_bytes && left <= held(before))
        ages->left_rank = smaller(ages->left_rank, rank_at(before, left - 1));
}

/* Whatever is not of the prompt that was recorded stands behind it. */
static void check_newest(const struct trie_model *model, size_t owner,
                         size_t newest)
{
    const struct trie_path *top = &model->paths[owner][newest];

    for (size_t i = 0; held(top) > 0 && i < model->prompt_count; i++) {
        const struct trie_path *path = &model->paths[owner][i];

        if (held(path) > model->common[newest][i])
            CHECK(rank_at(path, held(path) - 1) <= rank_at(top, held(top) - 1));
    }
}

/* Compares and notes what an owner holds, after it recorded |newest|, if that
 * is a prompt. */
static void compare_owner(struct trie_model *model, size_t owner, size_t newest)
{
    struct ages ages = {0, UINT32_MAX, 0, UINT32_MAX};

    rank_holds(&model->owners[owner]);
    for (size_t i = 0; i < model->prompt_count; i++) {
        struct trie_path now;

        read_path(model, owner, i, &now);
        check_held(model, owner, model->common[i], held(&now));
        note_ages(model, owner, i, &now,
                  newest < TRIE_PROMPTS ? model->common[newest][i] : 0, &ages);
        model->paths[owner][i] = now;
    }
    /* A record that ran out of memory touches only a part of its path. */
    if (model->heap.failures > 0)
        return;
    CHECK(ages.lost_rank <= ages.left_rank);
    if (model->timely)
        CHECK(ages.lost_time <= ages.left_time);
    if (newest < TRIE_PROMPTS)
        check_newest(model, owner, newest);
}

/* After a record of |newest| by |owner|, if they are any. */
static void compare(struct trie_model *model, size_t owner, size_t newest)
{
    trie_check(&model->trie, model->owners, model->owner_count);
    for (size_t i = 0; i < model->owner_count; i++)
        compare_owner(model, i, i == owner ? newest : TRIE_PROMPTS);
}

/* ---- operations ---- */

/* A leaf that its owner alone holds grows where it is. */
static size_t room_in(const struct lbr_trie *trie, struct lbr_trie_match match,
                      const struct lbr_trie_owner *owner)
{
    const struct lbr_trie_node *node = match.node;

    if (!node || match.matched < node->start + node->length || node->children ||
        node->holder_count != 1 || !lbr_trie_holds(trie, node, owner))
        return 0;
    return TRIE_RUN - node->length;
}

size_t trie_model_cost(const struct lbr_trie *trie, struct lbr_trie_match match,
                       size_t length, const struct lbr_trie_owner *owner)
{
    const struct lbr_trie_node *node = match.node;
    size_t left = length - match.matched;
    size_t grown = room_in(trie, match, owner);
    size_t cost = 0;

    grown = grown < left ? grown : left;
    left -= grown;
    for (; node; node = node->parent, grown = 0)
        cost +=
            lbr_trie_cost(lbr_trie_depth(match, node) - node->start + grown);
    for (; left > TRIE_RUN; left -= TRIE_RUN)
        cost += lbr_trie_cost(TRIE_RUN);
    return left > 0 ? cost + lbr_trie_cost(left) : cost;
}

/* No further chunk of texts is allowed: the bound on memory comes before what
 * a budget would still pay for. */
static int is_at_limit(const struct lbr_trie *trie)
{
    return trie->texts.held + trie->texts.chunk_bytes > trie->texts.limit;
}

/* Of a prompt that nobody knew, the head fills the budget. */
static void check_head(const struct trie_prompt *prompt, size_t held,
                       size_t budget, const struct lbr_trie *trie)
{
    size_t more = held + 64;
    size_t cost = 0;

    CHECK(held < prompt->length);
    for (; more > TRIE_RUN; more -= TRIE_RUN)
        cost += lbr_trie_cost(TRIE_RUN);
    CHECK(cost + lbr_trie_cost(more) > budget || is_at_limit(trie));
}

void trie_model_record(struct trie_model *model, size_t number, size_t owner,
                       size_t budget)
{
    const struct trie_prompt *prompt = &model->prompts[number];
    struct lbr_trie_match match = lbr_trie_find(&model->trie, prompt->root,
                                                prompt->bytes, prompt->length);
    size_t cost = trie_model_cost(&model->trie, match, prompt->length,
                                  &model->owners[owner]);
    uint64_t failures = model->heap.failures;

    lbr_trie_record(&model->trie, match, prompt->root, prompt->bytes,
                    prompt->length, &model->owners[owner], budget);
    model->last[owner][number] = ++model->now;
    if (budget < TRIE_UNLIMITED || model->heap.failures > failures)
        model->lossy = 1;
    compare(model, owner, number);
    if (model->heap.failures > failures)
        return;
    if (cost <= budget)
        CHECK(held(&model->paths[owner][number]) == prompt->length ||
              is_at_limit(&model->trie));
    else if (!match.node)
        check_head(prompt, held(&model->paths[owner][number]), budget,
                   &model->trie);
}

void trie_model_purge(struct trie_model *model, size_t owner)
{
    lbr_trie_purge(&model->trie, &model->owners[owner]);
    CHECK_U(model->owners[owner].charged, 0);
    memset(model->last[owner], 0, sizeof model->last[owner]);
    memset(model->paths[owner], 0, sizeof model->paths[owner]);
    compare(model, owner, TRIE_PROMPTS);
}

void trie_model_probe(const struct trie_model *model, uint64_t root,
                      const void *bytes, size_t length)
{
    struct trie_prompt probe = {root, length, malloc(length > 0 ? length : 1)};
    size_t common[TRIE_PROMPTS];
    struct lbr_trie_match match;

    CHECK(probe.bytes);
    memcpy(probe.bytes, bytes, length);
    for (size_t i = 0; i < model->prompt_count; i++)
        common[i] = in_common(model, &probe, &model->prompts[i]);
    match = lbr_trie_find(&model->trie, root, probe.bytes, length);
    CHECK(match.matched <= length);
    for (size_t i = 0; i < model->owner_count; i++)
        check_held(model, i, common,
                   lbr_trie_held(&model->trie, match, &model->owners[i]));
    free(probe.bytes);
}
