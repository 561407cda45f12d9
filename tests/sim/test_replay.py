# SPDX-License-Identifier: MIT
"""lbroute-replay as its users call it.

usage: test_replay.py PROGRAM
"""

import gzip
import json
import os

import replay_case
from replay_case import ReplayCase, replay, request

RUN_KEYS = ["strategy", "seed", "targets", "load", "requests", "ttft_ms",
            "tpot_ms", "hit_share", "pooled_hit_share", "hits_of_pool",
            "goodput", "busiest_over_mean", "busiest_work_over_mean"]


class Replay(ReplayCase):
    def test_no_strategy_collapses_a_fleet(self):
        """Those that follow a key may; random ones are only as good as chance
        where prefill is short (rag), so that workload is left out here."""
        follow_a_key = {"consistent_hash", "sticky_session"}
        for workload in ("chat", "shared", "agents", "bursts"):
            for load in ("0.7", "1.0", "1.3"):
                runs, _, _ = self.runs("--workload", workload, "--load", load,
                                       "--targets", "8", "--strategy", "all")
                p99 = {run["strategy"]: run["ttft_ms"]["p99"] for run in runs}
                for strategy in set(p99) - follow_a_key:
                    self.assertLessEqual(p99[strategy], 2 * p99["weighted"],
                                         (workload, load, strategy))

    def test_first_requests_left_out(self):
        """What is left is what a trace without them would be, and time begins
        with it."""
        lines = [request(1000 * i * i, 500 + i, session_id=f"{i % 3}")
                 for i in range(40)]
        cut, _, _ = self.runs("--trace", self.trace("\n".join(lines)),
                              "--strategy", "weighted", "--skip-requests",
                              "15", "--limit-requests", "20")
        rest, _, _ = self.runs("--trace",
                               self.trace("\n".join(lines[15:35]), "rest"),
                               "--strategy", "weighted")
        for run in (*cut, *rest):
            for key in ("options", "trace"):
                run.pop(key, None)
        self.assertEqual(cut[0]["requests"], 20)
        self.assertEqual(cut, rest)

    def test_left_out_in_closed_loop(self):
        """Whoever followed a request that is left out comes at once."""
        call = ["--workload", "agents", "--strategy", "weighted"]
        whole, _, _ = self.runs(*call)
        rest, _, _ = self.runs(*call, "--skip-requests", "100")
        self.assertEqual(rest[0]["requests"], whole[0]["requests"] - 100)
        none = replay(*call, "--skip-requests", "99999999")
        self.assertEqual(none.returncode, 1)
        self.assertIn("--skip-requests", none.stderr)

    def test_no_sessions_hides_conversations(self):
        """Without sessions (and clients) sticky_session is what it falls
        through to."""
        runs, _, _ = self.runs("--workload", "agents", "--limit-requests",
                               "400", "--no-sessions", "--strategy",
                               "sticky_session,least_connections")
        pinned, balanced = ({**run, "strategy": ""} for run in runs)
        self.assertEqual(pinned, balanced)

    def test_affinity_reuses_what_turns_throw_away(self):
        """Nine documents on two targets with room for five each: in turn,
        only the 400 tokens that all share are found again; once each document
        has its target, all but the first nine of 90 prompts but for their
        questions are."""
        runs, _, _ = self.runs("--workload", "documents", "--targets", "2",
                               "--cache-tokens", "55000",
                               "--strategy", "weighted,cache_aware")
        weighted, affine = runs
        self.assertEqual(weighted["requests"], 90)
        self.assertLess(weighted["hit_share"], 0.05)
        self.assertGreater(affine["hit_share"], 0.85)
        self.assertLess(affine["hit_share"], 0.9)
        for run in runs:
            self.assertAlmostEqual(run["hits_of_pool"], run["hit_share"] /
                                   run["pooled_hit_share"], 4)
        self.assertAlmostEqual(affine["hits_of_pool"], 1, 2)
        self.assertEqual(affine["options"]["documents"], "9")

    def test_a_text_trace_is_found_again(self):
        """Four sessions whose prompts go on from their answers, on two
        targets. With every session in one place the full blocks of prompt and
        answer before are found again, but for the answer's last token."""
        lines = []
        for session in "abcd":
            prompt = session * 1000
            for turn in range(3):
                answer = f"{turn}" * 128
                lines.append(json.dumps({"session_id": session,
                                         "input": prompt, "output": answer}))
                prompt += answer + "more!!!!"
        runs, _, _ = self.runs("--trace", self.trace("\n".join(lines)),
                               "--targets", "2", "--think", "1",
                               "--strategy", "sticky_session,cache_aware")
        found = sum(64 * ((known - 4) // 64) for known in (1128, 1264))
        share = found / (1000 + 1136 + 1272)
        for run in runs:
            self.assertEqual(run["requests"], 12)
            self.assertAlmostEqual(run["hit_share"], share, 3)
            self.assertEqual(run["options"]["think"], "1")

    def test_help_names_every_option(self):
        done = replay("--help")
        self.assertEqual(done.returncode, 0)
        for option in ("trace", "workload", "targets", "engine",
                       "cache-tokens", "load", "strategy", "seed", "scrape",
                       "slo-ttft", "slo-tpot", "json", "html", "skip-bad",
                       "param", "limit", "list", "think", "documents",
                       "document-tokens", "prices"):
            self.assertRegex(done.stdout, rf"\n  --{option}[ \n]")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)

    def test_list_names_what_can_be_chosen(self):
        done = replay("--list")
        self.assertEqual(done.returncode, 0)
        for name in ("8b-rtxpro6000", "70b-a100-tp8", "weighted",
                     "least_connections", "chat", "agents", "load.signal_ttl"):
            self.assertIn(name, done.stdout)

    def test_results_have_the_promised_shape(self):
        runs, done, _ = self.runs("--workload", "shared", "--duration", "30",
                                  "--targets", "3", "--seed", "1,2",
                                  "--strategy", "weighted,random",
                                  "--load", "2")
        self.assertEqual([(run["strategy"], run["seed"]) for run in runs],
                         [("weighted", 1), ("random", 1),
                          ("weighted", 2), ("random", 2)])
        for run in runs:
            for key in RUN_KEYS:
                self.assertIn(key, run)
            self.assertEqual(run["targets"], 3)
            self.assertEqual(run["load"], 2)
            self.assertGreater(run["requests"], 0)
            self.assertLess(run["ttft_ms"]["p50"], run["ttft_ms"]["p99"])
            self.assertGreaterEqual(run["busiest_over_mean"], 1)
        self.assertIn("weighted", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_same_seed_same_bytes(self):
        call = ["--workload", "agents", "--duration", "60", "--targets", "2"]
        first = self.runs(*call, "--seed", "7")[2]
        self.assertEqual(self.runs(*call, "--seed", "7")[2], first)
        self.assertNotEqual(self.runs(*call, "--seed", "8")[2], first)

    def test_results_do_not_depend_on_the_folder(self):
        text = "\n".join(request(i * 100, 500) for i in range(50))
        first = self.runs("--trace", self.trace(text, "name"))[2]
        (self.folder / "sub").mkdir()
        second = self.runs("--trace", self.trace(text, "sub/name"))[2]
        self.assertEqual(first, second)

    def test_all_is_every_strategy_of_the_library(self):
        runs, _, _ = self.runs("--duration", "5", "--strategy", "all")
        listed = replay("--list").stdout.split("Strategies (--strategy)\n")[1]
        listed = listed.split("\n\n")[0].split()
        self.assertEqual([run["strategy"] for run in runs], listed)

    def test_usage_errors_name_the_value_and_the_choice(self):
        self.assert_usage_error(["--strategy", "nosuch"], "nosuch", "weighted")
        self.assert_usage_error(["--workload", "nosuch"], "nosuch", "chat")
        self.assert_usage_error(["--engine", "nosuch"], "nosuch", "8b-a100")
        self.assert_usage_error(["--targets", "2xnosuch"], "nosuch", "8b-a100")
        self.assert_usage_error(["--targets", "0"], "targets")
        self.assert_usage_error(["--targets", "8b-a100:x"], "limit")
        self.assert_usage_error(["--targets", "8b-a100@-1"], "weight")
        self.assert_usage_error(["--targets", "8b-a100,"], "empty")
        self.assert_usage_error(["--targets", "8b-a100="], "price key")
        self.assert_usage_error(["--seed", "0"], "seed")
        self.assert_usage_error(["--seed", "1,,2"], "seed")
        self.assert_usage_error(["--load", "nan"], "load", "nan")
        self.assert_usage_error(["--load", "0x10"], "load")
        self.assert_usage_error(["--param", "nosuch=1"], "nosuch",
                                "load.signal_ttl")
        self.assert_usage_error(["--param", "load.signal_ttl"], "NAME=VALUE")
        self.assert_usage_error(["--param", "load.signal_ttl=-1"], "-1")
        self.assert_usage_error(["--documents", "5"], "--documents",
                                "--workload documents")
        self.assert_usage_error(["--workload", "chat", "--document-tokens",
                                 "5"], "--document-tokens")
        self.assert_usage_error(["--workload", "documents", "--documents",
                                 "0"], "--documents")
        self.assert_usage_error(["--nosuch"], "nosuch")
        self.assert_usage_error(["trace.jsonl"], "trace.jsonl", "--trace")
        self.assert_usage_error(["--trace", "x", "--workload", "chat"],
                                "--trace")

    def test_a_bad_line_has_a_place(self):
        path = self.trace(request(0, 9) + "\n{\"timestamp\": 1,\n")
        done = replay("--trace", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{path}:2:", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_bad_lines_are_counted(self):
        path = self.trace(f"{request(0, 9)}\nnoise\n{request(5, 9)}\n[]\n")
        runs, done, _ = self.runs("--trace", path, "--skip-bad",
                                  "--strategy", "weighted")
        self.assertEqual(runs[0]["requests"], 2)
        self.assertEqual(runs[0]["skipped"], 2)
        self.assertIn("skipped 2 bad lines", done.stderr)
        self.assertIn(f"{path}:2:1:", done.stderr)

    def test_a_cut_off_file_is_told(self):
        packed = gzip.compress(os.urandom(9) + b"\n" * 5000)
        done = replay("--trace", self.trace(packed[:25]))
        self.assertEqual(done.returncode, 1)
        self.assertIn("truncated", done.stderr)

    def test_a_missing_file_is_told(self):
        done = replay("--trace", str(self.folder / "nosuch"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("nosuch: No such file", done.stderr)

    def test_an_output_that_cannot_be_written_is_told(self):
        done = replay("--json", str(self.folder / "no" / "such"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("No such file", done.stderr)

    def test_a_failed_run_keeps_the_old_results(self):
        path = self.folder / "old.json"
        path.write_text("old")
        done = replay("--json", str(path), "--trace", self.trace("bad"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(path.read_text(), "old")

    def test_limits_let_requests_wait_and_lose_none(self):
        text = "\n".join(request(0, 400) for _ in range(30))
        runs, _, _ = self.runs("--trace", self.trace(text), "--targets",
                               "2x8b-a100:3", "--strategy", "weighted")
        self.assertEqual(runs[0]["waited"], 24)
        self.assertEqual(runs[0]["rejected"], 0)
        self.assertEqual(runs[0]["requests"], 30)

    def test_what_fits_nowhere_is_rejected(self):
        text = request(0, 5000) + "\n" + request(1, 400)
        runs, _, _ = self.runs("--trace", self.trace(text), "--cache-tokens",
                               "4096", "--strategy", "weighted")
        self.assertEqual(runs[0]["rejected"], 1)
        self.assertEqual(runs[0]["goodput"], 0.5)

    def test_no_candidate_rejects_everything(self):
        runs, _, _ = self.runs("--trace", self.trace(request(0, 400)),
                               "--targets", "8b-a100@0",
                               "--strategy", "weighted")
        self.assertEqual(runs[0]["rejected"], 1)
        self.assertIsNone(runs[0]["ttft_ms"]["mean"])

    def test_html_is_one_page(self):
        path = self.folder / "out.html"
        done = replay("--duration", "5", "--html", str(path))
        self.assertEqual(done.returncode, 0)
        page = path.read_text()
        self.assertIn("</html>", page)
        self.assertNotIn("http://", page.replace("http://www.w3.org", ""))
        self.assertNotIn("https://", page)


if __name__ == "__main__":
    replay_case.main()
