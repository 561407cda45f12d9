/* SPDX-License-Identifier: MIT */
/* What targets remember of prompts: a section for each group that does.
 *
 *     kind, block sizes, requests so far, number of runs, number of targets
 *     target, what it holds
 *     target, what it holds
 *     …
 */
#include "containers/sort.h"
#include "models/prefix_trie_saved.h"
#include "models/prefix_trie_upkeep.h"
#include "state/snapshot.h"

/* Bytes of a run and of a target, at least. */
#define LEAST_RUN 6
#define LEAST_OWNER 2

/* What stands before the runs of a group. */
struct head {
    struct lbr_comparison comparison;
    uint32_t requests;
};

/* ---- saving ---- */

static int numbered_before(const void *a, const void *b)
{
    const struct lbr_target *first = a;
    const struct lbr_target *second = b;

    return first->slot.spare < second->slot.spare;
}

static int remembers(const struct lbr_target *target)
{
    return !lbr_list_empty(&target->prefixes.owner.holds) ||
           target->prefixes.account_count;
}

static uint32_t list_members(const struct lbr_group *group, void **members)
{
    uint32_t count = 0;
    uint32_t i;

    for (i = 0; i < group->count; i++)
        if (remembers(group->members[i]))
            members[count++] = group->members[i];
    lbr_sort(members, count, numbered_before);
    return count;
}

static void put_head(struct lbr_writer *writer, const struct lbr_group *group,
                     uint32_t count)
{
    struct lbr_comparison comparison = lbr_group_comparison(group);

    lbr_put_comparison(writer, &comparison);
    lbr_put_u32(writer, group->trie->requests);
    lbr_put_count(writer, group->trie->nodes.live);
    lbr_put_count(writer, count);
}

static void put_group(struct lbr_saving *saving, const struct lbr_group *group,
                      void **members)
{
    uint32_t count = list_members(group, members);
    struct lbr_trie_saving trie;
    uint32_t i;

    if (!count)
        return;
    lbr_section_begin(saving, LBR_SECTION_PREFIXES);
    put_head(saving->writer, group, count);
    lbr_trie_save_begin(&trie, group->trie, saving->writer);
    for (i = 0; i < count; i++) {
        struct lbr_target *member = members[i];

        lbr_put_count(saving->writer, member->slot.spare);
        if (group->trie_kind == LBR_TRIE_SHARED)
            lbr_shared_save_owner(&trie, &member->prefixes);
        else
            lbr_trie_save_owner(&trie, &member->prefixes.owner);
    }
    lbr_section_end(saving);
}

static void save_group(struct lbr_saving *saving, struct lbr_group *group)
{
    struct lbr_memory *memory = &saving->router->memory;
    void **members;

    group->saved_by = saving->router->snapshots;
    members = lbr_memory_new(memory, group->count, sizeof *members);
    if (members)
        put_group(saving, group, members);
    else
        saving->failed = 1;
    lbr_memory_free(memory, members, group->count, sizeof *members);
}

/* Groups come in the order of their first targets. */
void lbr_save_prefixes(struct lbr_saving *saving)
{
    uint32_t i;

    for (i = 0; i < saving->target_count; i++) {
        const struct lbr_target *target = saving->targets[i];
        struct lbr_group *group = target->by_pool.group;

        if (group && group->trie &&
            group->saved_by != saving->router->snapshots)
            save_group(saving, group);
    }
}

/* ---- loading ---- */

static struct head get_head(struct lbr_reader *reader)
{
    struct head head;

    head.comparison = lbr_get_comparison(reader);
    head.requests = lbr_get_u32(reader);
    return head;
}

/* Whether what was saved under |head| means the same to a target that holds
 * nothing yet. */
static int suits(const struct lbr_restored *restored, const struct head *head)
{
    if (!restored->fresh || remembers(restored->target))
        return 0;
    return lbr_group_compares(restored->target->by_pool.group,
                              &head->comparison);
}

/* Goes over to another trie. The first prompts that come into an empty one
 * bring what was counted of them along. */
static void enter_trie(struct lbr_loading *loading,
                       struct lbr_trie_loading *runs, struct lbr_trie *trie,
                       uint32_t requests)
{
    if (runs->trie == trie)
        return;
    if (runs->trie)
        lbr_trie_load_end(runs);
    runs->trie = trie;
    runs->place = ++loading->tries;
    runs->fresh = !trie->nodes.live && !trie->requests;
    if (runs->fresh)
        trie->requests = requests;
}

/* The target that an owner's runs are for; NULL: they are only read. */
static struct lbr_target *choose(struct lbr_loading *loading,
                                 struct lbr_trie_loading *runs, uint32_t number,
                                 const struct head *head)
{
    struct lbr_restored *restored;

    if (loading->stage != LBR_LOAD_TAKE || number >= loading->target_count)
        return NULL;
    restored = &loading->targets[number];
    if (!suits(restored, head))
        return NULL;
    enter_trie(loading, runs, restored->target->by_pool.group->trie,
               head->requests);
    restored->prefixes = 1;
    restored->first = runs->fresh;
    return restored->target;
}

static void load_owner(struct lbr_loading *loading,
                       struct lbr_trie_loading *runs, struct lbr_reader *reader,
                       uint32_t number, const struct head *head)
{
    struct lbr_target *target = choose(loading, runs, number, head);
    const struct lbr_params *params = target ? &target->pool->params : NULL;

    if (head->comparison.kind == LBR_TRIE_SHARED)
        lbr_shared_load_owner(runs, reader, target ? &target->prefixes : NULL,
                              !loading->same_key, params ? &params->kv : NULL);
    else
        lbr_trie_load_owner(runs, reader,
                            target ? &target->prefixes.owner : NULL,
                            params ? params->cache_budget : 0);
}

static void load_owners(struct lbr_loading *loading,
                        struct lbr_trie_loading *runs,
                        struct lbr_reader *reader, const struct head *head)
{
    uint64_t count = lbr_get_number(reader, LEAST_OWNER);
    uint32_t before = 0;
    uint64_t i;

    for (i = 0; i < count && !reader->broken; i++) {
        uint32_t number = lbr_get_target(loading, reader);

        lbr_demand(reader, !i || number > before);
        if (!reader->broken)
            load_owner(loading, runs, reader, number, head);
        before = number;
    }
    lbr_demand(reader, lbr_trie_loading_is_whole(runs));
    if (runs->trie)
        lbr_trie_load_end(runs);
}

void lbr_load_prefixes(struct lbr_loading *loading, struct lbr_reader *reader)
{
    struct lbr_trie_loading runs = {0};
    struct head head = get_head(reader);

    runs.most = (uint32_t)lbr_get_number(reader, LEAST_RUN);
    runs.unit =
        head.comparison.kind == LBR_TRIE_BYTES ? 1 : (uint32_t)LBR_BLOCK;
    if (loading->stage == LBR_LOAD_SET) {
        (void)lbr_get_bytes(reader, reader->left);
        return;
    }
    if (loading->stage == LBR_LOAD_TAKE && runs.most) {
        runs.runs = lbr_memory_new(&loading->router->memory, runs.most,
                                   sizeof *runs.runs);
        if (!runs.runs)
            return;
    }
    load_owners(loading, &runs, reader, &head);
    loading->result->prefix_bytes += runs.added;
    loading->result->prefix_bytes_skipped += runs.dropped;
    if (runs.runs)
        lbr_memory_free(&loading->router->memory, runs.runs, runs.most,
                        sizeof *runs.runs);
}

/* ---- the end of it ---- */

static void keep(struct lbr_target *target)
{
    struct lbr_group *group = target->by_pool.group;

    if (group->trie_kind == LBR_TRIE_SHARED)
        lbr_shared_trim(group->prefixes, &target->prefixes,
                        &target->pool->params.kv);
    else
        lbr_trie_settle(group->trie);
}

/* Before others could have to give way to what is there no more. */
static void unload(struct lbr_target *target)
{
    struct lbr_group *group = target->by_pool.group;

    if (group->trie_kind != LBR_TRIE_SHARED)
        lbr_trie_unload(group->trie, &target->prefixes.owner);
}

static void purge(const struct lbr_restored *restored)
{
    struct lbr_target *target = restored->target;
    struct lbr_group *group = target->by_pool.group;

    if (group->trie_kind == LBR_TRIE_SHARED)
        lbr_shared_purge(group->prefixes, &target->prefixes);
    else
        lbr_trie_purge(group->trie, &target->prefixes.owner);
    if (restored->first)
        group->trie->requests = 0;
}

void lbr_conclude_prefixes(struct lbr_loading *loading, int kept)
{
    uint32_t i;

    for (i = 0; i < loading->target_count; i++)
        if (loading->targets[i].prefixes && kept)
            keep(loading->targets[i].target);
        else if (loading->targets[i].prefixes)
            unload(loading->targets[i].target);
    for (i = 0; i < loading->target_count && !kept; i++)
        if (loading->targets[i].prefixes)
            purge(&loading->targets[i]);
}
