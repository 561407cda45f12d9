/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include "../choices.h"

#include <string.h>

/* In the order in which they are listed and run. */
static const struct peer_rule *const rules[] = {
    &peer_lmetric,    &peer_dynamo,      &peer_llm_d,  &peer_smg,
    &peer_rolter,     &peer_rolter_nlms, &peer_preble, &peer_longest_match,
    &peer_half_match, &peer_prequal,
};

const struct peer_rule *peer_rule_at(size_t index)
{
    return index < sizeof rules / sizeof rules[0] ? rules[index] : NULL;
}

const char *peer_rule_name(size_t index)
{
    const struct peer_rule *rule = peer_rule_at(index);

    return rule != NULL ? rule->name : NULL;
}

const struct peer_rule *peer_rule_find(const char *name, size_t length)
{
    const struct peer_rule *rule;

    for (size_t i = 0; (rule = peer_rule_at(i)) != NULL; i++)
        if (choices_is(name, length, rule->name))
            return rule;
    return NULL;
}

const struct peer_param *peer_param_find(const char *name, size_t length)
{
    const char *dot = memchr(name, '.', length);
    const struct peer_rule *rule;
    size_t rest;

    if (dot == NULL)
        return NULL;
    rule = peer_rule_find(name, (size_t)(dot - name));
    rest = length - (size_t)(dot - name) - 1;
    for (size_t i = 0; rule != NULL && i < rule->param_count; i++)
        if (choices_is(dot + 1, rest, rule->params[i].name))
            return &rule->params[i];
    return NULL;
}

static bool is_less(const struct peer_best *best, double score, double second)
{
    return best->ties == 0 || score < best->score ||
           (score == best->score && second < best->second);
}

void peer_best_offer(struct peer_best *best, struct draw *draw, uint32_t target,
                     double score, double second)
{
    if (is_less(best, score, second)) {
        *best = (struct peer_best){target, 1, score, second};
        return;
    }
    if (score > best->score || second > best->second)
        return;
    best->ties++;
    if (draw_below(draw, best->ties) == 0)
        best->target = target;
}
