/* SPDX-License-Identifier: MIT */
/*
 * `pipeline` against a naive model: every score from its definition, over
 * random fleets, weights of scorers, prompts, sessions, adapters, offloaded
 * caches and stages of the host's own, some of which filter or fail.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "prng.h"
#include "residency.h"

enum {
    TARGETS = 8,
    PICKS = 400,
    LONGEST = 40,
    OPEN = 48,
    SESSIONS = 6,
    STAGES = 4,
    LIMIT = 12,
    ADAPTERS = RESIDENCY_ADAPTERS
};

/* Times to live of adapters and of caches' reports; a pick takes up to a
 * fourth. */
#define TTL (2 * MILLISECOND)

/* Scores that differ by less are ties: sums are added up in any order. */
#define TOLERANCE 1e-9

/* Prompts are alike only under the same adapter. */
struct prompt {
    uint32_t adapter; /* ADAPTERS: none */
    size_t length;
    char text[LONGEST];
};

struct target {
    lbroute_target handle;
    double weight;
    int drained;
    uint32_t in_flight;
    size_t known_count;
    struct prompt known[PICKS];
    struct residency residency;
    struct {
        int reported, available;
        double occupancy; /* NaN: unknown */
        uint64_t at;
    } cache;
};

/* A stage gives each target a score that number, place and pick decide. */
struct stage {
    int kind;
    double weight;
    int works; /* in this pick */
};

/* A request, and what the model thinks of it. */
struct question {
    struct prompt prompt;
    uint32_t session;        /* SESSIONS: none */
    size_t excluded;         /* TARGETS: none */
    int64_t input_tokens;    /* -1: not given */
    int64_t lookup[TARGETS]; /* tokens; -1: not listed */
    int eligible[TARGETS];
    double without_pin[TARGETS];
    double pin;
    size_t pinned; /* TARGETS: none */
};

static struct run {
    struct rng rng;
    uint64_t number; /* of the pick */
    lbroute_router *router;
    lbroute_pool pool;
    uint64_t now;
    double session, weight, load, prefix, adapter, occupancy;
    struct target targets[TARGETS];
    struct stage stages[STAGES];
    lbroute_scorer handles[STAGES];
    size_t stage_count;
    size_t open_count;
    struct {
        lbroute_ticket ticket;
        size_t target;
        uint32_t session, adapter;
    } open[OPEN];
    size_t pins[SESSIONS];
    size_t by_pin, by_score, filtered;
    size_t by_lookup, by_room, by_adapter;
} run;

/* --- Stages -------------------------------------------------------------- */

/* Eighths from -2/8 to 10/8; at times 0 for all. */
static double stage_score(size_t stage, size_t place)
{
    uint64_t mixed =
        (run.number * 31 + stage * 7 + place) * UINT64_C(0x9e3779b97f4a7c15);
    if (run.number % 20 == stage)
        return 0;
    return (double)((mixed >> 40) % 13) / 8 - 0.25;
}

static double clamped(double score)
{
    return fmin(1, fmax(0, score));
}

static size_t place_of(lbroute_target target)
{
    size_t place = 0;
    while (place < TARGETS && run.targets[place].handle != target)
        place++;
    CHECK(place < TARGETS);
    return place;
}

static int score(void *user, const lbroute_score_request *request,
                 const lbroute_candidate *candidates, size_t count,
                 double *scores)
{
    size_t stage = (size_t)((struct stage *)user - run.stages);
    CHECK_U(request->scorer, run.handles[stage]);
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++)
        scores[i] = stage_score(stage, place_of(candidates[i].target));
    if (run.stages[stage].works)
        return 0;
    if (run.number % 2)
        return -1;
    scores[run.number % count] = run.number % 4 ? (double)NAN : HUGE_VAL;
    return 0;
}

static void add_stage(void)
{
    static const double weights[] = {1, 0.5, 2, 0};
    char name[] = {(char)('a' + run.stage_count), 0};
    struct stage *stage = &run.stages[run.stage_count];
    lbroute_scorer_options options;
    lbroute_scorer_options_init(&options, sizeof options);
    stage->kind = rng_chance(&run.rng, 30);
    stage->weight = weights[rng_below(&run.rng, 4)];
    options.name = name;
    options.name_len = 1;
    options.kind = stage->kind;
    options.weight = stage->weight;
    options.score = score;
    options.user = stage;
    CHECK_I(lbroute_scorer_register(run.router, run.pool, &options,
                                    &run.handles[run.stage_count]),
            LBROUTE_OK);
    run.stage_count++;
}

/* --- The model ----------------------------------------------------------- */

static size_t known_to(size_t place, const struct prompt *prompt)
{
    size_t most = 0;
    for (size_t i = 0; i < run.targets[place].known_count; i++) {
        const struct prompt *known = &run.targets[place].known[i];
        size_t same = 0;
        if (known->adapter != prompt->adapter)
            continue;
        while (same < prompt->length && same < known->length &&
               known->text[same] == prompt->text[same])
            same++;
        most = same > most ? same : most;
    }
    return most;
}

static double load_of(size_t place)
{
    return run.targets[place].in_flight / run.targets[place].weight;
}

static double lowest_load(const struct question *question)
{
    double lowest = HUGE_VAL;
    for (size_t i = 0; i < TARGETS; i++) {
        if (question->eligible[i])
            lowest = fmin(lowest, load_of(i));
    }
    return lowest;
}

static int in_window(const struct question *question, size_t place)
{
    double lowest = lowest_load(question);
    return question->eligible[place] &&
           (load_of(place) <= lowest + 2 || load_of(place) <= lowest * 1.5);
}

/* Who passes the router's filters, then those of the host. */
static void set_eligible(struct question *question, int filters)
{
    for (size_t i = 0; i < TARGETS; i++) {
        const struct target *target = &run.targets[i];
        question->eligible[i] = i != question->excluded && !target->drained &&
                                target->in_flight < LIMIT;
        for (size_t j = 0; filters && j < run.stage_count; j++) {
            const struct stage *stage = &run.stages[j];
            if (stage->kind == LBROUTE_SCORER_FILTER && stage->weight > 0 &&
                stage->works && !(stage_score(j, i) > 0))
                question->eligible[i] = 0;
        }
    }
}

static double score_stages(size_t place, double *weights)
{
    double sum = 0;
    *weights = 0;
    for (size_t i = 0; i < run.stage_count; i++) {
        const struct stage *stage = &run.stages[i];
        if (stage->kind != LBROUTE_SCORER_SCORER || !stage->works)
            continue;
        sum += stage->weight * clamped(stage_score(i, place));
        *weights += stage->weight;
    }
    return sum;
}

/* A cache that is known to be lost: off, or not heard of any more. */
static int cache_lost(size_t place)
{
    const struct target *target = &run.targets[place];
    return target->cache.reported &&
           (!target->cache.available || run.now - target->cache.at > TTL);
}

static double longest_match(const struct question *question)
{
    double longest = 0;
    for (size_t i = 0; i < TARGETS; i++) {
        if (question->eligible[i] && !cache_lost(i))
            longest = fmax(longest, (double)question->lookup[i]);
    }
    return longest;
}

/* NaN: unknown. */
static double cache_score(const struct question *question, size_t place)
{
    const struct target *target = &run.targets[place];
    double longest = longest_match(question);
    double total = (double)question->input_tokens;
    if (cache_lost(place) || (longest <= 0 && !target->cache.reported))
        return (double)NAN;
    if (longest <= 0)
        return 1 - target->cache.occupancy;
    if (total < 0)
        total = ceil((double)question->prompt.length / 4);
    return fmax(0, (double)question->lookup[place]) / fmax(total, longest);
}

/* The mean of the known; 0 without any. */
static double mean_cache_score(const struct question *question)
{
    double sum = 0;
    double known = 0;
    for (size_t i = 0; i < TARGETS; i++) {
        double score = cache_score(question, i);
        if (!question->eligible[i] || isnan(score))
            continue;
        sum += score;
        known++;
    }
    return known > 0 ? sum / known : 0;
}

/* What adapters and caches add. */
static double signal_scores(const struct question *question, size_t place)
{
    double cache = cache_score(question, place);
    double score = 0;
    if (question->prompt.adapter < ADAPTERS)
        score += run.adapter * residency_score(&run.targets[place].residency,
                                               question->prompt.adapter,
                                               run.now, TTL);
    if (isnan(cache))
        cache = mean_cache_score(question);
    return score + run.occupancy * cache;
}

static void count_signals(const struct question *question)
{
    int longest = longest_match(question) > 0;
    run.by_lookup += run.occupancy > 0 && longest;
    run.by_room += run.occupancy > 0 && !longest;
    run.by_adapter += run.adapter > 0 && question->prompt.adapter < ADAPTERS;
}

static void set_scores(struct question *question)
{
    double heaviest = 0;
    double stages = 0;
    for (size_t i = 0; i < TARGETS; i++) {
        if (question->eligible[i])
            heaviest = fmax(heaviest, run.targets[i].weight);
    }
    for (size_t i = 0; i < TARGETS; i++) {
        double score = score_stages(i, &stages);
        score += run.weight * run.targets[i].weight / heaviest;
        score += run.load * (lowest_load(question) + 1) / (load_of(i) + 1);
        size_t known = known_to(i, &question->prompt);
        if (known * 20 >= question->prompt.length && known > 0)
            score +=
                run.prefix * (double)known / (double)question->prompt.length;
        score += signal_scores(question, i);
        question->without_pin[i] = score;
    }
    question->pin = run.session * (1 + run.weight + run.load + run.prefix +
                                   run.adapter + run.occupancy + stages);
    question->pinned = TARGETS;
    if (question->session < SESSIONS)
        question->pinned = run.pins[question->session];
}

static double score_of(const struct question *question, size_t place)
{
    return question->without_pin[place] +
           (place == question->pinned ? question->pin : 0);
}

static void check_rule(const struct question *question, size_t place, int rule)
{
    double rival = -1;
    for (size_t i = 0; i < TARGETS; i++) {
        if (i != place && in_window(question, i))
            rival = fmax(rival, question->without_pin[i]);
    }
    if (place != question->pinned || question->pin <= 0) {
        CHECK_I(rule, LBROUTE_RULE_PIPELINE);
        run.by_score++;
    } else if (fabs(rival - question->without_pin[place]) > TOLERANCE) {
        CHECK_I(rule, rival > question->without_pin[place]
                          ? LBROUTE_RULE_STICKY_SESSION
                          : LBROUTE_RULE_PIPELINE);
        run.by_pin += rule == LBROUTE_RULE_STICKY_SESSION;
    }
}

static void check_choice(const struct question *question, size_t place,
                         const lbroute_decision *decision)
{
    uint32_t eligible = 0;
    CHECK(in_window(question, place));
    CHECK_NEAR(decision->score, score_of(question, place), TOLERANCE);
    for (size_t i = 0; i < TARGETS; i++) {
        eligible += question->eligible[i] != 0;
        if (in_window(question, i))
            CHECK(score_of(question, i) <=
                  score_of(question, place) + TOLERANCE);
    }
    CHECK_U(decision->eligible, eligible);
    CHECK_I(decision->prefix_total, question->prompt.length);
    CHECK_U(decision->prefix_matched, known_to(place, &question->prompt));
    check_rule(question, place, decision->rule);
}

/* Nobody is left: by the filters of the host if somebody was before. */
static void check_refusal(struct question *question, int result,
                          const lbroute_decision *decision)
{
    int full = 0;
    int somebody = 0;
    set_eligible(question, 0);
    for (size_t i = 0; i < TARGETS; i++) {
        somebody |= question->eligible[i];
        full |= i != question->excluded && !run.targets[i].drained &&
                run.targets[i].in_flight >= LIMIT;
    }
    CHECK_I(result, full ? LBROUTE_ERR_SATURATED : LBROUTE_ERR_NO_TARGET);
    CHECK_I(decision->reason == LBROUTE_REASON_FILTERED, somebody);
    run.filtered += somebody != 0;
}

static int anybody(const struct question *question)
{
    int found = 0;
    for (size_t i = 0; i < TARGETS; i++)
        found |= question->eligible[i];
    return found;
}

/* --- Random traffic ------------------------------------------------------ */

static void forget_target(size_t place)
{
    struct target *target = &run.targets[place];
    target->known_count = 0;
    target->in_flight = 0;
    target->drained = 0;
    for (size_t i = 0; i < SESSIONS; i++) {
        if (run.pins[i] == place)
            run.pins[i] = TARGETS;
    }
    for (size_t i = 0; i < run.open_count; i++) {
        if (run.open[i].target == place)
            run.open[i].target = TARGETS;
    }
}

static void add(size_t place)
{
    static const double weights[] = {1, 1, 1, 0.5, 2, 3.7};
    char name[] = {(char)('a' + place), 0};
    lbroute_target_options options;
    forget_target(place);
    residency_init(&run.targets[place].residency);
    memset(&run.targets[place].cache, 0, sizeof run.targets[place].cache);
    run.targets[place].weight = weights[rng_below(&run.rng, 6)];
    api_target_options(&options, run.pool, name, run.targets[place].weight);
    options.max_concurrency = LIMIT;
    CHECK_I(lbroute_target_add(run.router, &options, run.now,
                               &run.targets[place].handle),
            LBROUTE_OK);
}

static void draw_weight(const char *name, double *value)
{
    static const double weights[] = {1, 1, 0, 0.3, 2.5, 1000};
    *value = weights[rng_below(&run.rng, 6)];
    api_set(run.router, run.pool, name, *value);
}

static void draw_weights(void)
{
    draw_weight("pipeline.session", &run.session);
    draw_weight("pipeline.weight", &run.weight);
    draw_weight("pipeline.load", &run.load);
    draw_weight("pipeline.prefix", &run.prefix);
    draw_weight("pipeline.adapter", &run.adapter);
    draw_weight("pipeline.occupancy", &run.occupancy);
}

static void start(uint64_t seed)
{
    check_context("pipeline", seed);
    memset(&run, 0, sizeof run);
    rng_seed(&run.rng, seed);
    run.router = api_router(seed);
    run.pool = api_pool(run.router, "pool", "pipeline");
    api_set(run.router, run.pool, "lora_aware.ttl", TTL / 1e9);
    api_set(run.router, run.pool, "lmcache_aware.ttl", TTL / 1e9);
    run.session = run.weight = run.load = run.prefix = 1;
    if (seed % 3)
        draw_weights();
    for (size_t i = 0; i < SESSIONS; i++)
        run.pins[i] = TARGETS;
    for (size_t i = 0; i < TARGETS; i++)
        add(i);
    for (size_t i = (size_t)seed % (STAGES + 1); i > 0; i--)
        add_stage();
}

/* Two letters, so that prompts part at every place. A half goes on where one
 * that somebody knows ends, or is cut off. */
static void draw_prompt(struct prompt *prompt)
{
    const struct target *target = &run.targets[rng_below(&run.rng, TARGETS)];
    memset(prompt, 0, sizeof *prompt);
    prompt->adapter = rng_below(&run.rng, 2 * ADAPTERS);
    if (prompt->adapter > ADAPTERS)
        prompt->adapter = ADAPTERS;
    if (target->known_count > 0 && rng_chance(&run.rng, 60))
        *prompt =
            target->known[rng_below(&run.rng, (uint32_t)target->known_count)];
    prompt->length = rng_below(&run.rng, (uint32_t)prompt->length + 1);
    while (prompt->length < LONGEST && rng_chance(&run.rng, 90))
        prompt->text[prompt->length++] = (char)rng_below(&run.rng, 2);
}

/* What a controller found, of a part of the questions. */
static void draw_lookup(struct question *question)
{
    int asked = rng_chance(&run.rng, 50);
    for (size_t i = 0; i < TARGETS; i++) {
        question->lookup[i] = -1;
        if (asked && rng_chance(&run.rng, 50))
            question->lookup[i] = rng_below(&run.rng, 20);
    }
    question->input_tokens = -1;
    if (rng_chance(&run.rng, 30))
        question->input_tokens = rng_below(&run.rng, 30);
}

static void draw_question(struct question *question)
{
    draw_prompt(&question->prompt);
    draw_lookup(question);
    question->session = rng_below(&run.rng, 3 * SESSIONS);
    question->excluded = rng_below(&run.rng, 6 * TARGETS);
    run.number++;
    for (size_t i = 0; i < run.stage_count; i++)
        run.stages[i].works = rng_chance(&run.rng, 85);
    set_eligible(question, 1);
    if (anybody(question))
        set_scores(question);
}

static const char *const adapter_names[ADAPTERS] = {"p", "q", "r", "s"};

/* The arrays must live as long as the request. */
static void fill_lookup(lbroute_request *request,
                        const struct question *question)
{
    static lbroute_target targets[TARGETS];
    static uint64_t tokens[TARGETS];
    size_t count = 0;
    for (size_t i = TARGETS; i-- > 0;) {
        if (question->lookup[i] < 0)
            continue;
        targets[count] = run.targets[i].handle;
        tokens[count++] = (uint64_t)question->lookup[i];
    }
    request->lookup_targets = targets;
    request->lookup_tokens = tokens;
    request->lookup_len = count;
    request->input_tokens = question->input_tokens;
}

static void fill_request(lbroute_request *request, struct question *question)
{
    static const char *const sessions[SESSIONS] = {"a", "b", "c",
                                                   "d", "e", "f"};
    api_request(request, run.pool);
    request->prompt = question->prompt.text;
    request->prompt_len = question->prompt.length;
    fill_lookup(request, question);
    if (question->prompt.adapter < ADAPTERS) {
        request->adapter = adapter_names[question->prompt.adapter];
        request->adapter_len = 1;
    }
    if (question->session < SESSIONS)
        api_set_session(request, sessions[question->session]);
    if (question->excluded < TARGETS) {
        request->exclude = &run.targets[question->excluded].handle;
        request->exclude_len = 1;
    }
}

/* An explanation gives the scores of all whom the pick ranks. */
static void explain(const lbroute_request *request,
                    const struct question *question, lbroute_decision *decision)
{
    lbroute_candidate rows[TARGETS];
    size_t count = 0;
    int result = api_explain(run.router, request, run.now, decision, rows,
                             TARGETS, &count);
    CHECK_U(count, TARGETS);
    CHECK_I(result == LBROUTE_OK, anybody(question));
    for (size_t i = 0; i < count; i++) {
        size_t place = place_of(rows[i].target);
        CHECK_I(rows[i].verdict == LBROUTE_REASON_NONE,
                question->eligible[place]);
        CHECK_I(rows[i].in_window, in_window(question, place));
        if (question->eligible[place])
            CHECK_NEAR(rows[i].score, score_of(question, place), TOLERANCE);
        else
            CHECK(isnan(rows[i].score));
    }
}

static void remember(size_t place, const struct question *question,
                     lbroute_ticket ticket)
{
    struct target *target = &run.targets[place];
    if (question->prompt.length > 0 &&
        known_to(place, &question->prompt) < question->prompt.length)
        target->known[target->known_count++] = question->prompt;
    target->in_flight++;
    if (question->prompt.adapter < ADAPTERS)
        residency_sent(&target->residency, question->prompt.adapter);
    count_signals(question);
    run.open[run.open_count].ticket = ticket;
    run.open[run.open_count].target = place;
    run.open[run.open_count].adapter = question->prompt.adapter;
    run.open[run.open_count++].session = question->session;
}

static void pick(void)
{
    struct question question;
    lbroute_request request;
    lbroute_decision decision, explained;
    if (run.open_count == OPEN)
        return;
    draw_question(&question);
    fill_request(&request, &question);
    if (rng_chance(&run.rng, 50))
        explain(&request, &question, &explained);
    else
        explained.size = 0;
    lbroute_decision_init(&decision, sizeof decision);
    int result = lbroute_pick(run.router, &request, run.now, &decision);
    if (explained.size)
        api_check_same_decision(&explained, &decision);
    CHECK_I(result == LBROUTE_OK, anybody(&question));
    if (result != LBROUTE_OK) {
        check_refusal(&question, result, &decision);
        return;
    }
    size_t place = place_of(decision.target);
    check_choice(&question, place, &decision);
    remember(place, &question, decision.ticket);
}

static void end_adapter(struct residency *residency, uint32_t adapter,
                        int success)
{
    if (adapter == ADAPTERS)
        return;
    residency_ended(residency, adapter);
    if (success)
        residency_see(residency, adapter, run.now);
}

static void settle(void)
{
    if (run.open_count == 0)
        return;
    size_t at = rng_below(&run.rng, (uint32_t)run.open_count);
    size_t place = run.open[at].target;
    int success = rng_chance(&run.rng, 80);
    api_settle(run.router, run.open[at].ticket,
               success ? LBROUTE_EVENT_SUCCESS : LBROUTE_EVENT_CANCEL, run.now);
    if (place < TARGETS) {
        run.targets[place].in_flight--;
        end_adapter(&run.targets[place].residency, run.open[at].adapter,
                    success);
        if (success && run.open[at].session < SESSIONS)
            run.pins[run.open[at].session] = place;
    }
    run.open[at] = run.open[--run.open_count];
}

/* A list of adapters, complete or of those at work, in order. */
static void report_adapters(struct target *target)
{
    static const size_t lengths[ADAPTERS] = {1, 1, 1, 1};
    int complete = rng_chance(&run.rng, 30);
    int32_t slots = (int32_t)rng_below(&run.rng, ADAPTERS + 1) - 1;
    uint32_t from = rng_below(&run.rng, ADAPTERS);
    uint32_t to = from + rng_below(&run.rng, ADAPTERS - from + 1);
    CHECK_I((complete ? lbroute_set_adapters : lbroute_note_adapters)(
                run.router, target->handle, adapter_names + from, lengths,
                to - from, slots, run.now),
            LBROUTE_OK);
    if (complete)
        residency_forget(&target->residency);
    residency_slots(&target->residency, slots, run.now);
    for (uint32_t i = from; i < to; i++)
        residency_see(&target->residency, i, run.now);
}

static void report_cache(struct target *target)
{
    target->cache.reported = 1;
    target->cache.available = rng_chance(&run.rng, 80);
    target->cache.occupancy = rng_below(&run.rng, 9) / 8.0;
    if (rng_chance(&run.rng, 10))
        target->cache.occupancy = (double)NAN;
    target->cache.at = run.now;
    CHECK_I(lbroute_set_occupancy(run.router, target->handle,
                                  target->cache.occupancy,
                                  target->cache.available, run.now),
            LBROUTE_OK);
}

/* Time passes, and engines are heard of. */
static void hear(void)
{
    run.now += rng_below(&run.rng, TTL / 4);
    if (rng_chance(&run.rng, 40))
        report_adapters(&run.targets[rng_below(&run.rng, TARGETS)]);
    if (rng_chance(&run.rng, 60))
        report_cache(&run.targets[rng_below(&run.rng, TARGETS)]);
}

static void change(void)
{
    size_t place = rng_below(&run.rng, TARGETS);
    struct target *target = &run.targets[place];
    if (rng_chance(&run.rng, 10)) {
        draw_weights();
    } else if (rng_chance(&run.rng, 80)) {
        target->drained = !target->drained;
        CHECK_I(lbroute_target_drain(run.router, target->handle,
                                     target->drained, run.now),
                LBROUTE_OK);
    } else {
        CHECK_I(lbroute_target_remove(run.router, target->handle), LBROUTE_OK);
        add(place);
    }
}

static void every_choice_is_the_naive_one(void **state)
{
    (void)state;
    size_t by_pin = 0;
    size_t by_score = 0;
    size_t filtered = 0;
    size_t by_lookup = 0;
    size_t by_room = 0;
    size_t by_adapter = 0;
    for (uint64_t seed = 1; seed <= scaled(120); seed++) {
        start(seed);
        for (uint64_t i = 0; i < PICKS; i++) {
            check_step(i);
            if (rng_chance(&run.rng, 3))
                change();
            hear();
            pick();
            if (rng_chance(&run.rng, 95))
                settle();
        }
        lbroute_router_destroy(run.router);
        by_pin += run.by_pin;
        by_score += run.by_score;
        filtered += run.filtered;
        by_lookup += run.by_lookup;
        by_room += run.by_room;
        by_adapter += run.by_adapter;
    }
    CHECK(by_pin > scaled(120) * PICKS / 50);
    CHECK(by_score > scaled(120) * PICKS / 4);
    CHECK(filtered > scaled(120) * PICKS / 500);
    CHECK(by_lookup > scaled(120) * PICKS / 10);
    CHECK(by_room > scaled(120) * PICKS / 10);
    CHECK(by_adapter > scaled(120) * PICKS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_is_the_naive_one),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
