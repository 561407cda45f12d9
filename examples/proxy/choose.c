/* SPDX-License-Identifier: MIT */
#include "exchange_parts.h"
#include "gateway.h"
#include "journal.h"
#include "pulse.h"
#include "reply.h"

#include <string.h>

static void wait_for_slot(struct exchange *exchange)
{
    struct gateway *gateway = exchange->gateway;
    exchange->waiting = true;
    gateway->waiting++;
    gateway->counters.queued++;
    pulse_serve(gateway);
}

static void turn_away(struct exchange *exchange, int result,
                      const lbroute_decision *decision)
{
    struct asked_error error = {0};
    if (exchange->attempts) { /* What the engine said is closer to the truth. */
        exchange_give_up(exchange, result, decision);
        return;
    }
    exchange->decision = *decision;
    reply_rejection(decision, result, &error);
    exchange_answer_error(exchange, result, &error);
}

static void act(struct exchange *exchange, int result,
                const lbroute_decision *decision)
{
    if (result == LBROUTE_OK) {
        exchange->decision = *decision;
        exchange->open_ticket = true;
        exchange_send(exchange);
    } else if (result == LBROUTE_ERR_QUEUED) {
        exchange->decision = *decision;
        wait_for_slot(exchange);
    } else {
        turn_away(exchange, result, decision);
    }
}

void exchange_choose(struct exchange *exchange)
{
    struct gateway *gateway = exchange->gateway;
    lbroute_request *wanted = &exchange->wanted;
    lbroute_decision decision;
    uint64_t now = gateway_now();
    wanted->exclude = exchange->tried;
    wanted->exclude_len = exchange->attempts;
    lbroute_decision_init(&decision, sizeof decision);
    if (journal_wants_explanation(gateway->journal, now))
        journal_explain(gateway->journal, gateway->router, wanted, now);
    now = gateway_now();
    int result = lbroute_pick(gateway->router, wanted, now, &decision);
    double took = (double)(gateway_now() - now) * 1e-9;
    exchange_note_decision(exchange, result, &decision, took);
    act(exchange, result, &decision);
}

static void hand_out(struct gateway *gateway, int result,
                     const lbroute_decision *decision)
{
    struct exchange *exchange = (struct exchange *)(uintptr_t)decision->tag;
    exchange->waiting = false;
    gateway->waiting--;
    histogram_add(&gateway->counters.wait, (double)decision->wait_ns * 1e-9);
    exchange_note_decision(exchange, result, decision, 0);
    act(exchange, result, decision);
}

void exchanges_serve_waiting(struct gateway *gateway)
{
    lbroute_decision decision;
    lbroute_decision_init(&decision, sizeof decision);
    for (;;) {
        int result =
            lbroute_next_ready(gateway->router, gateway_now(), &decision);
        if (result != LBROUTE_OK && result != LBROUTE_ERR_SATURATED &&
            result != LBROUTE_ERR_NO_TARGET)
            break;
        hand_out(gateway, result, &decision);
    }
    pulse_arm(gateway);
}
