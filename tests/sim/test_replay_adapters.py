# SPDX-License-Identifier: MIT
"""lbroute-replay with LoRA adapters: what is reported, and what affinity to
adapters is worth.

usage: test_replay_adapters.py PROGRAM
"""

import replay_case
from replay_case import ReplayCase, replay, request

BLIND = ["weighted", "random", "power_of_two", "least_connections"]
# These may fill one target.
UNBOUNDED = ("consistent_hash", "sticky_session", "cheapest")


def share(run):
    return run["adapter_load_share"]


class Adapters(ReplayCase):
    def by_strategy(self, *arguments):
        runs, done, _ = self.runs(*arguments)
        return {run["strategy"]: run for run in runs}, done

    def test_loads_by_hand(self):
        """One adapter a slot and target: each target loads it once, however
        many requests come."""
        lines = "\n".join(request(i * 1000, 100, 1) for i in range(20))
        runs, done = self.by_strategy(
            "--trace", self.trace(lines), "--targets", "4", "--adapters", "1",
            "--adapter-slots", "1", "--strategy", "weighted")
        run = runs["weighted"]
        self.assertEqual(run["adapter_loads"], 4)
        self.assertAlmostEqual(share(run), 4 / 20, 6)
        self.assertEqual([target["adapter_loads"] for target in
                          run["per_target"]], [1, 1, 1, 1])
        self.assertIn("adapter loads", done.stdout)
        self.assertIn("20.0 %", done.stdout)
        self.assertEqual(
            {name: run["options"][name] for name in
             ("adapters", "adapter-slots", "adapter-skew", "adapter-load")},
            {"adapters": "1", "adapter-slots": "1", "adapter-skew": "1",
             "adapter-load": "0.2"})

    def test_one_adapter_for_nothing_changes_nothing(self):
        """Only what was loaded is said in addition."""
        call = ["--workload", "chat", "--duration", "120", "--strategy",
                ",".join(BLIND)]
        plain, _ = self.by_strategy(*call)
        free, _ = self.by_strategy(*call, "--adapters", "1", "--adapter-load",
                                   "0")
        for name in BLIND:
            self.assertEqual(free[name].pop("adapter_loads"), 8)
            free[name].pop("adapter_load_share")
            for run in (plain[name], free[name]):
                run.pop("options")
                for target in run["per_target"]:
                    target.pop("adapter_loads", None)
            self.assertEqual(plain[name], free[name])

    def test_without_adapters_nothing_is_said_of_them(self):
        page = self.folder / "page.html"
        runs, done = self.by_strategy("--workload", "chat", "--duration", "20",
                                      "--strategy", "lora_aware", "--html",
                                      str(page))
        self.assertNotIn("adapter_loads", runs["lora_aware"])
        self.assertNotIn("adapter_loads", runs["lora_aware"]["per_target"][0])
        self.assertFalse([name for name in runs["lora_aware"]["options"]
                          if name.startswith("adapter")])
        self.assertNotIn("adapter", done.stdout)
        self.assertNotIn("dapter loads", page.read_text())

    def test_the_page_has_loads(self):
        page = self.folder / "page.html"
        done = replay("--workload", "chat", "--duration", "20", "--adapters",
                      "9", "--html", str(page))
        self.assertEqual(done.returncode, 0, done.stderr)
        text = page.read_text()
        self.assertIn(">adapter loads</th>", text)
        self.assertIn("Adapter loads", text)

    def test_same_seed_same_bytes(self):
        call = ["--workload", "agents", "--duration", "60", "--adapters", "20"]
        self.assertEqual(self.runs(*call)[2], self.runs(*call)[2])

    def test_hiding_sessions_keeps_the_adapters(self):
        """The adapter is the client's choice, whatever the router is told."""
        call = ["--workload", "chat", "--duration", "120", "--adapters", "20",
                "--strategy", "weighted"]
        shown, _ = self.by_strategy(*call)
        hidden, _ = self.by_strategy(*call, "--no-sessions")
        self.assertEqual(shown["weighted"]["adapter_loads"],
                         hidden["weighted"]["adapter_loads"])

    def test_affinity_loads_less_and_answers_sooner(self):
        """More adapters than all slots hold, few of them popular."""
        for workload in ("chat", "shared", "rag", "bursts"):
            for seed in ("1", "2"):
                runs, _ = self.by_strategy(
                    "--workload", workload, "--rate", "8", "--duration", "300",
                    "--adapters", "64", "--seed", seed, "--strategy",
                    "least_connections,lora_aware,pipeline", "--param",
                    "pipeline.adapter=2")
                aware = runs["lora_aware"]
                blind = runs["least_connections"]
                where = (workload, seed, share(aware), share(blind))
                self.assertLess(share(aware), share(blind) / 2, where)
                self.assertLess(aware["ttft_ms"]["p99"],
                                blind["ttft_ms"]["p99"], where)
                self.assertLess(share(runs["pipeline"]), share(blind), where)

    def test_no_collapse(self):
        for workload in ("chat", "agents", "bursts"):
            for load in ("0.5", "1"):
                runs, _ = self.by_strategy(
                    "--workload", workload, "--load", load, "--duration",
                    "300", "--adapters", "32")
                most = 2 * runs["weighted"]["ttft_ms"]["p99"]
                for name, run in runs.items():
                    if name not in UNBOUNDED:
                        self.assertLessEqual(run["ttft_ms"]["p99"], most,
                                             (workload, load, name))

    def test_options_need_adapters(self):
        for option in ("--adapter-skew", "--adapter-slots", "--adapter-load"):
            self.assert_usage_error([option, "1"], option, "--adapters")
        self.assert_usage_error(["--adapters", "0"], "adapters")
        self.assert_usage_error(["--adapters", "2", "--adapter-slots", "0"],
                                "adapter-slots")
        self.assert_usage_error(["--adapters", "2", "--adapter-skew", "-1"],
                                "adapter-skew")
        self.assert_usage_error(["--adapters", "2", "--adapter-load", "nan"],
                                "adapter-load")


if __name__ == "__main__":
    replay_case.main()
