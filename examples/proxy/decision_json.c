/* SPDX-License-Identifier: MIT */
#include "decision_json.h"

#include "json_parts.h"
#include "labels.h"

/* In dollars. */
static json_t *cost(int64_t pico_dollars)
{
    return pico_dollars < 0 ? json_null()
                            : json_real((double)pico_dollars / 1e12);
}

static json_t *expected(int64_t cost_pusd, int64_t ttft_ns, int64_t total_ns)
{
    json_t *object = json_object();

    json_put(object, "cost_usd", cost(cost_pusd));
    json_put(object, "first_token_ms", json_ms(ttft_ns));
    json_put(object, "total_ms", json_ms(total_ns));
    return object;
}

static json_t *kv(const int64_t blocks[4], int state)
{
    json_t *object = json_object();

    for (int medium = 0; medium < LBROUTE_MEDIUM_COUNT; medium++)
        json_put(object, label_medium(medium), json_known(blocks[medium]));
    json_put(object, "state", json_string(label_kv_state(state)));
    return object;
}

static json_t *reasons(const uint32_t counts[16])
{
    json_t *object = json_object();

    for (int reason = 1; reason < LBROUTE_REASON_COUNT; reason++)
        if (counts[reason] > 0)
            json_put(object, lbroute_reason_name(reason),
                     json_count(counts[reason]));
    return object;
}

static void put_choice(json_t *object, const lbroute_decision *decision)
{
    json_put(object, "target", json_words(decision->target_name));
    json_put(object, "pool", json_words(decision->pool_name));
    json_put(object, "rule", json_string(lbroute_rule_name(decision->rule)));
    json_put(object, "reason",
             json_string(lbroute_reason_name(decision->reason)));
    json_put(object, "reasons", reasons(decision->reasons));
    json_put(object, "candidates", json_count(decision->candidates));
    json_put(object, "eligible", json_count(decision->eligible));
    json_put(object, "bench_ignored", json_boolean(decision->bench_ignored));
}

static void put_load(json_t *object, const lbroute_decision *decision)
{
    json_put(object, "in_flight", json_count(decision->in_flight));
    json_put(object, "limit", json_count(decision->max_concurrency));
    json_put(object, "weight", json_figure(decision->weight));
    json_put(object, "load", json_figure(decision->load));
    json_put(object, "score", json_figure(decision->score));
    json_put(object, "wait_ms", json_ms(decision->wait_ns));
    json_put(object, "queue_ahead", json_count(decision->queue_ahead));
}

void decision_json_put(json_t *object, const lbroute_decision *decision,
                       int result)
{
    json_put(object, "result", json_string(label_result(result)));
    put_choice(object, decision);
    put_load(object, decision);
    json_put(object, "sticky", json_digest(decision->sticky_digest));
    json_put(object, "prefix_matched", json_known(decision->prefix_matched));
    json_put(object, "prefix_total", json_known(decision->prefix_total));
    json_put(object, "expected",
             expected(decision->expected_cost_pusd, decision->expected_ttft_ns,
                      decision->expected_total_ns));
    json_put(object, "kv", kv(decision->kv_blocks, decision->kv_state));
}

json_t *candidate_json(const lbroute_candidate *candidate, const char *name,
                       lbroute_target picked)
{
    json_t *object = json_object();

    json_put(object, "target", json_words(name));
    json_put(object, "picked",
             json_boolean(picked != 0 && candidate->target == picked));
    json_put(object, "verdict",
             json_string(lbroute_reason_name(candidate->verdict)));
    json_put(object, "in_window", json_boolean(candidate->in_window));
    json_put(object, "in_flight", json_count(candidate->in_flight));
    json_put(object, "limit", json_count(candidate->max_concurrency));
    json_put(object, "weight", json_figure(candidate->weight));
    json_put(object, "load", json_figure(candidate->load));
    json_put(object, "relative_load", json_figure(candidate->relative_load));
    json_put(object, "score", json_figure(candidate->score));
    json_put(object, "expected",
             expected(candidate->expected_cost_pusd,
                      candidate->expected_ttft_ns,
                      candidate->expected_total_ns));
    json_put(object, "kv", kv(candidate->kv_blocks, candidate->kv_state));
    return object;
}
