# SPDX-License-Identifier: MIT
"""What prefix affinity is worth, in the replay.

The traces are no part of the repository: their cases are skipped unless
LBROUTE_TRACES is the folder that holds them.

usage: test_affinity.py PROGRAM
"""

import os
import random
import unittest

import replay_case
from replay_case import ReplayCase, request

TRACES = os.environ.get("LBROUTE_TRACES")


def by_strategy(runs):
    return {run["strategy"]: run for run in runs}


def hot_heads(heads, requests, per_second, seed):
    """Prompts of eight shared blocks of 512 tokens and two of their own. The
    session is the head: who pins sessions follows the head for ever."""
    rng = random.Random(seed)
    lines = []
    for i in range(requests):
        head = rng.randrange(heads)
        ids = [head * 8 + block for block in range(8)]
        ids += [heads * 8 + i * 2, heads * 8 + i * 2 + 1]
        lines.append(request(i * 1000 // per_second, 5120, 100, hash_ids=ids,
                             session_id=f"head {head}"))
    return "\n".join(lines)


class Affinity(ReplayCase):
    def test_hot_heads_spread_and_are_found(self):
        """16 system prompts before all requests, 512 targets, some 256 in
        flight: to follow the longest match for ever, as pins of heads do,
        finds every head and makes requests wait."""
        trace = self.trace(hot_heads(16, 20000, 200, 1))
        runs, _, _ = self.runs("--trace", trace, "--targets", "512",
                               "--strategy",
                               "sticky_session,kv_aware,cache_aware")
        runs = by_strategy(runs)
        always = runs.pop("sticky_session")
        for run in runs.values():
            sent = [target["requests"] for target in run["per_target"]]
            self.assertEqual(sum(sent), 20000)
            self.assertLessEqual(max(sent), 8 * 20000 / 512, run["strategy"])
            self.assertGreaterEqual(run["hit_share"],
                                    0.95 * always["hit_share"],
                                    run["strategy"])
            self.assertLess(run["ttft_ms"]["p99"], always["ttft_ms"]["p99"])

    def test_documents_in_turn(self):
        """Nine long documents on two targets with room for five each."""
        runs, _, _ = self.runs("--workload", "documents", "--targets", "2",
                               "--cache-tokens", "55000", "--limit-requests",
                               "45", "--strategy", "weighted,kv_aware,least_work")
        runs = by_strategy(runs)
        self.assertLess(runs.pop("weighted")["hit_share"], 0.05)
        for strategy, affine in runs.items():
            self.assertGreaterEqual(affine["hit_share"], 0.7, strategy)
            self.assertLessEqual(max(target["requests"]
                                     for target in affine["per_target"]), 27)

    def trace_runs(self, name, *arguments, strategies="weighted,kv_aware"):
        runs, _, _ = self.runs("--trace", os.path.join(TRACES, name),
                               *arguments, "--strategy", strategies)
        return by_strategy(runs)

    def assert_affinity_pays(self, name, *arguments):
        """Less time to the first token than without affinity, with either
        fallback, and no target with more than 1.25 of the mean work."""
        runs = self.trace_runs(name, *arguments,
                               strategies="weighted,least_connections,kv_aware")
        by_load = self.trace_runs(name, *arguments, "--param",
                                  "kv_aware.fallback=1", strategies="kv_aware")
        mean = {strategy: run["ttft_ms"]["mean"]
                for strategy, run in runs.items()}
        self.assertLess(mean["kv_aware"], mean["weighted"])
        self.assertLess(by_load["kv_aware"]["ttft_ms"]["mean"],
                        mean["least_connections"])
        for run in (runs["kv_aware"], by_load["kv_aware"]):
            self.assertLessEqual(run["busiest_work_over_mean"], 1.25)

    @unittest.skipUnless(TRACES, "LBROUTE_TRACES is not set")
    def test_conversations(self):
        self.assert_affinity_pays("mooncake_conversation.jsonl.gz",
                                  "--load", "1.6", "--targets", "8",
                                  "--cache-tokens", "500000")

    @unittest.skipUnless(TRACES, "LBROUTE_TRACES is not set")
    def test_mixed_data_sets(self):
        self.assert_affinity_pays("mooncake_synthetic.jsonl.gz",
                                  "--load", "2", "--targets", "8")

    @unittest.skipUnless(TRACES, "LBROUTE_TRACES is not set")
    def test_coding_agents(self):
        self.assert_affinity_pays("claude_code_sessions.jsonl.gz",
                                  "--targets", "16")

    @unittest.skipUnless(TRACES, "LBROUTE_TRACES is not set")
    def test_shared_policy_on_an_idle_fleet(self):
        """Who follows the policy that all sessions begin with leaves seven
        of eight targets idle, and gains nothing by it."""
        runs = self.trace_runs("tau_airline_text.jsonl.xz", "--load", "20",
                               strategies="least_work,cache_aware")
        own, other = runs["least_work"], runs["cache_aware"]
        self.assertLessEqual(own["ttft_ms"]["mean"],
                             1.05 * other["ttft_ms"]["mean"])
        self.assertLessEqual(own["busiest_work_over_mean"], 4)

    @unittest.skipUnless(TRACES, "LBROUTE_TRACES is not set")
    def test_nothing_to_win(self):
        """All hits are system prompts that every target holds."""
        runs = self.trace_runs("ragpulse.jsonl.gz", "--load", "600",
                               "--targets", "4")
        self.assertLessEqual(runs["kv_aware"]["ttft_ms"]["mean"],
                             1.1 * runs["weighted"]["ttft_ms"]["mean"])


if __name__ == "__main__":
    replay_case.main()
