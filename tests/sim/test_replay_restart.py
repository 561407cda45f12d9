# SPDX-License-Identifier: MIT
"""lbroute-replay where the router is replaced in the middle of a trace: what a
snapshot keeps, and what is lost without.

usage: test_replay_restart.py PROGRAM
"""

import replay_case
from replay_case import ReplayCase

CHAT = ("--workload", "chat", "--duration", "240")


class Restart(ReplayCase):
    def one(self, strategy, how, *arguments):
        runs, _, _ = self.runs(*CHAT, "--strategy", strategy,
                               "--restart-router", how, *arguments)
        self.assertEqual(len(runs), 1)
        return runs[0]

    def test_wrong_options(self):
        for value, word in (("x", "seconds or a part"),
                            ("-1", "seconds or a part"),
                            ("101%", "seconds or a part"),
                            ("5:warm", "snapshot cold none")):
            self.assert_usage_error(("--restart-router", value), word)
        self.assert_usage_error(("--restart-router", "5", "--queue", "on"),
                                "queue in the router")
        self.assert_usage_error(("--restart-window", "0"), "--restart-window")

    def test_none_is_as_without(self):
        plain, _, _ = self.runs(*CHAT, "--strategy", "weighted")
        none = self.one("weighted", "50%:none")
        for key in ("hit_share", "ttft_ms", "requests"):
            self.assertEqual(none[key], plain[0][key])
        self.assertNotIn("restart", plain[0])
        self.assertEqual(none["restart"]["forgotten"], 0)

    def test_what_is_told(self):
        warm = self.one("cache_aware", "100", "--restart-window", "30")
        told = warm["restart"]
        self.assertEqual(told["at_s"], 100)
        self.assertEqual(told["window_s"], 30)
        self.assertGreater(told["forgotten"], 0)
        self.assertGreater(told["snapshot_bytes"], 10000)
        self.assertEqual(warm["rejected"], 0)
        spans = [told[span]["requests"] for span in ("before", "after", "rest")]
        self.assertTrue(all(spans) and sum(spans) < warm["requests"])
        self.assertEqual(warm["options"]["restart-router"], "100:snapshot")
        cold = self.one("cache_aware", "100:cold")["restart"]
        self.assertEqual(cold["snapshot_bytes"], 0)
        self.assertEqual(cold["forgotten"], told["forgotten"])

    def hits(self, strategy, how, span, *arguments):
        run = self.one(strategy, "50%:" + how, *arguments)
        return run["restart"][span]["hit_share"]

    # A router that was told keeps nearly all hits of the minute after; one that
    # was not loses many.
    def test_hits_are_kept(self):
        for strategy in ("cache_aware", "kv_aware", "precise_cache_aware"):
            none, warm, cold = (
                self.hits(strategy, how, "after", "--kv-replay", "off")
                for how in ("none", "snapshot", "cold"))
            self.assertGreater(warm, none - 0.06, strategy)
            self.assertLess(cold, none - 0.12, strategy)

    # Engines that still have all that they said tell a new router, too.
    def test_engines_tell_again(self):
        for strategy in ("precise_cache_aware", "least_work"):
            none, cold = (self.hits(strategy, how, "after")
                          for how in ("none", "cold"))
            self.assertGreater(cold, none - 0.06, strategy)

    # Those that do not are found out: by what is sent there from then on.
    def test_engines_that_do_not_tell_again(self):
        none, cold = (self.hits("least_work", how, "rest", "--kv-replay", "off")
                      for how in ("none", "cold"))
        self.assertGreater(cold, none - 0.1)

    def test_same_bytes(self):
        first = self.runs(*CHAT, "--restart-router", "50%", "--strategy",
                          "kv_aware,pipeline")
        again = self.runs(*CHAT, "--restart-router", "50%", "--strategy",
                          "kv_aware,pipeline")
        self.assertEqual(first[2], again[2])
        self.assertIn("forgotten", first[1].stdout)


if __name__ == "__main__":
    replay_case.main()
