/* SPDX-License-Identifier: MIT */
#include <lbroute/lbroute.h>

const char *lbroute_version(void)
{
    return LBROUTE_VERSION;
}

const char *lbroute_strerror(int code)
{
    static const char *const texts[] = {
        "success",
        "malformed argument: fix the call",
        "out of memory: nothing changed, free some and retry",
        "no such object, or the handle is stale: look it up again or drop it",
        "the name is taken: update the existing object",
        "a bound of the router is reached: settle or remove something, or "
        "create the router with a larger bound",
        "no target may take this request: see the decision's reason",
        "every target that could take the request is full: retry after a "
        "ticket was settled",
        "number out of range: fix the value",
        "bad name: empty, too long or with control characters",
        "buffer too small: grow it to the length given and retry",
        "struct of a newer version: upgrade the library or leave the new "
        "fields zero",
        "busy: still in use, remove what uses it first; or a pick called from "
        "inside one of its own scorers",
        "no news in the text: nothing changed, check what was scraped",
        "bytes of another format, or cut short: nothing changed, request them "
        "again",
        "no slot now: the request waits at its place, ask lbroute_next_ready()",
    };

    if (code > 0 || code <= -(int)(sizeof texts / sizeof texts[0]))
        return "unknown code";
    return texts[-code];
}

const char *lbroute_reason_name(int reason)
{
    static const char *const names[LBROUTE_REASON_COUNT] = {
        "none",       "excluded",  "no_tier",      "drained",    "benched",
        "saturated",  "too_large", "wrong_model",  "no_targets", "filtered",
        "queue_full", "deadline",  "queue_timeout"};

    if (reason < 0 || reason >= LBROUTE_REASON_COUNT)
        return "unknown";
    return names[reason];
}

const char *lbroute_rule_name(int rule)
{
    static const char *const names[LBROUTE_RULE_COUNT] = {
        "none",
        "weighted",
        "round_robin",
        "random",
        "power_of_two",
        "least_connections",
        "consistent_hash",
        "ring_next",
        "sticky_session",
        "cache_aware",
        "least_warmed",
        "kv_aware",
        "pipeline",
        "lora_aware",
        "lora_slot",
        "lmcache_aware",
        "lmcache_room",
        "cheapest",
        "adaptive",
        "explore",
        "fastest",
        "predicted_latency",
        "trial",
        "precise_cache_aware",
        "least_work",
    };

    if (rule < 0 || rule >= LBROUTE_RULE_COUNT)
        return "unknown";
    return names[rule];
}
