# SPDX-License-Identifier: MIT
"""lbroute-replay with peers and with sweeps of the load.

The traces are no part of the repository: their cases are skipped unless
LBROUTE_TRACES is the folder that holds them.

usage: test_replay_peers.py PROGRAM
"""

import json
import math
import os
import re
import unittest
import xml.etree.ElementTree as ElementTree

import replay_case
from replay_case import ReplayCase, replay, request

TRACES = os.environ.get("LBROUTE_TRACES")
PEERS = ["peer:lmetric", "peer:dynamo", "peer:llm-d", "peer:smg",
         "peer:rolter", "peer:rolter-nlms", "peer:preble",
         "peer:longest-match", "peer:half-match", "peer:prequal"]
SHORT = ("--workload", "chat", "--duration", "60", "--targets", "4")


def names(runs):
    return [run["strategy"] for run in runs]


class Peers(ReplayCase):
    def test_all_run(self):
        runs, _, _ = self.runs(*SHORT, "--strategy", "peers")
        self.assertEqual(names(runs), PEERS)
        for run in runs:
            self.assertEqual(run["rejected"], 0)
            self.assertGreater(run["ttft_ms"]["mean"], 0)
            self.assertIsNone(run["prediction_error"])
            self.assertNotIn("kv", run)

    def test_lists_mix_and_name_each_once(self):
        runs, _, _ = self.runs(*SHORT, "--strategy",
                               "peer:smg,weighted,peers,weighted")
        self.assertEqual(names(runs), ["peer:smg", "weighted"] +
                         [peer for peer in PEERS if peer != "peer:smg"])
        runs, _, _ = self.runs(*SHORT, "--strategy", "all")
        self.assertFalse(any(name.startswith("peer:")
                             for name in names(runs)))

    def test_listed_with_their_sources(self):
        text = replay("--list").stdout
        for peer in PEERS:
            self.assertRegex(text, rf"(?m)^  {re.escape(peer)}$")
        self.assertIn("peer:smg.balance_rel_threshold: 1.5, 1 to", text)
        self.assertIn("from LMetric, OSDI 2026", text)

    def test_wrong_names(self):
        self.assert_usage_error(["--strategy", "peer:x"], "peer:x",
                                "peer:lmetric", "weighted")
        self.assert_usage_error(["--param", "peer:smg.x=1"], "unknown",
                                "peer:smg.cache_threshold")
        self.assert_usage_error(["--param", "peer:smq.cache_threshold=1"],
                                'unknown peer "peer:smq"', "peer:smg")
        self.assert_usage_error(["--param", "peer:longest-match.threshold=1"],
                                "peer:longest-match has no parameters")
        self.assert_usage_error(["--param", "peer:smg.cache_threshold=2"],
                                "from 0 to 1")

    def test_parameters(self):
        """Where any match will do, half match is longest match."""
        runs, _, _ = self.runs(*SHORT, "--strategy",
                               "peer:half-match,peer:longest-match",
                               "--param", "peer:half-match.threshold=0")
        self.assertEqual(runs[0]["ttft_ms"], runs[1]["ttft_ms"])
        self.assertEqual(runs[0]["options"]["param"],
                         "peer:half-match.threshold=0")
        default, _, _ = self.runs(*SHORT, "--strategy", "peer:half-match")
        self.assertNotEqual(runs[0]["ttft_ms"], default[0]["ttft_ms"])

    def test_same_seed_same_bytes(self):
        arguments = (*SHORT, "--strategy", "peers,weighted")
        _, _, first = self.runs(*arguments)
        _, _, second = self.runs(*arguments)
        _, _, threads = self.runs(*arguments, "--jobs", "4")
        self.assertEqual(first, second)
        self.assertEqual(first, threads)

    def test_limits_and_queues(self):
        """The host lets requests wait; nobody is refused unless it is off."""
        arguments = ("--workload", "bursts", "--duration", "60", "--targets",
                     "2", "--limit", "4", "--strategy", "peer:lmetric")
        for queue in ("host", "fair"):
            runs, _, _ = self.runs(*arguments, "--queue", queue)
            self.assertEqual(runs[0]["rejected"], 0)
            self.assertGreater(runs[0]["waited"], 0)
        runs, _, _ = self.runs(*arguments, "--queue", "off")
        self.assertGreater(runs[0]["rejected"], 0)

    def test_drained_targets_get_nothing(self):
        runs, _, _ = self.runs("--workload", "chat", "--duration", "60",
                               "--strategy", "peers", "--targets",
                               "3x8b-rtxpro6000,8b-rtxpro6000@0")
        for run in runs:
            self.assertEqual(run["per_target"][3]["requests"], 0)

    def test_events_that_are_late_or_lost(self):
        """Whoever reads events knows less for it, and gets over it."""
        arguments = (*SHORT, "--strategy", "peer:longest-match")
        hits = {}
        for name, more in {"good": (), "late": ("--kv-delay", "20"),
                           "lost": ("--kv-loss", "0.2", "--kv-replay", "off"),
                           "off": ("--kv-events", "off")}.items():
            runs, _, _ = self.runs(*arguments, *more)
            hits[name] = runs[0]["hit_share"]
            self.assertEqual(runs[0]["rejected"], 0)
        self.assertNotEqual(hits["good"], hits["late"])
        self.assertNotEqual(hits["good"], hits["lost"])
        self.assertNotEqual(hits["good"], hits["off"])

    def test_restarts_and_adapters(self):
        runs, _, _ = self.runs(*SHORT, "--strategy", "peers", "--adapters",
                               "8", "--restart", "2@20")
        self.assertEqual(len(runs), len(PEERS))

    def test_longest_match_piles_up(self):
        """One block that all prompts begin with is enough, once events have
        told of it."""
        lines = [request(i * 1000, 2048, 20, hash_ids=[0, *range(
            1000 * i + 1, 1000 * i + 4)]) for i in range(200)]
        trace = self.trace("\n".join(lines))
        runs, _, _ = self.runs("--trace", trace, "--targets", "4",
                               "--block-tokens", "512", "--strategy",
                               "peer:longest-match,peer:half-match")
        self.assertGreater(runs[0]["busiest_over_mean"], 3.9)
        self.assertLess(runs[1]["busiest_over_mean"], 1.2)


class Sweeps(ReplayCase):
    def sweep(self, *arguments):
        path = self.folder / "sweep.json"
        done = replay("--json", str(path), *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(path.read_text()), done

    def test_wrong_sweeps(self):
        for text in ("0.5:1.5:0.1", "load=1:2", "load=1:2:x", "load=2:1:0.1",
                     "load=1:2:0", "load=0:1:0.5", "load=1:2:0.5:1",
                     "load=1:2:0.0001", "rate=1:2:1"):
            self.assert_usage_error(["--sweep", text], "load=FROM:TO:STEP")
        self.assert_usage_error(
            ["--sweep", "load=1:2:1", "--workload", "documents"], "sweep")

    def test_points_are_runs_at_that_load(self):
        report, _ = self.sweep(*SHORT, "--load", "2", "--sweep",
                               "load=0.5:0.7:0.1", "--strategy",
                               "weighted,peer:lmetric")
        runs = report["runs"]
        self.assertEqual([(run["strategy"], run["load"], run["sweep_load"])
                          for run in runs],
                         [(name, 2 * point, point)
                          for point in (0.5, 0.6, 0.7)
                          for name in ("weighted", "peer:lmetric")])
        self.assertEqual(report["sweep"]["loads"], [1.0, 1.2, 1.4])
        alone, _, _ = self.runs(*SHORT, "--load", "1.2", "--strategy",
                                "weighted,peer:lmetric")
        for one, other in zip(alone, runs[2:4]):
            for key in ("ttft_ms", "tpot_ms", "hit_share", "goodput"):
                self.assertEqual(one[key], other[key])

    def test_regret(self):
        report, done = self.sweep(*SHORT, "--rate", "8", "--seed", "1,2",
                                  "--sweep", "load=1:3:1", "--strategy",
                                  "all,peers", "--jobs", "2")
        values = {}
        for run in report["runs"]:
            values.setdefault(run["strategy"], {}).setdefault(
                run["load"], []).append(run["ttft_ms"])
        rows = report["sweep"]["regret"]
        self.assertEqual({row["strategy"] for row in rows}, set(values))
        for row in rows:
            for key, of in (("ttft_mean", "mean"), ("ttft_p99", "p99")):
                means = {name: {load: sum(one[of] for one in some) / 2
                                for load, some in loads.items()}
                         for name, loads in values.items()}
                ratios = {load: own / min(one[load] for one in means.values())
                          for load, own in means[row["strategy"]].items()}
                mean = math.prod(ratios.values()) ** (1 / len(ratios))
                self.assertAlmostEqual(row[key]["mean"], mean, 4)
                self.assertAlmostEqual(row[key]["worst"],
                                       max(ratios.values()), 4)
                self.assertAlmostEqual(ratios[row[key]["worst_load"]],
                                       row[key]["worst"], 4)
        ordered = [row["ttft_mean"]["mean"] for row in rows]
        self.assertEqual(ordered, sorted(ordered))
        for word in ("First token, mean", "First token, p99", "Goodput",
                     "Cache hits", "Regret: own / best", "x1", "x3"):
            self.assertIn(word, done.stdout)
        self.assertFalse(any(line != line.rstrip()
                             for line in done.stdout.split("Regret")[1]
                             .splitlines()))

    def test_threads_change_nothing(self):
        arguments = (*SHORT, "--sweep", "load=1:2:0.5", "--strategy",
                     "all,peers")
        one, _ = self.sweep(*arguments)
        many, _ = self.sweep(*arguments, "--jobs", "3")
        self.assertEqual(one, many)

    def test_page(self):
        """Every drawing is well formed and tells its parts apart."""
        path = self.folder / "sweep.html"
        done = replay(*SHORT, "--sweep", "load=1:2:0.5", "--strategy",
                      "weighted,peers", "--html", str(path))
        self.assertEqual(done.returncode, 0, done.stderr)
        text = path.read_text()
        drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
        self.assertEqual(len(drawings), 8)
        for drawing in drawings:
            ElementTree.fromstring(drawing)
            self.assertNotRegex(drawing, "nan|inf")
        ids = re.findall(r'id="([^"]+)"', text)
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(drawings[0].count('class="line"'), 11)
        self.assertEqual(drawings[1].count("<use "), 11)
        self.assertIn("<h2>Regret</h2>", text)
        self.assertNotIn("<script", text)

    def test_one_point(self):
        report, _ = self.sweep(*SHORT, "--sweep", "load=1:1:1", "--strategy",
                               "weighted", "--html",
                               str(self.folder / "one.html"))
        self.assertEqual(report["sweep"]["regret"][0]["ttft_mean"],
                         {"mean": 1.0, "worst": 1.0, "worst_load": 1.0})


@unittest.skipUnless(TRACES, "needs LBROUTE_TRACES")
class Prototype(ReplayCase):
    """Against the figures of an earlier simulation in which policies knew the
    caches exactly: within a quarter, where hosts know nearly as much."""

    def means(self, trace, load, strategies):
        runs, _, _ = self.runs("--trace", os.path.join(TRACES, trace),
                               "--load", load, "--targets", "8",
                               "--strategy", strategies)
        return {run["strategy"]: run["ttft_ms"]["mean"] / 1000
                for run in runs}

    def assert_close(self, value, wanted):
        self.assertLess(abs(value / wanted - 1), 0.25)

    def test_conversation(self):
        means = self.means("mooncake_conversation.jsonl.gz", "1.6",
                           "peer:lmetric,peer:half-match,peer:longest-match")
        self.assert_close(means["peer:lmetric"], 0.80)
        self.assert_close(means["peer:half-match"], 1.31)
        self.assertGreater(means["peer:longest-match"], 1000)

    def test_synthetic(self):
        means = self.means("mooncake_synthetic.jsonl.gz", "2",
                           "peer:half-match,peer:longest-match")
        self.assert_close(means["peer:half-match"], 1.79)
        self.assert_close(means["peer:longest-match"], 1.56)


if __name__ == "__main__":
    replay_case.main()
