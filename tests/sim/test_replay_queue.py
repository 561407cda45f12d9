# SPDX-License-Identifier: MIT
"""lbroute-replay where there is more than fits: limits, modes of admission,
waiting in the router, clients, priorities and deadlines.

usage: test_replay_queue.py PROGRAM
"""

import bisect
import re
import unittest

import replay_case
from replay_case import ReplayCase, request

# One client with half of the requests, and 48 small ones, as in large
# services: the columns are ServeGen's, among others.
CLIENTS = "model,client,windows,share\n" + "".join(
    f"skewed,{name},2016,{share}\n"
    for name, share in [("heavy", 0.52)] + [(f"c{i}", 0.01)
                                            for i in range(48)]
) + "even,a,1,0.5\neven,b,1,0.5\n"

# Many times what any queue here needs.
NO_BOUNDS = ("--param", "queue.depth=1000000", "--param",
             "queue.timeout=1000000")

# 24 requests/s; four targets do 16.
OVERLOAD = ("--workload", "shared", "--rate", "24", "--duration", "240",
            "--targets", "4", "--limit", "32", "--strategy",
            "least_connections")


class Queue(ReplayCase):
    def one(self, *arguments):
        runs, _, _ = self.runs(*arguments)
        self.assertEqual(len(runs), 1)
        return runs[0]

    def clients(self, model="skewed"):
        return "--clients", f"{self.trace(CLIENTS, 'clients.csv')}:{model}"

    def at_once(self, count, *arguments):
        """So many equal requests at a target with one slot."""
        trace = self.trace("\n".join([request(0, 640, 50)] * count))
        return self.one("--trace", trace, "--keep-times", "--targets", "1",
                        "--limit", "1", "--strategy", "weighted", *arguments)

    def test_wrong_options(self):
        path = self.clients()[1]
        for arguments, word in (
                (("--queue", "x"), "host off on fair fifo"),
                (("--admission", "x"),
                 "max_concurrency superfast hybrid queue_all"),
                (("--priority", "1.1"), "--priority"),
                (("--deadline", "-1"), "--deadline"),
                (("--clients", "x"), "FILE:MODEL"),
                (("--clients", ":m"), "FILE:MODEL"),
                (("--clients", path[:-1] + "x"), "no clients of"),
                (("--clients", "/nowhere:m"), "No such file")):
            self.assert_usage_error(arguments, word)
        for text, line in (("model,share\n", 1),
                           ("model,client,share\nm,,0.5\n", 2),
                           ("model,client,share\nm,a,0.5\nm,b\n", 3),
                           ("model,client,share\nm,a,1.5\n", 2)):
            bad = self.trace(text, "bad.csv")
            self.assert_usage_error(["--clients", f"{bad}:m"],
                                    f"bad.csv:{line}")

    def test_nothing_is_said_where_nobody_asks(self):
        runs, done, _ = self.runs("--workload", "chat", "--duration", "20",
                                  "--strategy", "weighted", "--limit", "2")
        self.assertNotIn("queue", runs[0])
        self.assertNotIn("queue", runs[0]["options"])
        self.assertNotIn("told", done.stdout)

    def test_options_are_names_of_parameters(self):
        runs, done, _ = self.runs(
            "--workload", "chat", "--duration", "20", "--strategy", "weighted",
            "--queue", "fifo", "--admission", "superfast", *self.clients())
        self.assertEqual(runs[0]["options"]["param"],
                         "queue.enabled=1 queue.fair=0 admission.mode=1")
        self.assertEqual(runs[0]["options"]["queue"], "fifo")
        self.assertEqual(runs[0]["options"]["clients"], "clients.csv:skewed")
        self.assertIn("told", done.stdout)
        self.assertIn("heaviest", done.stdout)

    def test_a_queue_by_hand(self):
        """Each waits until the one before is done, at the host or in the
        router, so the waits are 0, 1 and 2 times the same."""
        host = self.at_once(3, "--queue", "host")
        for queue in ("on", "fair", "fifo"):
            run = self.at_once(3, "--queue", queue)
            waits = run["queue"]["wait_ms"]
            self.assertEqual(waits, host["queue"]["wait_ms"])
            self.assertEqual(run["total_ms"], host["total_ms"])
            self.assertEqual(run["waited"], 2)
            self.assertEqual(run["rejected"], 0)
            self.assertAlmostEqual(waits["p99"], 2 * waits["mean"], 2)
            self.assertAlmostEqual(waits["mean"] * 3, run["total_ms"]["p99"],
                                   2)

    def test_reasons_by_hand(self):
        """One goes; of the others as many wait as may, until their time is
        over."""
        def reasons(*arguments):
            return self.at_once(4, *arguments)["queue"]["rejected"]

        self.assertEqual(reasons("--queue", "host"), {})
        self.assertEqual(reasons("--queue", "off"), {"saturated": 3})
        self.assertEqual(reasons("--queue", "on"), {})
        self.assertEqual(reasons("--queue", "on", "--param", "queue.depth=1"),
                         {"queue_full": 2})
        self.assertEqual(reasons("--queue", "on", "--param",
                                 "queue.timeout=0.1"), {"queue_timeout": 3})
        self.assertEqual(reasons("--queue", "on", "--deadline", "0.1"),
                         {"deadline": 3})
        self.assertEqual(reasons("--admission", "queue_all", "--param",
                                 "queue.depth=0"), {})

    def test_a_mode_is_a_limit(self):
        """Twenty at once, and so many of them wait. In a hybrid pool four go and
        six wait until ten are under way; with the eleventh, which queues up
        behind them, it is busy; of the last nine five find slots."""
        trace = self.trace("\n".join([request(0, 640, 50)] * 20))
        for mode, waiting in (("max_concurrency", 4), ("superfast", 16),
                              ("hybrid", 6 + 1 + 4), ("queue_all", 4)):
            run = self.one("--trace", trace, "--keep-times", "--targets", "1",
                           "--limit", "16", "--strategy", "weighted",
                           "--queue", "on", "--admission", mode)
            self.assertEqual(run["rejected"], 0)
            self.assertEqual(run["waited"], waiting, mode)

    def test_same_seed_same_bytes(self):
        arguments = ("--workload", "bursts", "--duration", "60", "--targets",
                     "2", "--limit", "8", "--strategy", "power_of_two",
                     "--queue", "fair", "--admission", "hybrid", "--priority",
                     "0.2", "--deadline", "5", *self.clients())
        runs, _, first = self.runs(*arguments)
        _, _, second = self.runs(*arguments)
        self.assertEqual(first, second)
        other, _, _ = self.runs(*arguments, "--seed", "2")
        self.assertNotEqual(
            [c["requests"] for c in runs[0]["queue"]["clients"]],
            [c["requests"] for c in other[0]["queue"]["clients"]])

    def test_clients_come_by_their_shares(self):
        run = self.one(*OVERLOAD, "--queue", "off", *self.clients())
        queue = run["queue"]
        sizes = {c["name"]: c["requests"] for c in queue["clients"]}
        self.assertEqual(len(sizes), 49)
        self.assertEqual(sum(sizes.values()), run["requests"])
        # Five standard deviations of a share of 0.52.
        bound = 5 * (0.25 / run["requests"]) ** 0.5
        self.assertAlmostEqual(sizes["heavy"] / run["requests"], 0.52,
                               delta=bound)
        self.assertEqual(queue["heaviest"]["name"], "heavy")
        self.assertEqual(queue["others"]["requests"],
                         run["requests"] - sizes["heavy"])
        for key in ("demand_share", "service_share", "fair_share"):
            self.assertAlmostEqual(sum(c[key] for c in queue["clients"]), 1, 3)

    def test_sessions_have_one_client(self):
        """Requests of a session are the client's who began it."""
        lines = [request(1000 * turn + i, 200, 5, session_id=f"{i}")
                 for turn in range(5) for i in range(40)]
        run = self.one("--trace", self.trace("\n".join(lines)), "--strategy",
                       "weighted", *self.clients("even"))
        for client in run["queue"]["clients"]:
            self.assertEqual(client["requests"] % 5, 0)
            self.assertGreater(client["requests"], 0)

    def overload(self, order, *arguments):
        queue = self.one(*OVERLOAD, "--queue", order, *self.clients(),
                         *arguments)["queue"]
        # One and a half times what is done.
        self.assertAlmostEqual(24 / queue["requests_per_s"], 1.5, delta=0.1)
        return queue

    def assert_others_gain(self, fair, fifo):
        self.assertLessEqual(fair["others"]["wait_ms"]["p99"],
                             fifo["others"]["wait_ms"]["p99"] / 3)
        self.assertAlmostEqual(fair["tokens_per_s"] / fifo["tokens_per_s"], 1,
                               delta=0.02)

    def test_one_client_with_half_of_an_overload(self):
        """The others wait a third of the time at most, and no work is lost by
        it."""
        self.assert_others_gain(self.overload("fair"), self.overload("fifo"))

    def test_fair_shares_of_an_overload(self):
        """With room for all that wait, time limits are what turns away: only
        the heaviest client's, which gets what it would in fair shares. In order
        of arrival everybody gets what he asks for, in parts."""
        deep = ("--param", "queue.depth=200")
        fair = self.overload("fair", *deep)
        fifo = self.overload("fifo", *deep)
        for group in ("heaviest", "others"):
            self.assertAlmostEqual(fair[group]["service_share"],
                                   fair[group]["fair_share"], delta=0.02)
            self.assertAlmostEqual(fifo[group]["service_share"],
                                   fifo[group]["demand_share"], delta=0.02)
        self.assertEqual(fair["others"]["rejected"], 0)
        self.assertEqual(set(fair["rejected"]), {"queue_timeout"})

    def test_priorities(self):
        """Without ageing the urgent ones pass by all others."""
        queue = self.one(*OVERLOAD, "--queue", "fair", "--priority", "0.1",
                         "--param", "queue.aging=1000000",
                         "--param", "queue.depth=200")["queue"]
        normal, urgent = queue["priorities"]
        self.assertEqual((normal["name"], urgent["name"]), ("0", "1"))
        self.assertAlmostEqual(
            urgent["requests"] / (normal["requests"] + urgent["requests"]),
            0.1, delta=0.02)
        self.assertEqual(urgent["rejected"], 0)
        self.assertLess(urgent["wait_ms"]["p99"], 1000)
        self.assertGreater(normal["wait_ms"]["p99"], 10000)

    def test_waits_in_order_of_arrival_are_foretold(self):
        queue = self.overload("fifo")
        self.assertGreater(queue["estimates"], 1000)
        self.assertLess(queue["estimate_error"], 0.2)
        self.assertLess(abs(queue["estimate_bias"]), 0.1)


BURSTS = 12
BURST_MS = 30000  # From one to the next.


class Hybrid(ReplayCase):
    """Bursts of 60 requests, 20 a second, and one lonely request a second
    between them: a quiet pool by both thresholds, and a busy one by both."""

    def setUp(self):
        super().setUp()
        self.times = sorted(
            BURST_MS * burst + at
            for burst in range(BURSTS)
            for at in [5003 + 50 * i for i in range(60)] +
            [1000 * i for i in range(30)])
        trace = self.trace("\n".join(request(at, 800, 60)
                                     for at in self.times))
        runs, _, _ = self.runs("--trace", trace, "--keep-times", "--targets",
                               "2", "--limit", "32", "--strategy",
                               "least_connections", "--admission", "hybrid",
                               "--queue", "fair")
        self.hybrid = runs[0]["queue"]["hybrid"]
        self.duration = runs[0]["duration_s"]

    def arrived(self, at_s, window_s):
        """Counted without the program."""
        return (bisect.bisect_right(self.times, round(at_s * 1000)) -
                bisect.bisect_right(self.times,
                                    round((at_s - window_s) * 1000)))

    def test_each_burst_is_entered_and_left_once(self):
        changes = self.hybrid["changes"]
        self.assertEqual(len(changes), 2 * BURSTS)
        for i, change in enumerate(changes):
            self.assertEqual(change["busy"], i % 2 == 0)
            self.assertEqual(int(change["at_s"] * 1000 // BURST_MS), i // 2)

    def test_changes_stand_at_the_thresholds(self):
        """Busy from 10 requests or 10 a second over 5 s on, quiet below 8 and
        8 a second. Arrivals are counted in steps of a quarter of a second."""
        for change in self.hybrid["changes"]:
            least = self.arrived(change["at_s"], 5)
            most = self.arrived(change["at_s"], 5.25)
            self.assertEqual(change["arrivals"], least)
            if change["busy"]:
                self.assertTrue(change["under_way"] >= 10 or most >= 50,
                                change)
                self.assertLessEqual(change["under_way"], 10)
            else:
                self.assertLess(change["under_way"], 8)
                self.assertLess(least, 40)

    def test_times_add_up(self):
        changes = self.hybrid["changes"]
        busy = sum(end["at_s"] - start["at_s"]
                   for start, end in zip(changes[::2], changes[1::2]))
        self.assertAlmostEqual(self.hybrid["busy_s"], busy, 3)
        self.assertAlmostEqual(
            self.hybrid["busy_s"] + self.hybrid["quiet_s"], self.duration,
            delta=6)


if __name__ == "__main__":
    replay_case.main()
