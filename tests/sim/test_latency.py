# SPDX-License-Identifier: MIT
"""What following latency is worth on a mixed fleet, in the replay.

The traces are no part of the repository: their cases are skipped unless
LBROUTE_TRACES is the folder that holds them.

usage: test_latency.py PROGRAM
"""

import os
import unittest

import replay_case
from replay_case import ReplayCase

TRACES = os.environ.get("LBROUTE_TRACES")

MIXED = "3x8b-rtx4090,3x8b-rtxpro6000,3x32b-2xrtxpro6000"

# The same with the speed of their prefill as weights.
WEIGHTED = "3x8b-rtx4090@1,3x8b-rtxpro6000@2,3x32b-2xrtxpro6000@0.64"

# Room for all the prompts that are under way, on every engine.
CACHES = ["--cache-tokens", "400000"]

WORKLOADS = ["chat", "shared", "agents", "rag", "bursts", "documents"]


class Latency(ReplayCase):
    def by_strategy(self, *arguments):
        runs, _, _ = self.runs(*arguments)
        return {run["strategy"]: run for run in runs}

    def assert_ahead(self, run, rival):
        for measure in ("mean", "p99"):
            self.assertLess(run["ttft_ms"][measure], rival["ttft_ms"][measure],
                            rival["strategy"])

    def assert_mixed_fleet(self, traffic, most_error):
        """predicted_latency is ahead of everybody, those who are told the
        true speeds included, and knows what it predicts, whether engines are
        scraped each 5 s or never."""
        rivals = self.by_strategy(
            *traffic, "--targets", WEIGHTED, *CACHES,
            "--strategy", "weighted,least_connections").values()
        for scrape in ("5", "0"):
            runs = self.by_strategy(
                *traffic, "--targets", MIXED, *CACHES, "--scrape", scrape,
                "--strategy", "weighted,least_connections,fastest,"
                "adaptive,predicted_latency")
            best = runs.pop("predicted_latency")
            for rival in [*rivals, *runs.values()]:
                self.assert_ahead(best, rival)
            self.assertLessEqual(best["prediction_error"], most_error)
            for name in ("fastest", "adaptive"):
                self.assert_no_collapse(runs[name], runs["weighted"])

    def assert_no_collapse(self, run, even):
        self.assertLessEqual(run["ttft_ms"]["p99"],
                             2 * even["ttft_ms"]["p99"], run["strategy"])

    def test_bursts(self):
        self.assert_mixed_fleet(["--workload", "bursts"], 0.15)

    def test_chat(self):
        self.assert_mixed_fleet(["--workload", "chat"], 0.20)

    @unittest.skipUnless(TRACES, "LBROUTE_TRACES is not set")
    def test_azure(self):
        self.assert_mixed_fleet(
            ["--trace", os.path.join(TRACES, "azure_llm_2023_conv.csv.gz"),
             "--load", "6"], 0.15)

    @unittest.skipUnless(TRACES, "LBROUTE_TRACES is not set")
    def test_mooncake(self):
        self.assert_mixed_fleet(
            ["--trace", os.path.join(TRACES, "mooncake_conversation.jsonl.gz")],
            0.20)

    def test_nobody_collapses(self):
        """On no workload and load is the first token of the slowest hundredth
        more than twice as late as with the same number of requests to all."""
        for workload in WORKLOADS:
            for load in ("0.5", "1", "1.5"):
                for fleet in ("8", MIXED):
                    runs = self.by_strategy(
                        "--workload", workload, "--load", load, "--targets",
                        fleet, "--strategy",
                        "weighted,adaptive,fastest,predicted_latency,"
                        "least_work")
                    even = runs.pop("weighted")
                    for run in runs.values():
                        with self.subTest(workload=workload, load=load,
                                          fleet=fleet):
                            self.assert_no_collapse(run, even)

    def test_work_on_mixed_fleets(self):
        """least_work finds out how engines compare, with and without KV
        events, and gets ahead of those who are told."""
        for workload in ("bursts", "chat"):
            traffic = ["--workload", workload, *CACHES]
            told = self.by_strategy(*traffic, "--targets", WEIGHTED,
                                    "--strategy", "weighted,least_connections")
            for events in ("map", "off"):
                own = self.by_strategy(*traffic, "--targets", MIXED,
                                       "--kv-events", events, "--strategy",
                                       "least_work")["least_work"]
                for rival in told.values():
                    self.assert_ahead(own, rival)

    def test_speeds_of_equal_engines(self):
        """Nothing is lost where there is nothing to know."""
        runs = self.by_strategy("--workload", "bursts", "--targets", "8",
                                "--strategy",
                                "least_connections,predicted_latency")
        self.assert_ahead(runs["predicted_latency"],
                          runs["least_connections"])


if __name__ == "__main__":
    replay_case.main()
