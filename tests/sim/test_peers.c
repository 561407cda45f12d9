/* SPDX-License-Identifier: MIT */
/*
 * Peers in situations whose right choice follows from the published rule. A
 * block has 100 tokens; ten prompts of ten blocks each share nothing, and the
 * shorter ones are heads of these.
 */
#include <string.h>

#include "replay/host.h"
#include "replay/peers/peer_host.h"
#include "replay/peers/peer_memory.h"

#include "support/test.h"

enum { BLOCK = 100, BLOCKS = 10, FAMILIES = 10, TARGETS = 3 };

struct fixture {
    struct workload work;
    struct fleet_target targets[TARGETS];
    struct fleet_spec fleet;
    struct host_parameter parameters[8];
    size_t parameter_count;
    struct peer_host *host;
    uint32_t matches[TARGETS]; /* What KV events say, in blocks. */
    uint32_t next;             /* The next request. */
    uint64_t now;
};

static int set_up(void **state)
{
    static struct fixture fixture;

    memset(&fixture, 0, sizeof fixture);
    workload_init(&fixture.work, BLOCK);
    for (int i = 0; i < FAMILIES * BLOCKS; i++)
        workload_fresh_id(&fixture.work);
    for (int i = 0; i < TARGETS; i++) {
        fixture.targets[i].spec = engine_spec_at(0);
        fixture.targets[i].cache_tokens = 100000;
        fixture.targets[i].weight = 1.0;
    }
    fixture.fleet = (struct fleet_spec){fixture.targets, TARGETS};
    fixture.now = TEST_S;
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    peer_host_destroy(fixture->host);
    workload_release(&fixture->work);
    return 0;
}

/* A request whose prompt is the head of a family, without a full block behind
 * it. */
static uint32_t add(struct fixture *fixture, uint32_t family, uint32_t tokens)
{
    struct work_request request = {.input_tokens = tokens,
                                   .output_tokens = 11,
                                   .follows = WORK_FOLLOWS_NONE};
    uint32_t ids[BLOCKS];
    struct work_content content = {ids, BLOCKS, NULL, 0};

    for (uint32_t i = 0; i < BLOCKS; i++)
        ids[i] = family * BLOCKS + i;
    workload_add(&fixture->work, &request, &content);
    return (uint32_t)fixture->work.count - 1;
}

static void set(struct fixture *fixture, const char *name, double value)
{
    fixture->parameters[fixture->parameter_count++] =
        (struct host_parameter){name, value};
}

/* The workload must be complete before. */
static void start(struct fixture *fixture, const char *name)
{
    struct peer_host_options options = {
        .rule = peer_rule_find(name, strlen(name)),
        .fleet = &fixture->fleet,
        .parameters = fixture->parameters,
        .parameter_count = fixture->parameter_count,
        .seed = 1,
    };

    assert_non_null(options.rule);
    fixture->host = peer_host_create(&options, &fixture->work);
}

static uint32_t run(void *context, uint32_t target, const uint32_t *ids,
                    uint32_t count)
{
    struct fixture *fixture = context;

    (void)ids;
    return fixture->matches[target] < count ? fixture->matches[target] : count;
}

static void watch(struct fixture *fixture, uint32_t a, uint32_t b, uint32_t c)
{
    fixture->matches[0] = a;
    fixture->matches[1] = b;
    fixture->matches[2] = c;
    peer_host_watch(fixture->host, run, fixture);
}

static uint32_t pick(struct fixture *fixture, uint32_t request)
{
    uint32_t target = UINT32_MAX;

    assert_true(peer_host_pick(fixture->host, request, fixture->now, &target));
    assert_in_range(target, 0, TARGETS - 1);
    return target;
}

static void only(struct fixture *fixture, uint32_t target)
{
    for (uint32_t i = 0; i < TARGETS; i++)
        fixture->targets[i].weight = i == target ? 1.0 : 0.0;
}

static void all(struct fixture *fixture)
{
    for (uint32_t i = 0; i < TARGETS; i++)
        fixture->targets[i].weight = 1.0;
}

/* Takes part no more. */
static void shut(struct fixture *fixture, uint32_t target)
{
    fixture->targets[target].weight = 0.0;
}

/* The request goes there, for there is nothing else. */
static void force(struct fixture *fixture, uint32_t request, uint32_t target)
{
    double weights[TARGETS];

    for (uint32_t i = 0; i < TARGETS; i++)
        weights[i] = fixture->targets[i].weight;
    only(fixture, target);
    assert_int_equal(pick(fixture, request), target);
    for (uint32_t i = 0; i < TARGETS; i++)
        fixture->targets[i].weight = weights[i];
}

static void first_token(struct fixture *fixture, uint32_t request)
{
    peer_host_first_token(fixture->host, request, fixture->now);
}

static void done(struct fixture *fixture, uint32_t request)
{
    peer_host_done(fixture->host, request, 11, fixture->now);
}

/* Requests under way there that are past their prompts. */
static void occupy(struct fixture *fixture, uint32_t first, uint32_t count,
                   uint32_t target)
{
    for (uint32_t i = 0; i < count; i++) {
        force(fixture, first + i, target);
        first_token(fixture, first + i);
    }
}

static uint32_t add_many(struct fixture *fixture, uint32_t count,
                         uint32_t family, uint32_t tokens)
{
    uint32_t first = add(fixture, family, tokens);

    for (uint32_t i = 1; i < count; i++)
        add(fixture, family, tokens);
    return first;
}

static void gauge(struct fixture *fixture, uint32_t target, uint32_t waiting,
                  double usage)
{
    struct peer_gauges gauges = {1, waiting, usage, 1000};

    peer_host_scrape(fixture->host, target, &gauges, fixture->now);
}

static void names_and_sources(void **state)
{
    static const char *const names[] = {"peer:lmetric",    "peer:dynamo",
                                        "peer:llm-d",      "peer:smg",
                                        "peer:rolter",     "peer:rolter-nlms",
                                        "peer:preble",     "peer:longest-match",
                                        "peer:half-match", "peer:prequal"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct peer_rule *rule =
            peer_rule_find(names[i], strlen(names[i]));

        assert_non_null(rule);
        assert_true(rule->text[0] != '\0' && rule->source[0] != '\0');
    }
    assert_null(peer_rule_find("peer:", 5));
    assert_null(peer_rule_find("lmetric", 7));
    assert_non_null(peer_param_find("peer:smg.cache_threshold", 24));
    assert_null(peer_param_find("peer:smg.cache", 14));
    assert_null(peer_param_find("peer:smg", 8));
}

/* Least recently sent first, and of a prompt the tail; a time to live. */
static void memory(void **state)
{
    uint32_t a[] = {0, 1, 2, 3};
    uint32_t b[] = {4, 5, 6};
    struct peer_memory memory;

    (void)state;
    peer_memory_init(&memory, 10, 5, 100);
    peer_memory_add(&memory, a, 4, 0);
    peer_memory_add(&memory, b, 3, 50);
    assert_int_equal(peer_memory_run(&memory, a, 4, 99), 4);
    peer_memory_trim(&memory);
    assert_int_equal(memory.count, 5);
    assert_int_equal(peer_memory_run(&memory, a, 4, 99), 2);
    assert_int_equal(peer_memory_run(&memory, b, 3, 99), 3);
    assert_int_equal(peer_memory_run(&memory, a, 4, 100), 0);
    assert_int_equal(peer_memory_run(&memory, b, 3, 149), 3);
    peer_memory_add(&memory, a, 2, 120);
    memory.capacity = 2;
    peer_memory_trim(&memory);
    assert_int_equal(peer_memory_run(&memory, a, 4, 120), 2);
    assert_int_equal(peer_memory_run(&memory, b, 3, 120), 0);
    peer_memory_release(&memory);
}

/* 200 new × 4 with itself against 1000 × 1 where nobody is; then × 6. */
static void lmetric_is_a_product(void **state)
{
    struct fixture *fixture = *state;
    uint32_t others = add_many(fixture, 4, 1, 500);
    uint32_t asked = add_many(fixture, 2, 0, 1000);

    shut(fixture, 2);
    start(fixture, "peer:lmetric");
    watch(fixture, 8, 0, 0);
    occupy(fixture, others, 3, 0);
    assert_int_equal(pick(fixture, asked), 0);
    first_token(fixture, asked);
    occupy(fixture, others + 3, 1, 0);
    assert_int_equal(pick(fixture, asked + 1), 1);
}

/* A batch that does not count the request: nothing is better than nobody. */
static void lmetric_of_the_current_batch(void **state)
{
    struct fixture *fixture = *state;
    uint32_t other = add(fixture, 1, 500);
    uint32_t asked = add(fixture, 0, 1000);

    shut(fixture, 2);
    set(fixture, "peer:lmetric.own", 0);
    start(fixture, "peer:lmetric");
    watch(fixture, 9, 0, 0);
    occupy(fixture, other, 1, 0);
    assert_int_equal(pick(fixture, asked), 1);
}

/* (500 of the waiting one + 200) × 2 against 1000 × 1. */
static void lmetric_counts_what_waits(void **state)
{
    struct fixture *fixture = *state;
    uint32_t other = add(fixture, 1, 500);
    uint32_t asked = add(fixture, 0, 1000);

    shut(fixture, 2);
    start(fixture, "peer:lmetric");
    watch(fixture, 0, 0, 0);
    force(fixture, other, 0);
    fixture->matches[0] = 8;
    assert_int_equal(pick(fixture, asked), 1);
}

static void lmetric_without_what_waits(void **state)
{
    struct fixture *fixture = *state;
    uint32_t other = add(fixture, 1, 500);
    uint32_t asked = add(fixture, 0, 1000);

    shut(fixture, 2);
    set(fixture, "peer:lmetric.pending", 0);
    start(fixture, "peer:lmetric");
    watch(fixture, 0, 0, 0);
    force(fixture, other, 0);
    fixture->matches[0] = 8;
    assert_int_equal(pick(fixture, asked), 0);
}

/* 2 blocks to prefill + 17 active against 10 + 10, then 2 + 19. */
static void dynamo_adds_prefill_and_active(void **state)
{
    struct fixture *fixture = *state;
    uint32_t other = add(fixture, 1, 700);
    uint32_t more = add(fixture, 2, 200);
    uint32_t asked = add_many(fixture, 2, 0, 1000);

    shut(fixture, 2);
    start(fixture, "peer:dynamo");
    watch(fixture, 0, 0, 0);
    occupy(fixture, other, 1, 0);
    fixture->matches[0] = 8;
    assert_int_equal(pick(fixture, asked), 0);
    first_token(fixture, asked);
    done(fixture, asked);
    fixture->matches[0] = 0;
    occupy(fixture, more, 1, 0);
    fixture->matches[0] = 8;
    assert_int_equal(pick(fixture, asked + 1), 1);
}

/* 17 active blocks would be too many, but the request's ten are among them. */
static void dynamo_counts_shared_blocks_once(void **state)
{
    struct fixture *fixture = *state;
    uint32_t same = add_many(fixture, 2, 0, 1000);
    uint32_t other = add(fixture, 1, 700);

    shut(fixture, 2);
    start(fixture, "peer:dynamo");
    watch(fixture, 0, 0, 0);
    occupy(fixture, same, 1, 0);
    occupy(fixture, other, 1, 0);
    fixture->matches[0] = 8;
    assert_int_equal(pick(fixture, same + 1), 0);
}

/* What waits without a first token is prefill: 4 + 12 against 10 + 10, then
 * 9 + 17. */
static void dynamo_counts_waiting_prefill(void **state)
{
    struct fixture *fixture = *state;
    uint32_t small = add(fixture, 1, 200);
    uint32_t large = add(fixture, 2, 500);
    uint32_t asked = add_many(fixture, 2, 0, 1000);

    shut(fixture, 2);
    start(fixture, "peer:dynamo");
    watch(fixture, 0, 0, 0);
    force(fixture, small, 0);
    fixture->matches[0] = 8;
    assert_int_equal(pick(fixture, asked), 0);
    first_token(fixture, asked);
    done(fixture, asked);
    fixture->matches[0] = 0;
    force(fixture, large, 0);
    fixture->matches[0] = 8;
    assert_int_equal(pick(fixture, asked + 1), 1);
}

/* Without events a prompt is believed for 120 s: 0 + 13 blocks against 10 + 10,
 * then 10 + 13. */
static void dynamo_forgets_in_time(void **state)
{
    struct fixture *fixture = *state;
    uint32_t same = add_many(fixture, 3, 0, 1000);
    uint32_t other = add(fixture, 1, 300);

    shut(fixture, 2);
    start(fixture, "peer:dynamo");
    force(fixture, same, 1);
    first_token(fixture, same);
    done(fixture, same);
    occupy(fixture, other, 1, 1);
    fixture->now += 119 * TEST_S;
    assert_int_equal(pick(fixture, same + 1), 1);
    first_token(fixture, same + 1);
    done(fixture, same + 1);
    fixture->now += 121 * TEST_S;
    assert_int_equal(pick(fixture, same + 2), 0);
}

/* Softmax at a high temperature: nearly alike. */
static void dynamo_temperature(void **state)
{
    struct fixture *fixture = *state;
    uint32_t asked = add_many(fixture, 400, 0, 1000);
    uint32_t taken = 0;

    shut(fixture, 2);
    set(fixture, "peer:dynamo.temperature", 50);
    start(fixture, "peer:dynamo");
    watch(fixture, 8, 0, 0);
    for (uint32_t i = 0; i < 400; i++) {
        taken += pick(fixture, asked + i) == 0;
        first_token(fixture, asked + i);
        done(fixture, asked + i);
    }
    assert_in_range(taken, 160, 240);
}

/* 3 × 1 + 2 × 0 + 2 × 0.5 against 2 × 1 + 2 × 0.6; then 3.8 against 4. */
static void llm_d_adds_weighted_scores(void **state)
{
    struct fixture *fixture = *state;
    uint32_t same = add_many(fixture, 3, 0, 1000);

    shut(fixture, 2);
    start(fixture, "peer:llm-d");
    force(fixture, same, 0);
    gauge(fixture, 0, 6, 0.5);
    gauge(fixture, 1, 2, 0.4);
    assert_int_equal(pick(fixture, same + 1), 0);
    gauge(fixture, 0, 6, 0.6);
    gauge(fixture, 1, 2, 0.0);
    assert_int_equal(pick(fixture, same + 2), 1);
}

/* Queues of equal length are no difference, and half a match is half of it:
 * 1.5 + 2 × 0.2 against 2 × 0.9, then 2 × 0.1. */
static void llm_d_scores_the_matched_part(void **state)
{
    struct fixture *fixture = *state;
    uint32_t first = add(fixture, 0, 500);
    uint32_t second = add(fixture, 1, 500);
    uint32_t asked = add(fixture, 0, 1000);
    uint32_t other = add(fixture, 1, 1000);

    shut(fixture, 2);
    start(fixture, "peer:llm-d");
    force(fixture, first, 0);
    force(fixture, second, 0);
    gauge(fixture, 0, 3, 0.8);
    gauge(fixture, 1, 3, 0.1);
    assert_int_equal(pick(fixture, asked), 0);
    gauge(fixture, 0, 3, 0.9);
    assert_int_equal(pick(fixture, other), 1);
}

/* Ten blocks of 64 tokens are six of 100: the longer prompt pushes the other
 * out. */
static void llm_d_forgets_the_oldest(void **state)
{
    struct fixture *fixture = *state;
    uint32_t first = add(fixture, 0, 500);
    uint32_t second = add(fixture, 1, 600);
    uint32_t asked = add(fixture, 0, 500);

    shut(fixture, 2);
    set(fixture, "peer:llm-d.capacity", 10);
    start(fixture, "peer:llm-d");
    force(fixture, first, 0);
    force(fixture, second, 0);
    gauge(fixture, 0, 0, 0.2);
    gauge(fixture, 1, 0, 0.1);
    assert_int_equal(pick(fixture, asked), 1);
}

/* 0.4 is above 0.3, 0.3 is not. */
static void smg_threshold(void **state)
{
    struct fixture *fixture = *state;
    uint32_t head = add(fixture, 0, 400);
    uint32_t little = add(fixture, 1, 300);
    uint32_t asked = add(fixture, 0, 1000);
    uint32_t other = add(fixture, 1, 1000);

    shut(fixture, 2);
    start(fixture, "peer:smg");
    force(fixture, head, 0);
    force(fixture, little, 0);
    assert_int_equal(pick(fixture, asked), 0);
    assert_int_equal(pick(fixture, other), 1);
}

/* A difference of 64 is none, 65 is one. */
static void smg_balance(void **state)
{
    struct fixture *fixture = *state;
    uint32_t same = add_many(fixture, 66, 0, 1000);
    uint32_t asked = add(fixture, 0, 1000);

    shut(fixture, 2);
    start(fixture, "peer:smg");
    occupy(fixture, same, 64, 0);
    assert_int_equal(pick(fixture, same + 64), 0);
    assert_int_equal(pick(fixture, asked), 1);
}

/* 220 against 150 is less than 1.5 times as many, 226 is more. */
static void smg_balance_is_relative_too(void **state)
{
    struct fixture *fixture = *state;
    uint32_t same = add_many(fixture, 227, 0, 1000);
    uint32_t others = add_many(fixture, 150, 1, 1000);

    shut(fixture, 2);
    start(fixture, "peer:smg");
    occupy(fixture, others, 150, 1);
    occupy(fixture, same, 220, 0);
    assert_int_equal(pick(fixture, same + 220), 0);
    occupy(fixture, same + 221, 5, 0);
    assert_int_equal(pick(fixture, same + 226), 1);
}

/* The prefix belongs to whom it was sent last. */
static void smg_last_tenant(void **state)
{
    struct fixture *fixture = *state;
    uint32_t same = add_many(fixture, 3, 0, 1000);

    start(fixture, "peer:smg");
    force(fixture, same, 1);
    force(fixture, same + 1, 2);
    assert_int_equal(pick(fixture, same + 2), 2);
}

/* The tree is cut at intervals only. */
static void smg_eviction(void **state)
{
    struct fixture *fixture = *state;
    uint32_t same = add_many(fixture, 3, 0, 1000);
    uint32_t other = add(fixture, 1, 1000);

    shut(fixture, 2);
    set(fixture, "peer:smg.max_tree_size", 1000);
    start(fixture, "peer:smg");
    force(fixture, same, 0);
    force(fixture, other, 0);
    fixture->now = 119 * TEST_S;
    assert_int_equal(pick(fixture, same + 1), 0);
    force(fixture, other, 0);
    fixture->now = 121 * TEST_S;
    assert_int_equal(pick(fixture, same + 2), 1);
}

/* Half is enough, less is not; then the first of the least busy. */
static void rolter_threshold(void **state)
{
    struct fixture *fixture = *state;
    uint32_t half = add(fixture, 0, 500);
    uint32_t less = add(fixture, 1, 400);
    uint32_t asked = add(fixture, 0, 1000);
    uint32_t other = add(fixture, 1, 1000);

    start(fixture, "peer:rolter");
    force(fixture, half, 2);
    force(fixture, less, 2);
    assert_int_equal(pick(fixture, asked), 2);
    assert_int_equal(pick(fixture, other), 0);
}

/* 2,800 bytes are 700 tokens. */
static void rolter_forgets(void **state)
{
    struct fixture *fixture = *state;
    uint32_t first = add(fixture, 0, 600);
    uint32_t second = add(fixture, 1, 600);
    uint32_t asked = add(fixture, 0, 600);

    set(fixture, "peer:rolter.capacity", 2800);
    start(fixture, "peer:rolter");
    force(fixture, first, 2);
    force(fixture, second, 2);
    assert_int_equal(pick(fixture, asked), 0);
}

static void teach(struct fixture *fixture, uint32_t request, uint32_t target,
                  uint64_t latency)
{
    force(fixture, request, target);
    fixture->now += latency;
    first_token(fixture, request);
    done(fixture, request);
}

/* Who has taught nothing comes first; then the least prediction. Equal samples
 * of y predict y (1 - 0.5^n): 1 s once is 0.5, 0.8 s three times 0.7. */
static void nlms_predicts(void **state)
{
    struct fixture *fixture = *state;
    uint32_t same = add_many(fixture, 8, 0, 1000);

    start(fixture, "peer:rolter-nlms");
    teach(fixture, same, 0, TEST_S);
    teach(fixture, same + 1, 1, 800 * TEST_MS);
    assert_int_equal(pick(fixture, same + 2), 2);
    fixture->now += 3 * TEST_S;
    first_token(fixture, same + 2);
    done(fixture, same + 2);
    assert_int_equal(pick(fixture, same + 3), 1);
    fixture->now += 800 * TEST_MS;
    first_token(fixture, same + 3);
    done(fixture, same + 3);
    teach(fixture, same + 4, 1, 800 * TEST_MS);
    assert_int_equal(pick(fixture, same + 5), 0);
}

/* 600 of 1000 are cached: there, although others are idle. 500 are not more
 * than the rest: least load. */
static void preble_exploits_and_explores(void **state)
{
    struct fixture *fixture = *state;
    uint32_t head = add(fixture, 0, 600);
    uint32_t half = add(fixture, 1, 500);
    uint32_t others = add_many(fixture, 3, 2, 1000);
    uint32_t asked = add(fixture, 0, 1000);
    uint32_t other = add(fixture, 1, 1000);

    shut(fixture, 2);
    set(fixture, "peer:preble.balance", 1000);
    start(fixture, "peer:preble");
    force(fixture, head, 0);
    force(fixture, half, 0);
    occupy(fixture, others, 1, 0);
    occupy(fixture, others + 1, 1, 1);
    assert_int_equal(pick(fixture, asked), 0);
    assert_int_equal(pick(fixture, other), 1);
}

/* Beyond 1.5 times the lightest load the heaviest target's prefixes move. */
static void preble_rebalances(void **state)
{
    struct fixture *fixture = *state;
    uint32_t same = add_many(fixture, 9, 0, 1000);
    uint32_t others = add_many(fixture, 4, 1, 1000);

    shut(fixture, 2);
    start(fixture, "peer:preble");
    occupy(fixture, others, 4, 1);
    occupy(fixture, same, 5, 0);
    assert_int_equal(pick(fixture, same + 5), 0);
    first_token(fixture, same + 5);
    occupy(fixture, same + 6, 1, 0);
    assert_int_equal(pick(fixture, same + 7), 1);
}

/* What is older than three minutes is no load. */
static void preble_forgets_load(void **state)
{
    struct fixture *fixture = *state;
    uint32_t early = add_many(fixture, 5, 2, 1000);
    uint32_t late = add(fixture, 3, 500);
    uint32_t asked = add(fixture, 0, 1000);

    shut(fixture, 2);
    start(fixture, "peer:preble");
    for (uint32_t i = 0; i < 5; i++) {
        force(fixture, early + i, 0);
        first_token(fixture, early + i);
        done(fixture, early + i);
    }
    fixture->now += 181 * TEST_S;
    force(fixture, late, 1);
    first_token(fixture, late);
    done(fixture, late);
    assert_int_equal(pick(fixture, asked), 0);
}

static void longest_match_ignores_load(void **state)
{
    struct fixture *fixture = *state;
    uint32_t others = add_many(fixture, 50, 1, 1000);
    uint32_t asked = add(fixture, 0, 1000);

    start(fixture, "peer:longest-match");
    watch(fixture, 0, 0, 0);
    occupy(fixture, others, 50, 1);
    watch(fixture, 0, 1, 0);
    assert_int_equal(pick(fixture, asked), 1);
}

static void longest_match_ties_by_load(void **state)
{
    struct fixture *fixture = *state;
    uint32_t others = add_many(fixture, 3, 1, 1000);
    uint32_t asked = add(fixture, 0, 1000);

    start(fixture, "peer:longest-match");
    watch(fixture, 5, 5, 0);
    occupy(fixture, others, 2, 0);
    occupy(fixture, others + 2, 1, 1);
    assert_int_equal(pick(fixture, asked), 1);
}

static void half_match_asks_for_half(void **state)
{
    struct fixture *fixture = *state;
    uint32_t others = add_many(fixture, 5, 1, 1000);
    uint32_t asked = add_many(fixture, 2, 0, 1000);

    shut(fixture, 2);
    start(fixture, "peer:half-match");
    watch(fixture, 0, 0, 0);
    occupy(fixture, others, 4, 0);
    occupy(fixture, others + 4, 1, 1);
    watch(fixture, 4, 0, 0);
    assert_int_equal(pick(fixture, asked), 1);
    watch(fixture, 5, 0, 0);
    assert_int_equal(pick(fixture, asked + 1), 0);
}

/* Answers of 1, 2 and 3 s. */
static void teach_latencies(struct fixture *fixture, uint32_t first)
{
    for (uint32_t i = 0; i < TARGETS; i++) {
        force(fixture, first + i, i);
        fixture->now += (i + 1) * TEST_S;
        first_token(fixture, first + i);
        done(fixture, first + i);
    }
    fixture->now += 2 * TEST_S;
}

/* All are probed. Cold: the fastest, as long as it is. */
static void prequal_takes_the_fastest_cold(void **state)
{
    struct fixture *fixture = *state;
    uint32_t first = add_many(fixture, 3, 0, 1000);
    uint32_t others = add_many(fixture, 5, 0, 1000);
    uint32_t asked = add_many(fixture, 2, 0, 1000);

    set(fixture, "peer:prequal.q_rif", 0.5);
    start(fixture, "peer:prequal");
    teach_latencies(fixture, first);
    assert_int_equal(pick(fixture, asked), 0);
    done(fixture, asked);
    occupy(fixture, others, 5, 0);
    fixture->now += 2 * TEST_S;
    assert_int_equal(pick(fixture, asked + 1), 1);
}

/* All hot: the one with the fewest, however slow. */
static void prequal_takes_the_least_hot(void **state)
{
    struct fixture *fixture = *state;
    uint32_t first = add_many(fixture, 3, 0, 1000);
    uint32_t others = add_many(fixture, 6, 0, 1000);
    uint32_t asked = add(fixture, 0, 1000);

    set(fixture, "peer:prequal.q_rif", 0);
    start(fixture, "peer:prequal");
    teach_latencies(fixture, first);
    occupy(fixture, others, 3, 0);
    occupy(fixture, others + 3, 2, 1);
    occupy(fixture, others + 5, 1, 2);
    fixture->now += 2 * TEST_S;
    assert_int_equal(pick(fixture, asked), 2);
}

/* Ties are broken at random, by the seed. */
static void ties_are_shared(void **state)
{
    struct fixture *fixture = *state;
    uint32_t asked = add_many(fixture, 300, 0, 1000);
    uint32_t count[TARGETS] = {0};

    start(fixture, "peer:longest-match");
    watch(fixture, 0, 0, 0);
    for (uint32_t i = 0; i < 300; i++) {
        count[pick(fixture, asked + i)]++;
        first_token(fixture, asked + i);
        done(fixture, asked + i);
    }
    for (int i = 0; i < TARGETS; i++)
        assert_in_range(count[i], 70, 130);
}

/* Full targets are passed over, and if all are full nobody takes it. */
static void limits(void **state)
{
    struct fixture *fixture = *state;
    uint32_t asked = add_many(fixture, 4, 0, 1000);
    uint32_t target;

    for (uint32_t i = 0; i < TARGETS; i++)
        fixture->targets[i].limit = 1;
    start(fixture, "peer:longest-match");
    watch(fixture, 9, 0, 0);
    assert_int_equal(pick(fixture, asked), 0);
    assert_int_not_equal(pick(fixture, asked + 1), 0);
    assert_int_not_equal(pick(fixture, asked + 2), 0);
    assert_false(
        peer_host_pick(fixture->host, asked + 3, fixture->now, &target));
    done(fixture, asked);
    assert_int_equal(pick(fixture, asked + 3), 0);
    assert_false(peer_host_is_drained(fixture->host));
    only(fixture, TARGETS);
    assert_true(peer_host_is_drained(fixture->host));
    all(fixture);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(names_and_sources),
        CASE(memory),
        CASE(lmetric_is_a_product),
        CASE(lmetric_of_the_current_batch),
        CASE(lmetric_counts_what_waits),
        CASE(lmetric_without_what_waits),
        CASE(dynamo_adds_prefill_and_active),
        CASE(dynamo_counts_shared_blocks_once),
        CASE(dynamo_counts_waiting_prefill),
        CASE(dynamo_forgets_in_time),
        CASE(dynamo_temperature),
        CASE(llm_d_adds_weighted_scores),
        CASE(llm_d_scores_the_matched_part),
        CASE(llm_d_forgets_the_oldest),
        CASE(smg_threshold),
        CASE(smg_balance),
        CASE(smg_balance_is_relative_too),
        CASE(smg_last_tenant),
        CASE(smg_eviction),
        CASE(rolter_threshold),
        CASE(rolter_forgets),
        CASE(nlms_predicts),
        CASE(preble_exploits_and_explores),
        CASE(preble_rebalances),
        CASE(preble_forgets_load),
        CASE(longest_match_ignores_load),
        CASE(longest_match_ties_by_load),
        CASE(half_match_asks_for_half),
        CASE(prequal_takes_the_fastest_cold),
        CASE(prequal_takes_the_least_hot),
        CASE(ties_are_shared),
        CASE(limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
