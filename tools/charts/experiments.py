# SPDX-License-Identifier: MIT
"""What the charts of docs/strategies.md show: traffic, and who is compared."""

import collections

MIXED = "3x8b-rtx4090,3x8b-rtxpro6000,3x32b-2xrtxpro6000"
TRUE_WEIGHTS = "3x8b-rtx4090@1,3x8b-rtxpro6000@2,3x32b-2xrtxpro6000@0.64"

# Micro-dollars for a million tokens of input, output and cached input: the
# faster engine of a model is the dearer one.
PRICES = (("8b-rtx4090", 100000, 400000, 50000),
          ("8b-rtxpro6000", 300000, 1200000, 150000),
          ("32b-2xrtxpro6000", 1000000, 4000000, 500000))

# One call of lbroute-replay. |title| says what it replays; |loads| are
# multiples of the workload's own rate, None: this one alone.
Experiment = collections.namedtuple("Experiment", "title arguments loads")

_LOADS = "0.4:1.4:0.2"

EXPERIMENTS = {
    "bursts": Experiment(
        "Bursts of unrelated prompts, eight equal engines",
        ("--workload", "bursts", "--targets", "8"), _LOADS),
    "mixed": Experiment(
        "Bursts of unrelated prompts, engines of three speeds",
        ("--workload", "bursts", "--targets", MIXED,
         "--cache-tokens", "400000"), _LOADS),
    "weights": Experiment(
        "Engines of three speeds, weighted by their true speed",
        ("--workload", "bursts", "--targets", TRUE_WEIGHTS,
         "--cache-tokens", "400000"), _LOADS),
    "chat": Experiment(
        "Chat, engines of three speeds",
        ("--workload", "chat", "--targets", MIXED,
         "--cache-tokens", "400000"), _LOADS),
    "agents": Experiment(
        "Coding agents, eight equal engines",
        ("--workload", "agents", "--targets", "8"), _LOADS),
    "no_sessions": Experiment(
        "Coding agents that send no session id, eight engines",
        ("--workload", "agents", "--targets", "8", "--no-sessions"), _LOADS),
    "shared": Experiment(
        "200 long system prompts, more than a small cache holds",
        ("--workload", "shared", "--targets", "8",
         "--cache-tokens", "150000"), _LOADS),
    "adapters": Experiment(
        "64 LoRA adapters, eight engines with four slots each",
        ("--workload", "shared", "--rate", "8", "--targets", "8",
         "--adapters", "64"), _LOADS),
    "prices": Experiment(
        "Chat on engines of three speeds and prices",
        ("--workload", "chat", "--rate", "14", "--targets", MIXED,
         "--cache-tokens", "400000", "--prices", "PRICES"), None),
}

# A line for each strategy over the loads, by |measure|; |others| are named.
Lines = collections.namedtuple("Lines", "strategy experiment measure others")
# A dot for each strategy: cost and time to first token.
Costs = collections.namedtuple("Costs", "strategy experiment others")
# A bar for each strategy, from the median to the 99th percentile.
Spread = collections.namedtuple("Spread", "name experiment")

# lmcache_aware has none: the replay's engines have no LMCache.
CHARTS = (
    Lines("weighted", "weights", "ttft", ("round_robin",
                                          "least_connections")),
    Lines("round_robin", "bursts", "ttft", ("random", "least_connections")),
    Lines("random", "bursts", "p99", ("round_robin", "power_of_two")),
    Lines("power_of_two", "chat", "ttft", ("random", "least_connections")),
    Lines("least_connections", "chat", "p99", ("weighted", "power_of_two")),
    Lines("consistent_hash", "agents", "ttft", ("sticky_session",
                                                "least_connections")),
    Lines("sticky_session", "agents", "p99", ("consistent_hash",
                                              "least_connections")),
    Lines("cache_aware", "no_sessions", "ttft", ("sticky_session",
                                                 "consistent_hash")),
    Lines("kv_aware", "shared", "hits", ("cache_aware",
                                         "least_connections")),
    Lines("least_work", "chat", "ttft", ("predicted_latency", "cache_aware")),
    Lines("precise_cache_aware", "shared", "ttft", ("cache_aware",
                                                    "least_connections")),
    Lines("lora_aware", "adapters", "ttft", ("cache_aware",
                                             "least_connections")),
    Costs("cheapest", "prices", ("weighted", "pipeline", "least_work")),
    Lines("fastest", "mixed", "ttft", ("weighted", "predicted_latency")),
    Lines("predicted_latency", "mixed", "p99", ("fastest",
                                                "least_connections")),
    Costs("adaptive", "prices", ("weighted", "least_connections", "pipeline",
                                 "cheapest")),
    Lines("pipeline", "chat", "ttft", ("cache_aware", "least_connections")),
    Spread("overview_agents", "agents"),
    Spread("overview_mixed", "mixed"),
)
