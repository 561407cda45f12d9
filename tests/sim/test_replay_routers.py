# SPDX-License-Identifier: MIT
"""lbroute-replay with several routers in front of one fleet: what is lost where
they know nothing of each other, and what deltas between them bring back.

usage: test_replay_routers.py PROGRAM
"""

import statistics

import replay_case
from replay_case import ReplayCase

CHAT = ("--workload", "chat", "--rate", "12", "--duration", "240")


class Routers(ReplayCase):
    def run_of(self, *arguments):
        """The runs of a call on chat, by strategy."""
        runs, _, _ = self.runs(*CHAT, *arguments)
        return {run["strategy"]: run for run in runs}

    def means(self, *arguments):
        """Mean first-token time and hit share over the seeds, by strategy."""
        runs, _, _ = self.runs(*CHAT, *arguments)
        sums = {}
        for run in runs:
            first_token, hits = sums.get(run["strategy"], (0, 0))
            sums[run["strategy"]] = (first_token + run["ttft_ms"]["mean"],
                                     hits + run["hit_share"])
        count = len(runs) / len(sums)
        return {name: (first_token / count, hits / count)
                for name, (first_token, hits) in sums.items()}

    def test_wrong_options(self):
        for value, word in (("x", "number of routers from 1 to 64"),
                            ("0", "number of routers"),
                            ("65", "number of routers"),
                            ("", "number of routers"),
                            ("4:", "deltas none"),
                            ("4:gossip", "deltas none")):
            self.assert_usage_error(("--routers", value), "--routers", word)
        self.assert_usage_error(("--routers", "2", "--balance", "hash"),
                                "random round-robin session")
        for option, low, high in (("--delta-interval", "0", "10001"),
                                  ("--delta-delay", "-1", "10001"),
                                  ("--delta-loss", "-0.1", "1.1")):
            for value in (low, high):
                self.assert_usage_error(("--routers", "2", option, value),
                                        option, "is not a number from")

    def test_options_without_their_routers(self):
        self.assert_usage_error(("--balance", "random"), "--balance",
                                "needs --routers")
        for option in ("--delta-interval", "--delta-delay", "--delta-loss"):
            for routers in ((), ("--routers", "1"), ("--routers", "4:none")):
                self.assert_usage_error((*routers, option, "0.5"), option,
                                        "needs --routers")

    def test_what_cannot_be_combined(self):
        self.assert_usage_error(("--routers", "4", "--strategy", "peers"),
                                "--routers", "4:none")
        self.assert_usage_error(("--routers", "4", "--admission", "hybrid"),
                                "--routers", "hybrid")

    def test_one_is_as_without(self):
        call = (*CHAT, "--strategy", "cache_aware,least_work,random")
        self.assertEqual(self.runs(*call)[2],
                         self.runs(*call, "--routers", "1")[2])

    def test_same_bytes(self):
        call = (*CHAT, "--strategy", "cache_aware,precise_cache_aware",
                "--routers", "3", "--delta-loss", "0.2")
        self.assertEqual(self.runs(*call)[2], self.runs(*call)[2])
        self.assertNotEqual(self.runs(*call)[2],
                            self.runs(*call, "--seed", "2")[2])

    # Each request comes to one router; 5 standard deviations of a binomial
    # count are what chance may do.
    def test_balance(self):
        for balance in ("random", "round-robin", "session"):
            run = self.run_of("--strategy", "weighted", "--routers", "4:none",
                              "--balance", balance)["weighted"]
            counts = run["routers"]["requests"]
            self.assertEqual(len(counts), 4)
            self.assertEqual(sum(counts), run["requests"])
            self.assertEqual(run["rejected"], 0)
            self.assertEqual(run["options"]["balance"], balance)
            fair = run["requests"] / 4
            if balance == "round-robin":
                self.assertLessEqual(max(counts) - min(counts), 1)
            if balance == "random":
                for count in counts:
                    self.assertLess(abs(count - fair), 5 * (fair * 3 / 4) ** 0.5)

    def test_what_the_report_says(self):
        page = self.folder / "page.html"
        runs, done, _ = self.runs(*CHAT, "--strategy", "kv_aware", "--routers",
                                  "4", "--delta-interval", "0.25", "--html",
                                  str(page))
        words = "4 routers, deltas every 0.25 s"
        self.assertIn(words, done.stdout)
        self.assertIn(words, page.read_text())
        self.assertEqual(runs[0]["options"]["routers"], "4:deltas")
        told = runs[0]["routers"]
        self.assertEqual(told["share"], "deltas")
        self.assertEqual(told["interval_s"], 0.25)
        # Each of four writes four times a second, to three others.
        self.assertAlmostEqual(told["deltas"] / runs[0]["duration_s"] / 16, 1,
                               delta=0.01)
        self.assertEqual(told["applied"], 3 * told["deltas"])
        self.assertEqual(told["lost"], 0)
        self.assertEqual(told["dropped"], 0)
        self.assertAlmostEqual(told["bytes"] / runs[0]["requests"],
                               told["bytes_per_request"], places=2)
        self.assertAlmostEqual(told["bytes"] / runs[0]["duration_s"],
                               told["bytes_per_s"], places=2)
        none, done, _ = self.runs(*CHAT, "--strategy", "kv_aware", "--routers",
                                  "4:none")
        self.assertIn("4 routers that know nothing of each other", done.stdout)
        self.assertEqual(set(none[0]["routers"]),
                         {"count", "share", "requests"})

    # Who keeps caches by what he remembers loses most where that is a quarter
    # of it. Deltas bring it back: within 5 % of one router that sees all, if
    # they come as often as requests do (of all four together: of one, three
    # seeds leave 3 % to chance); hits, as seldom as they like.
    def test_deltas_make_one_of_many(self):
        call = ("--strategy", "cache_aware,precise_cache_aware,least_work,"
                "sticky_session", "--seed", "1,2,3")
        often = ("--delta-interval", "0.02")
        one, none, deltas, seldom = (
            self.means(*call, *routers) for routers in (
                (), ("--routers", "4:none"), ("--routers", "4", *often),
                ("--routers", "4", "--delta-interval", "0.5")))
        for name, (first_token, hits) in one.items():
            self.assertGreater(none[name][0], 1.15 * first_token, name)
            self.assertGreater(deltas[name][1], hits - 0.02, name)
            self.assertGreater(seldom[name][1], hits - 0.03, name)
        self.assertLess(statistics.geometric_mean(
            deltas[name][0] / one[name][0] for name in one), 1.05)
        for name in ("cache_aware", "sticky_session"):
            self.assertLess(none[name][1], one[name][1] - 0.2, name)

    # Deltas that never arrive are none: to write them changes nothing.
    def test_all_lost(self):
        strategies = "least_connections,cache_aware,precise_cache_aware"
        none = self.run_of("--strategy", strategies, "--routers", "4:none")
        lost = self.run_of("--strategy", strategies, "--routers", "4",
                           "--delta-loss", "1")
        for name, run in lost.items():
            self.assertEqual(run["routers"]["applied"], 0)
            for key in ("ttft_ms", "total_ms", "hit_share", "requests"):
                self.assertEqual(run[key], none[name][key], (name, key))

    def test_some_lost(self):
        told = self.run_of("--strategy", "kv_aware", "--routers", "4",
                           "--delta-loss", "0.1")["kv_aware"]["routers"]
        pairs = 3 * told["deltas"]
        self.assertEqual(told["applied"] + told["lost"], pairs)
        self.assertLess(abs(told["lost"] - 0.1 * pairs),
                        5 * (pairs * 0.09) ** 0.5)
        self.assertGreater(told["gaps"], 0)

    # Whatever reached them by events, they say no more than events justify,
    # also where events get lost and a router starts anew.
    def test_events_reach_all(self):
        for more in ((), ("--kv-loss", "0.05"), ("--restart-router", "50%"),
                     ("--restart-router", "50%:cold", "--kv-replay", "off",
                      "--kv-loss", "0.01")):
            for routers in ("3:none", "3"):
                runs = self.run_of("--strategy",
                                   "precise_cache_aware,least_work",
                                   "--routers", routers, *more)
                for name, run in runs.items():
                    self.assertEqual(run["kv"]["wrong_picks"], 0,
                                     (name, routers, more))
                    self.assertGreater(run["kv"]["credited"], 0)

    def test_one_of_them_starts_anew(self):
        run = self.run_of("--strategy", "cache_aware", "--routers", "4",
                          "--restart-router", "100")["cache_aware"]
        alone = self.run_of("--strategy", "cache_aware",
                            "--restart-router", "100")["cache_aware"]
        self.assertGreater(run["restart"]["forgotten"], 0)
        self.assertLess(run["restart"]["forgotten"],
                        alone["restart"]["forgotten"] / 2)
        self.assertEqual(run["rejected"], 0)

    # At the host, and in the routers: whoever waits is served or refused, by
    # the router to which he came.
    def test_waiting(self):
        for queue in ("host", "off", "fair"):
            for routers in ("3:none", "3"):
                run = self.run_of("--strategy", "least_connections",
                                  "--routers", routers, "--targets", "2",
                                  "--limit", "3", "--queue",
                                  queue)["least_connections"]
                self.assertGreater(run["waited"] + run["rejected"], 0, queue)
                self.assertEqual(sum(run["routers"]["requests"]),
                                 run["requests"])
                if queue == "host":
                    self.assertEqual(run["rejected"], 0)

    def test_peers_alone(self):
        runs = self.run_of("--strategy", "peers", "--routers", "2:none")
        for name, run in runs.items():
            self.assertEqual(run["rejected"], 0, name)


if __name__ == "__main__":
    replay_case.main()
