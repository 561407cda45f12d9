# SPDX-License-Identifier: MIT
"""lbroute-replay with KV events and restarts of engines: what is reported, and
that the router never says more than events do.

The traces are no part of the repository: their cases are skipped unless
LBROUTE_TRACES is the folder that holds them.

usage: test_replay_kv.py PROGRAM
"""

import os
import unittest

import replay_case
from replay_case import ReplayCase, request

TRACES = os.environ.get("LBROUTE_TRACES")
PRECISE = ("--strategy", "precise_cache_aware")
DISTURBED = ("--kv-delay", "2", "--kv-loss", "0.01")
# What the router sent somewhere stands in while events are late or missing.
SPECULATE = ("--param", "precise_cache_aware.speculate=1", "--param",
             "precise_cache_aware.speculation_ttl=30")


def conversations(count, turns):
    """Each turn holds the one before and its answer; a block has 64 tokens."""
    lines = []
    for turn in range(turns):
        for i in range(count):
            blocks = 16 * (turn + 1)
            ids = [i * 1000 + block for block in range(blocks)]
            lines.append(request((turn * count + i) * 250, blocks * 64, 40,
                                 hash_ids=ids, session_id=f"{i}"))
    return "\n".join(lines)


class Events(ReplayCase):
    def one(self, *arguments):
        runs, _, _ = self.runs(*arguments)
        self.assertEqual(len(runs), 1)
        return runs[0]

    def small(self, *arguments, turns=8):
        """Conversations whose turns are 10 s apart."""
        trace = self.trace(conversations(40, turns))
        return self.one("--trace", trace, "--block-tokens", "64", "--targets",
                        "4", *PRECISE, *arguments)

    def assert_never_wrong(self, run):
        kv = run["kv"]
        self.assertEqual(kv["wrong_picks"], 0)
        self.assertEqual(kv["wrong_blocks"], 0)
        self.assertGreater(kv["credited"], 0)
        if kv["guessed_picks"] == 0:
            self.assertLessEqual(kv["credited"], kv["justified"])
        self.assertEqual(kv["picks"], run["requests"])

    def test_wrong_options(self):
        self.assert_usage_error(["--kv-events", "x"], "off array map mixed")
        self.assert_usage_error(["--kv-delay", "-1"], "--kv-delay")
        self.assert_usage_error(["--kv-loss", "1.1"], "--kv-loss")
        self.assert_usage_error(["--kv-replay", "maybe"], "neither on nor off")
        for value in ("", "1", "0@5", "1@", "1@x", "1@5,", "1@5@6"):
            self.assert_usage_error(["--restart", value], "TARGET@SECONDS")
        self.assert_usage_error(["--targets", "2", "--restart", "3@5"],
                                "not so many targets")

    def test_nothing_is_said_where_nobody_reads_events(self):
        runs, done, _ = self.runs("--workload", "chat", "--duration", "20",
                                  "--strategy", "weighted")
        self.assertNotIn("kv", runs[0])
        self.assertNotIn("events", done.stdout)
        self.assertFalse([name for name in runs[0]["options"]
                          if name.startswith("kv-")])

    def test_a_restart_by_hand(self):
        """One engine, a prompt of 640 tokens in ten blocks, asked every 20 s:
        found from the second time on, but for its last block, and not after
        the restart; the one that comes while the engine is down waits."""
        lines = "\n".join(request(i * 20000, 640, 1, hash_ids=list(range(10)))
                          for i in range(5))
        call = ["--trace", self.trace(lines), "--block-tokens", "64",
                "--targets", "1", "--strategy", "weighted"]
        plain = self.one(*call)
        again = self.one(*call, "--restart", "1@30")
        self.assertAlmostEqual(plain["hit_share"], 4 * 9 / 50, 6)
        self.assertAlmostEqual(again["hit_share"], 3 * 9 / 50, 6)
        self.assertEqual(again["options"]["restart"], "1@30")
        self.assertGreater(again["ttft_ms"]["p99"], 20000)
        self.assertLess(again["ttft_ms"]["p99"], 20100)
        self.assertEqual(again["per_target"][0]["preemptions"], 0)

    def test_undisturbed(self):
        run = self.small()
        kv = run["kv"]
        self.assert_never_wrong(run)
        self.assertEqual([kv[name] for name in (
            "lost", "replays", "clears", "gaps", "restarts", "duplicates",
            "unknown_picks")], [0] * 7)
        self.assertEqual(kv["delivered"], kv["batches"])
        self.assertEqual(run["options"]["kv-events"], "map")
        self.assertEqual(run["options"]["kv-replay"], "on")

    def test_the_form_of_events_changes_nothing(self):
        forms = {form: self.small("--kv-events", form)
                 for form in ("array", "map", "mixed")}
        sizes = {form: run["kv"].pop("bytes") for form, run in forms.items()}
        for run in forms.values():
            run.pop("options")
        self.assertEqual(forms["array"], forms["map"])
        self.assertEqual(forms["array"], forms["mixed"])
        self.assertLess(sizes["array"], sizes["map"])

    def test_without_events_load_decides(self):
        run = self.small("--kv-events", "off")
        self.assertNotIn("kv", run)
        self.assertLess(run["hit_share"], self.small()["hit_share"] - 0.2)

    def test_disturbed(self):
        """Late, with losses and a restart: never wrong."""
        run = self.small(*DISTURBED, "--restart", "2@40")
        kv = run["kv"]
        self.assert_never_wrong(run)
        self.assertEqual(kv["guessed_picks"], 0)
        for name in ("lost", "gaps", "replays", "duplicates", "unknown_picks"):
            self.assertGreater(kv[name], 0, name)
        self.assertEqual(kv["restarts"], 1)

    def test_disturbed_and_hardly_worse(self):
        """With so many turns that one restart is no great part of them."""
        plain = self.small(*SPECULATE, turns=24)
        run = self.small(*SPECULATE, *DISTURBED, "--restart", "2@40", turns=24)
        self.assert_never_wrong(plain)
        self.assert_never_wrong(run)
        self.assertGreater(run["kv"]["guessed_picks"], 0)
        self.assertGreaterEqual(run["hit_share"], plain["hit_share"] - 0.02)

    def test_without_replay(self):
        """Each gap ends with an empty memory."""
        run = self.small("--kv-loss", "0.05", "--kv-replay", "off")
        kv = run["kv"]
        self.assert_never_wrong(run)
        self.assertGreater(kv["clears"], 0)
        self.assertEqual([kv["replays"], kv["duplicates"]], [0, 0])
        self.assertEqual(kv["delivered"], kv["batches"] - kv["lost"])
        self.assertLess(kv["justified"], self.small()["kv"]["justified"])

    def test_everything_lost(self):
        run = self.small("--kv-loss", "1")
        self.assertEqual(run["kv"]["delivered"], 0)
        self.assertEqual(run["kv"]["credited"], 0)

    def test_adapters_keep_apart(self):
        """The same tokens under another adapter are another prompt."""
        run = self.one("--workload", "chat", "--duration", "120", "--adapters",
                       "3", *PRECISE)
        self.assert_never_wrong(run)

    def test_small_caches(self):
        """What is evicted all the time is removed all the time."""
        run = self.small("--cache-tokens", "8192")
        self.assert_never_wrong(run)
        self.assertGreater(run["kv"]["removed"], run["kv"]["stored"] / 2)

    def test_work_with_and_without_events(self):
        """least_work uses events where there are any, and what it sent where
        there are none: it finds about the same."""
        call = ["--workload", "agents", "--targets", "4", "--strategy",
                "least_work"]
        plain = self.one(*call, *DISTURBED)
        self.assert_never_wrong(plain)
        blind = self.one(*call, "--kv-events", "off")
        self.assertNotIn("kv", blind)
        self.assertAlmostEqual(plain["hit_share"], blind["hit_share"], 1)

    def test_same_seed_same_bytes(self):
        call = ["--workload", "agents", "--duration", "60", *PRECISE,
                *DISTURBED, "--restart", "1@20,3@60"]
        self.assertEqual(self.runs(*call)[2], self.runs(*call)[2])

    def assert_precise_pays(self, name, *arguments):
        """On a trace: never wrong, better than an estimate, and hardly worse
        when disturbed."""
        call = ["--trace", os.path.join(TRACES, name), *arguments]
        estimate = self.one(*call, "--strategy", "kv_aware")
        for guess in ((), SPECULATE):
            plain = self.one(*call, *PRECISE, *guess)
            disturbed = self.one(*call, *PRECISE, *guess, *DISTURBED,
                                 "--restart", "2@300")
            self.assert_never_wrong(plain)
            self.assert_never_wrong(disturbed)
            for measure in ("mean", "p99"):
                self.assertLess(plain["ttft_ms"][measure],
                                estimate["ttft_ms"][measure])
        self.assertGreaterEqual(disturbed["hit_share"],
                                plain["hit_share"] - 0.02)

    @unittest.skipUnless(TRACES, "LBROUTE_TRACES is not set")
    def test_mixed_data_sets(self):
        self.assert_precise_pays("mooncake_synthetic.jsonl.gz", "--load", "2",
                                 "--targets", "8")

    @unittest.skipUnless(TRACES, "LBROUTE_TRACES is not set")
    def test_coding_agents(self):
        self.assert_precise_pays("claude_code_sessions.jsonl.gz", "--targets",
                                 "16")


if __name__ == "__main__":
    replay_case.main()
