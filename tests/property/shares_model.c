/* SPDX-License-Identifier: MIT */
#include "shares_model.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "shares_check.h"

enum { KIND = 6, NOBODY = SHARES_CLIENTS };

static const double whole = 4294967296.0;

/* Rounding of charges: one 2^-32 a block. */
static const double tolerance = 1e-5;

void shares_model_open(struct shares_model *model, size_t owners,
                       struct lbr_share_rules rules)
{
    lbroute_router_options options;

    memset(model, 0, sizeof *model);
    lbroute_router_options_init(&options, sizeof options);
    heap_attach(&model->heap, &options);
    lbr_memory_init(&model->memory, &options.allocator);
    lbr_shared_init(&model->trie, &model->memory, KIND, 1);
    model->rules = rules;
    model->owner_count = owners;
    for (size_t i = 0; i < owners; i++)
        lbr_shared_owner_init(&model->owners[i], (uint32_t)i * 7 + 1);
}

void shares_model_close(struct shares_model *model)
{
    for (size_t i = 0; i < model->prompt_count; i++) {
        free(model->prompts[i].blocks);
        free(model->prompts[i].prefixes);
    }
    for (size_t i = 0; i < model->owner_count; i++)
        lbr_shared_purge(&model->trie, &model->owners[i]);
    CHECK_U(model->trie.trie.nodes.live, 0);
    CHECK_U(model->trie.trie.holds.live, 0);
    CHECK_U(model->trie.claims.live, 0);
    CHECK_U(model->trie.accounts.live, 0);
    CHECK_U(lbr_arena_used(&model->trie.trie.texts), 0);
    lbr_shared_destroy(&model->trie);
    CHECK_U(model->memory.held, 0);
    CHECK_U(model->heap.live, 0);
}

/* ---- prompts ---- */

int shares_model_has_place(const struct shares_model *model, size_t length)
{
    return model->prompt_count < SHARES_PROMPTS &&
           model->prefix_count + length <= SHARES_PREFIXES;
}

static size_t in_common(const struct shares_prompt *a, uint64_t root,
                        const uint64_t *blocks, size_t length)
{
    size_t same = 0;

    while (a->root == root && same < length && same < a->length &&
           a->blocks[same] == blocks[same])
        same++;
    return same;
}

/* Numbers the prefixes; those that a known prompt has keep their number. */
static void number_prefixes(struct shares_model *model,
                            struct shares_prompt *prompt)
{
    size_t known = 0;

    for (size_t i = 0; i < model->prompt_count; i++) {
        const struct shares_prompt *other = &model->prompts[i];
        size_t same =
            in_common(other, prompt->root, prompt->blocks, prompt->length);

        if (same <= known)
            continue;
        memcpy(prompt->prefixes, other->prefixes,
               same * sizeof *prompt->prefixes);
        known = same;
    }
    for (; known < prompt->length; known++) {
        uint32_t number = model->prefix_count++;

        prompt->prefixes[known] = number;
        model->parents[number] = known ? prompt->prefixes[known - 1] + 1 : 0;
    }
}

size_t shares_model_prompt(struct shares_model *model, uint64_t root,
                           const uint64_t *blocks, size_t length)
{
    size_t number = model->prompt_count;
    struct shares_prompt *prompt = &model->prompts[number];

    for (size_t i = 0; i < number; i++)
        if (model->prompts[i].length == length &&
            model->prompts[i].root == root &&
            memcmp(model->prompts[i].blocks, blocks, 8 * length) == 0)
            return i;
    CHECK(shares_model_has_place(model, length));
    prompt->root = root;
    prompt->length = length;
    prompt->blocks = malloc(8 * length);
    prompt->prefixes = malloc(sizeof *prompt->prefixes * length);
    CHECK(prompt->blocks && prompt->prefixes);
    memcpy(prompt->blocks, blocks, 8 * length);
    number_prefixes(model, prompt);
    model->prompt_count++;
    return number;
}

/* ---- reading the trie ---- */

static uint64_t digest_of(size_t client)
{
    return client * UINT64_C(0x9e3779b97f4a7c15);
}

static size_t client_of(const struct lbr_account *account)
{
    size_t client = 0;

    while (client < NOBODY && digest_of(client) != account->client)
        client++;
    CHECK(client < NOBODY);
    return client;
}

static int is_on_path(const struct shares_prompt *prompt,
                      const struct lbr_trie_node *node)
{
    if (prompt->root != node->root ||
        8 * prompt->length < node->start + node->length)
        return 0;
    for (; node; node = node->parent)
        if (memcmp(node->text->at + node->offset,
                   (const char *)prompt->blocks + node->start,
                   node->length) != 0)
            return 0;
    return 1;
}

/* The numbers of the prefixes that end in a node: nothing is held that was
 * not recorded. */
static const uint32_t *prefixes_of(const struct shares_model *model,
                                   const struct lbr_trie_node *node)
{
    for (size_t i = 0; i < model->prompt_count; i++)
        if (is_on_path(&model->prompts[i], node))
            return &model->prompts[i].prefixes[node->start / 8];
    check_failed(__FILE__, __LINE__, "what is held was recorded");
    return NULL;
}

static void read_claim(const struct shares_model *model,
                       const struct lbr_claim *claim, uint32_t rank,
                       uint32_t *ranks)
{
    const struct lbr_trie_node *node = claim->hold->hold.node;
    const uint32_t *prefixes = prefixes_of(model, node);

    for (size_t i = 0; i < node->length / 8; i++) {
        CHECK_U(ranks[prefixes[i]], 0);
        ranks[prefixes[i]] = rank;
    }
}

static uint32_t claimants(const struct shares_view *view, uint32_t prefix)
{
    uint32_t count = 0;

    for (size_t i = 0; i < SHARES_CLIENTS; i++)
        count += view->ranks[i][prefix] > 0;
    return count;
}

static void count_charges(const struct shares_model *model,
                          struct shares_view *view)
{
    for (uint32_t i = 0; i < model->prefix_count; i++) {
        uint32_t count = claimants(view, i);

        view->blocks += count > 0;
        for (size_t j = 0; j < SHARES_CLIENTS; j++)
            if (view->ranks[j][i] > 0)
                view->charges[j] += 1.0 / count;
    }
}

/* No holes in what a client claims. */
static void check_closed(const struct shares_model *model,
                         const struct shares_view *view)
{
    for (size_t i = 0; i < SHARES_CLIENTS; i++)
        for (uint32_t j = 0; j < model->prefix_count; j++)
            if (view->ranks[i][j] > 0 && model->parents[j] > 0)
                CHECK(view->ranks[i][model->parents[j] - 1] >=
                      view->ranks[i][j]);
}

static void read_owner(const struct shares_model *model, size_t number,
                       struct shares_view *view)
{
    const struct lbr_shared_owner *owner = &model->owners[number];

    memset(view, 0, sizeof *view);
    view->accounts = owner->account_count;
    for (uint32_t i = 0; i < owner->account_count; i++) {
        const struct lbr_account *account = owner->places[i].account;
        size_t client = client_of(account);
        uint32_t rank = 0;

        view->known[client] = 1;
        for (const struct lbr_link *link = account->claims.next;
             link != &account->claims; link = link->next)
            read_claim(model, LBR_OWNER(link, struct lbr_claim, recency),
                       ++rank, view->ranks[client]);
    }
    count_charges(model, view);
    check_closed(model, view);
    CHECK_U(view->blocks, owner->blocks);
    for (uint32_t i = 0; i < owner->account_count; i++)
        CHECK_NEAR((double)owner->places[i].charge / whole,
                   view->charges[client_of(owner->places[i].account)],
                   tolerance);
}

/* ---- finding ---- */

static size_t leading(const struct shares_prompt *prompt,
                      const struct shares_view *view)
{
    size_t length = 0;

    while (length < prompt->length &&
           claimants(view, prompt->prefixes[length]) > 0)
        length++;
    return length;
}

static void check_find(const struct shares_model *model,
                       const struct shares_prompt *prompt)
{
    struct lbr_trie_match match = lbr_trie_find(
        &model->trie.trie, prompt->root, prompt->blocks, 8 * prompt->length);
    size_t most = 0;

    for (size_t i = 0; i < model->owner_count; i++) {
        size_t held = 8 * leading(prompt, &model->views[i]);

        CHECK_U(
            lbr_trie_held(&model->trie.trie, match, &model->owners[i].owner),
            held);
        most = held > most ? held : most;
    }
    CHECK_U(match.matched, most);
}

/* ---- what a record may change ---- */

/* A record under scrutiny: its owner before and after. */
struct change {
    const struct shares_model *model;
    const struct shares_prompt *prompt;
    const struct shares_view *before, *after;
    size_t client;                       /* whose account got it */
    unsigned char ours[SHARES_PREFIXES]; /* prefixes of the prompt */
    uint64_t since[SHARES_CLIENTS];      /* last heard of before it */
    double share;
    int lost[SHARES_CLIENTS]; /* it lost something */
    int shared;               /* clients have blocks in common */
    int placed;               /* an idle client had to go for its place */
};

static int is_idle(const struct change *change, size_t client)
{
    return client != change->client && change->before->known[client] &&
           change->model->now - change->since[client] >=
               change->model->rules.idle;
}

static int is_active(const struct change *change, size_t client)
{
    return change->after->known[client] && !is_idle(change, client);
}

static void check_guarantee(struct change *change,
                            const struct lbr_shared_owner *owner)
{
    uint32_t count = 0;
    uint32_t active;
    uint64_t guarantee = lbr_shared_guarantee(owner, change->model->now,
                                              &change->model->rules, &active);

    for (size_t i = 0; i < SHARES_CLIENTS; i++)
        count += (uint32_t)is_active(change, i);
    CHECK_U(active, count);
    CHECK_U(owner->active_count, count);
    change->share = (double)change->model->rules.capacity / count;
    CHECK_NEAR((double)guarantee / whole, change->share, tolerance);
    CHECK((double)guarantee * active <=
          (double)change->model->rules.capacity * whole);
}

static void note_losses(struct change *change)
{
    const struct shares_view *before = change->before;
    const struct shares_view *after = change->after;

    for (uint32_t i = 0; i < change->model->prefix_count; i++) {
        change->shared |= claimants(before, i) > 1 || claimants(after, i) > 1;
        for (size_t j = 0; j < SHARES_CLIENTS; j++) {
            int had = before->ranks[j][i] > 0;
            int has = after->ranks[j][i] > 0;

            change->lost[j] |= had && !has;
            CHECK(had || !has || (j == change->client && change->ours[i]));
        }
    }
}

static int has_claims(const struct shares_view *view, size_t client)
{
    return view->charges[client] > 0;
}

/* The most that a client's charge may have been at any time: the others that
 * claim a block before and after did so all along. */
static double highest_charge(const struct change *change, size_t client)
{
    double sum = 0;

    for (uint32_t i = 0; i < change->model->prefix_count; i++) {
        uint32_t count = 1;

        if (!change->before->ranks[client][i])
            continue;
        for (size_t j = 0; j < SHARES_CLIENTS; j++)
            count += j != client && change->before->ranks[j][i] > 0 &&
                     change->after->ranks[j][i] > 0;
        sum += 1.0 / count;
    }
    return sum;
}

/* Those who are silent longer have nothing left; but for a place the account
 * of those who are not told apart is of no use. */
static void check_idle_first(const struct change *change, uint64_t silent_since)
{
    for (size_t i = change->placed ? 1 : 0; i < SHARES_CLIENTS; i++)
        if (is_idle(change, i) && change->since[i] < silent_since)
            CHECK(!has_claims(change->after, i));
}

/* Where nothing is shared, whoever lost had the most, but for a block. */
static void check_highest(const struct change *change, size_t client)
{
    const double *charges = change->after->charges;
    double most = 0;

    for (size_t i = 0; i < SHARES_CLIENTS; i++)
        if (i != change->client && charges[i] > most)
            most = charges[i];
    CHECK(charges[client] + 1 + tolerance >= most);
    CHECK(charges[client] + 1 + tolerance >= change->share);
    CHECK(charges[change->client] <= most + 2 + tolerance);
}

static void check_loss(const struct change *change, size_t client)
{
    if (is_idle(change, client)) {
        check_idle_first(change, change->since[client]);
        return;
    }
    check_idle_first(change, UINT64_MAX);
    if (client == change->client)
        return;
    CHECK(highest_charge(change, client) > change->share);
    if (!change->shared)
        check_highest(change, client);
}

/* What a client lost was the oldest of what it had, ends first. */
static void check_ages(const struct change *change, size_t client)
{
    const uint32_t *ranks = change->before->ranks[client];
    size_t owner = (size_t)(change->before - change->model->views);
    const uint32_t *used = change->model->used[owner][client];
    uint32_t lost_rank = 0, lost_use = 0;
    uint32_t kept_rank = UINT32_MAX, kept_use = UINT32_MAX;

    for (uint32_t i = 0; i < change->model->prefix_count; i++) {
        if (!ranks[i] || (client == change->client && change->ours[i]))
            continue;
        if (change->after->ranks[client][i]) {
            kept_rank = ranks[i] < kept_rank ? ranks[i] : kept_rank;
            kept_use = used[i] < kept_use ? used[i] : kept_use;
        } else {
            lost_rank = ranks[i] > lost_rank ? ranks[i] : lost_rank;
            lost_use = used[i] > lost_use ? used[i] : lost_use;
        }
    }
    CHECK(lost_rank <= kept_rank);
    if (change->model->timely)
        CHECK(lost_use <= kept_use);
}

/* Whether a client has an account that is kept when it is looked for. */
static int has_account(const struct change *change, size_t client)
{
    const struct shares_model *model = change->model;

    return change->before->known[client] &&
           (has_claims(change->before, client) ||
            model->now - change->since[client] < model->rules.idle);
}

static uint32_t told_apart(const struct change *change)
{
    uint32_t count = 0;

    for (size_t i = 1; i < SHARES_CLIENTS; i++)
        count += (uint32_t)has_account(change, i);
    return count;
}

/* A new client takes the place of the one that is silent longest. */
static int took_a_place(const struct change *change, size_t asked)
{
    int gone = 0;

    for (size_t i = 1; i < SHARES_CLIENTS; i++)
        gone |= is_idle(change, i) && !change->after->known[i];
    return gone && asked && !has_account(change, asked) &&
           told_apart(change) >= change->model->rules.most_clients;
}

static void check_losses(const struct change *change)
{
    int any = 0;

    for (size_t i = 0; i < SHARES_CLIENTS; i++) {
        if (change->lost[i])
            check_loss(change, i);
        check_ages(change, i);
        any |= change->lost[i];
    }
    if (any && !change->placed)
        CHECK_U(change->after->blocks, change->model->rules.capacity);
}

/* The prompt was not kept in full: nothing else could go. */
static void check_truncated(const struct change *change)
{
    const struct shares_view *after = change->after;
    size_t client = change->client;

    CHECK_U(after->blocks, change->model->rules.capacity);
    check_idle_first(change, UINT64_MAX);
    for (uint32_t i = 0; i < change->model->prefix_count; i++)
        CHECK(!after->ranks[client][i] || change->ours[i]);
    for (size_t i = 0; i < SHARES_CLIENTS; i++)
        if (i != client)
            CHECK(after->charges[i] <= change->share + tolerance ||
                  after->charges[i] < after->charges[client] + 1 + tolerance);
}

static int is_kept(const struct change *change)
{
    size_t length = change->prompt->length;

    return change->after
               ->ranks[change->client][change->prompt->prefixes[length - 1]] >
           0;
}

/* Those beyond the bound share an account, after all who are idle went. */
static void check_account(const struct change *change, size_t asked)
{
    if (change->client == asked)
        return;
    CHECK(told_apart(change) >= change->model->rules.most_clients);
    for (size_t i = 1; i < SHARES_CLIENTS; i++)
        CHECK(!is_idle(change, i) || !change->after->known[i]);
}

static void check_change(struct change *change, size_t asked,
                         const struct lbr_shared_owner *owner)
{
    note_losses(change);
    change->placed = took_a_place(change, asked);
    CHECK(change->after->blocks <= change->model->rules.capacity);
    check_account(change, asked);
    check_guarantee(change, owner);
    check_losses(change);
    if (!is_kept(change))
        check_truncated(change);
}

/* ---- operations ---- */

static void expect_same(const struct shares_model *model,
                        const struct shares_view *a,
                        const struct shares_view *b)
{
    CHECK_U(a->accounts, b->accounts);
    for (size_t i = 0; i < SHARES_CLIENTS; i++)
        for (uint32_t j = 0; j < model->prefix_count; j++)
            CHECK_U(a->ranks[i][j] > 0, b->ranks[i][j] > 0);
}

/* Reads all owners again; those but one have not changed. */
static void compare(struct shares_model *model, size_t changed)
{
    static struct shares_view now;

    shares_check(&model->trie, model->owners, model->owner_count);
    for (size_t i = 0; i < model->owner_count; i++) {
        read_owner(model, i, &now);
        if (i != changed)
            expect_same(model, &now, &model->views[i]);
        model->views[i] = now;
    }
    for (size_t i = 0; i < model->prompt_count; i++)
        check_find(model, &model->prompts[i]);
}

static void note_use(struct shares_model *model, size_t number, size_t owner,
                     size_t client)
{
    const struct shares_prompt *prompt = &model->prompts[number];

    model->records++;
    model->seen[owner][client] = model->now;
    for (size_t i = 0; i < prompt->length; i++)
        model->used[owner][client][prompt->prefixes[i]] = model->records;
}

static void scrutinise(struct shares_model *model, size_t number, size_t owner,
                       size_t client)
{
    static struct shares_view after;
    static struct change change;
    const struct shares_prompt *prompt = &model->prompts[number];

    read_owner(model, owner, &after);
    memset(&change, 0, sizeof change);
    change.model = model;
    change.prompt = prompt;
    change.before = &model->views[owner];
    change.after = &after;
    change.client = after.known[client] ? client : 0;
    memcpy(change.since, model->seen[owner], sizeof change.since);
    for (size_t i = 0; i < prompt->length; i++)
        change.ours[prompt->prefixes[i]] = 1;
    check_change(&change, client, &model->owners[owner]);
    note_use(model, number, owner, change.client);
}

/* Without memory something may be kept in part, or lost in whole runs; it must
 * still add up. */
static void record_failed(struct shares_model *model, size_t number,
                          size_t owner, size_t client)
{
    static struct shares_view after;

    read_owner(model, owner, &after);
    CHECK(after.blocks <= model->rules.capacity ||
          after.blocks <= model->views[owner].blocks);
    note_use(model, number, owner, after.known[client] ? client : 0);
}

void shares_model_record(struct shares_model *model, size_t number,
                         size_t owner, size_t client)
{
    const struct shares_prompt *prompt = &model->prompts[number];
    uint64_t failures = model->heap.failures;
    struct lbr_trie_match match = lbr_trie_find(
        &model->trie.trie, prompt->root, prompt->blocks, 8 * prompt->length);

    lbr_shared_record(&model->trie, match, prompt->root, prompt->blocks,
                      8 * prompt->length, &model->owners[owner],
                      digest_of(client), model->now, &model->rules);
    if (model->heap.failures > failures)
        record_failed(model, number, owner, client);
    else
        scrutinise(model, number, owner, client);
    compare(model, owner);
}

void shares_model_purge(struct shares_model *model, size_t owner)
{
    lbr_shared_purge(&model->trie, &model->owners[owner]);
    CHECK_U(model->owners[owner].blocks, 0);
    CHECK_U(model->owners[owner].claims, 0);
    CHECK_U(model->owners[owner].account_count, 0);
    CHECK_U(model->owners[owner].owner.charged, 0);
    compare(model, owner);
}
