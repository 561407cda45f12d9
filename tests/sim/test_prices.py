# SPDX-License-Identifier: MIT
"""lbroute-replay with prices: what was served, in dollars.

usage: test_prices.py PROGRAM PRICE_TABLE CATALOG
"""

import json
import subprocess
import sys

import replay_case
from replay_case import ReplayCase, replay, request

PRICE_TABLE = CATALOG = None


def requests(count, tokens=500, output=20):
    return "\n".join(request(i * 1000, tokens, output) for i in range(count))


class Prices(ReplayCase):
    def priced(self, table, trace, *arguments):
        runs, done, _ = self.runs(
            "--prices", self.trace(table, "table"), "--trace",
            self.trace(trace), *arguments)
        return runs, done

    def test_every_token_is_charged_once(self):
        runs, done = self.priced("8b-a100\t3\t7\t1\n", requests(10),
                                 "--targets", "1x8b-a100,1x8b-rtx4090=8b-a100",
                                 "--strategy", "all")
        for run in runs:
            self.assertAlmostEqual(run["cost_usd"],
                                   10 * (500 * 3 + 20 * 7) / 1e12, 15)
            self.assertEqual(run["unpriced"], 0)
            self.assertAlmostEqual(sum(target["cost_usd"] for target in
                                       run["per_target"]), run["cost_usd"], 15)
            self.assertEqual({target["price_key"] for target in
                              run["per_target"]}, {"8b-a100"})
            self.assertEqual(run["options"]["prices"], "table")
        self.assertIn(" cost ", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_cached_input_has_its_own_price(self):
        """Sixteen full blocks of one prompt are found again, but for the last
        token: 15 of 16."""
        ids = list(range(16))
        trace = "\n".join(request(i * 60000, 256, 1, hash_ids=ids)
                          for i in range(2))
        for cached, rate in (("10", 10), ("-", 1000), ("0", 0)):
            runs, _ = self.priced(f"8b-a100\t1000\t0\t{cached}\n", trace,
                                  "--targets", "1x8b-a100", "--strategy",
                                  "random", "--block-tokens", "16")
            self.assertAlmostEqual(runs[0]["hit_share"], 240 / 512, 6)
            self.assertAlmostEqual(runs[0]["cost_usd"], (
                (512 - 240) * 1000 + 240 * rate) / 1e12, 15)

    def test_a_tier_is_for_the_whole_request(self):
        table = "8b-a100\t1\t2\t1\t500:10:20:10\t1000:100:200:100\n"
        for tokens, inward, outward in ((500, 1, 2), (501, 10, 20),
                                        (1000, 10, 20), (1001, 100, 200)):
            runs, _ = self.priced(table, requests(1, tokens), "--targets",
                                  "1x8b-a100", "--strategy", "random")
            self.assertAlmostEqual(runs[0]["cost_usd"], (
                tokens * inward + 20 * outward) / 1e12, 15)

    def test_unknown_is_not_free(self):
        for table in ("other\t1\t1\t1\n", "8b-a100\t1\t-\t1\n",
                      "8b-a100\t-\t1\t1\n", ""):
            runs, done = self.priced(table, requests(3), "--targets",
                                     "1x8b-a100", "--strategy", "cheapest")
            self.assertIsNone(runs[0]["cost_usd"])
            self.assertEqual(runs[0]["unpriced"], 3)
            self.assertEqual("8b-a100" in done.stderr,
                             not table.startswith("8b"))

    def test_cheapest_goes_where_it_is_cheap(self):
        table = "dear\t900\t900\t900\ncheap\t10\t10\t10\n# note\n\n"
        runs, _ = self.priced(table, requests(40), "--strategy", "cheapest",
                              "--targets", "8b-a100=dear,8b-a100,"
                              "8b-a100=cheap", "--limit", "1")
        served = [target["requests"] for target in runs[0]["per_target"]]
        self.assertEqual(served, [0, 0, 40])

    def test_without_prices_nothing_is_said_of_cost(self):
        runs, done, _ = self.runs("--trace", self.trace(requests(5)),
                                  "--targets", "2", "--strategy", "weighted")
        self.assertNotIn("cost_usd", runs[0])
        self.assertNotIn("price_key", runs[0]["per_target"][0])
        self.assertNotIn("cost", done.stdout)

    def test_the_page_has_a_cost(self):
        for table, shown in (("8b-a100\t3000000\t7000000\t1\n", True),
                             (None, False)):
            page = self.folder / "page.html"
            call = ["--trace", self.trace(requests(10)), "--targets",
                    "2x8b-a100", "--html", str(page)]
            if table:
                call += ["--prices", self.trace(table, "table")]
            self.assertEqual(replay(*call).returncode, 0)
            text = page.read_text()
            self.assertEqual(">cost</th>" in text, shown)
            self.assertEqual("$0.0164" in text, shown)

    def test_bad_tables_have_a_place(self):
        good = "# comment\nx\t1\t2\t3\n"
        for line, words in (
                ("a", "missing"), ("a\t1\t2", "missing"),
                ("a\t1\t2\tx", "whole number"), ("a\t1\t2\t-1", "whole number"),
                ("a\t1\t2\t1.5", "whole number"),
                ("a\t1\t2\t9223372036854775808", "whole number"),
                ("\t1\t2\t3", "key"), ("k" * 256 + "\t1\t2\t3", "key"),
                ("a\x01\t1\t2\t3", "key"), ("a\t1\t2\t3\t", "tier"),
                ("a\t1\t2\t3\tx:1:1:1", "tier"),
                ("a\t1\t2\t3\t5:1:1", "missing"),
                ("a\t1\t2\t3\t5:1:1:1:1", "too many"),
                ("a\t1\t2\t3\t5:1:1:1\t5:1:1:1", "ascend"),
                ("a\t1\t2\t3" + "".join(f"\t{i}:1:1:1" for i in range(5)),
                 "too many"),
                ("a\x00b\t1\t2\t3", "zero byte")):
            path = self.trace(good + line + "\n", "table")
            done = replay("--prices", path)
            self.assertEqual(done.returncode, 2, line)
            self.assertIn(f"{path}:3: ", done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, "")
        path = self.trace(good + "y\t1\t1\t1\nx\t1\t2\t3\n", "table")
        self.assertIn('"x" has two prices', replay("--prices", path).stderr)
        self.assertIn("/nowhere", replay("--prices", "/nowhere").stderr)

    def test_a_catalog_becomes_a_bill(self):
        made = subprocess.run([sys.executable, PRICE_TABLE, CATALOG],
                              capture_output=True, check=True)
        runs, _ = self.priced(made.stdout, requests(2), "--targets",
                              "8b-a100=plain", "--strategy", "cheapest")
        self.assertAlmostEqual(runs[0]["cost_usd"],
                               2 * (500 * 0.15 + 20 * 0.6) / 1e6, 12)

    def priced_fleet(self, workload, load, weight):
        table = self.trace("a\t100\t400\t10\nb\t900\t3600\t90\n", "table")
        runs, _, _ = self.runs(
            "--workload", workload, "--load", load, "--prices", table,
            "--targets", "4x8b-rtxpro6000=a,4x8b-rtxpro6000=b",
            "--param", f"pipeline.cost={weight}",
            "--param", f"adaptive.cost={weight}",
            "--strategy", "weighted,adaptive,pipeline")
        return ({run["strategy"]: run["ttft_ms"]["p99"] for run in runs},
                {run["strategy"]: run["cost_usd"] for run in runs})

    def test_prices_collapse_no_adaptive_fleet(self):
        for workload in ("chat", "shared", "agents", "bursts"):
            for load in ("0.7", "1.3"):
                for weight in ("0.5", "2"):
                    p99, cost = self.priced_fleet(workload, load, weight)
                    for strategy in ("adaptive", "pipeline"):
                        where = (workload, load, weight, strategy, p99, cost)
                        self.assertLessEqual(p99[strategy],
                                             2 * p99["weighted"], where)
                        if weight == "2":
                            self.assertLess(cost[strategy], cost["weighted"],
                                            where)


if __name__ == "__main__":
    CATALOG = sys.argv.pop()
    PRICE_TABLE = sys.argv.pop()
    replay_case.main()
