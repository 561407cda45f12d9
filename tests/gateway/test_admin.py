# SPDX-License-Identifier: MIT
"""The operator's port: every resource, and all that it refuses.

usage: test_admin.py ADMIN_FIXTURE
"""

import json
import re
import socket
import sys
import time
import unittest

from stage import Stage, path_of

FIXTURE = sys.argv.pop(1)
HOSTILE = "<b>\"even\"\\two</b>"
JSON = {"Content-Type": "application/json"}
GETS = ["/api/status", "/api/pools", "/api/parameters", "/api/targets",
        "/api/clients", "/api/decisions"]
POSTS = ["/api/targets/chat-1", "/api/pools/chat", "/api/explain",
         "/api/adaptive", "/api/reload"]


def sample(model="llama-3.1-70b", headers=None):
    return {"path": "/v1/chat/completions", "headers": headers or {},
            "body": {"model": model,
                     "messages": [{"role": "user", "content": "Hello"}]}}


def without_ages(value):
    """Without what changes as time goes by."""
    if isinstance(value, dict):
        return {key: without_ages(item) for key, item in value.items()
                if not re.search(r"age_ms|left_ms|idle_ms|uptime|unix_ms",
                                 key)}
    if isinstance(value, list):
        return [without_ages(item) for item in value]
    return value


class Quiet(unittest.TestCase):
    """Without traffic: what does not change by itself must stay."""

    @classmethod
    def setUpClass(cls):
        cls.stage = Stage(FIXTURE, rate=0)

    @classmethod
    def tearDownClass(cls):
        status = cls.stage.stop()
        if status:
            raise AssertionError(f"the fixture ended with {status}")

    def refused(self, method, path, status, body=None, headers=None):
        got, answer_headers, answer = self.stage.ask(method, path, body,
                                                     headers)
        self.assertEqual(got, status, (method, path, answer))
        return answer_headers, answer

    def state(self):
        return without_ages([self.stage.get(path) for path in GETS])


class Resources(Quiet):
    def test_all_can_be_read(self):
        for path in GETS:
            status, headers, body = self.stage.ask("GET", path)
            self.assertEqual(status, 200, path)
            self.assertEqual(headers["Content-Type"], "application/json")
            self.assertEqual(headers["Cache-Control"], "no-store")
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertIsInstance(json.loads(body), dict)

    def test_head_has_no_body(self):
        for path in GETS + ["/", "/metrics", "/health"]:
            status, headers, body = self.stage.ask("HEAD", path)
            self.assertEqual((status, body), (200, b""), path)

    def test_health(self):
        self.assertEqual(self.stage.get("/health"), {"status": "ok"})

    def test_status_counts_the_router(self):
        status = self.stage.get("/api/status")
        self.assertEqual(status["router"]["targets"], 16)
        self.assertEqual(status["router"]["pools"], 5)
        self.assertTrue(status["adaptive"])
        self.assertFalse(status["draining"])
        self.assertGreater(status["uptime_s"], 0)

    def test_targets_say_all(self):
        targets = self.stage.get("/api/targets")["targets"]
        self.assertEqual(len(targets), 16)
        target = self.stage.target(HOSTILE)
        self.assertEqual(target["pool"], "even")
        self.assertEqual(target["weight"], 2)
        self.assertEqual(target["limit"], 64)
        self.assertAlmostEqual(target["share_configured"], 2 / 6)
        self.assertEqual(target["model"],
                         "<img src=x onerror=\"document.title='hurt'\">")
        self.assertEqual(target["state"], "ok")
        self.assertEqual(target["price"],
                         {"input": 0.59, "cached_input": 0.059,
                          "output": 0.79})

    def test_pools_say_all(self):
        pool = self.stage.pool("batch")
        self.assertEqual(pool["admission"], "queue_all")
        self.assertEqual(pool["limit"], 4)
        self.assertEqual(pool["strategy"], "least_connections")
        self.assertEqual(pool["parameters"]["queue.timeout"], 4)
        self.assertEqual(len(pool["shares"]), 2)

    def test_parameters_have_ranges(self):
        answer = self.stage.get("/api/parameters")
        self.assertIn("kv_aware", answer["strategies"])
        names = [parameter["name"] for parameter in answer["parameters"]]
        self.assertEqual(len(set(names)), len(names))
        for parameter in answer["parameters"]:
            self.assertLessEqual(parameter["minimum"], parameter["default"])
            self.assertLessEqual(parameter["default"], parameter["maximum"])

    def test_metrics(self):
        status, headers, body = self.stage.ask("GET", "/metrics")
        self.assertEqual(status, 200)
        self.assertIn("version=0.0.4", headers["Content-Type"])
        self.assertIn(b"\nlbroute_router_picks_total 0\n", body)

    def test_the_page_may_load_nothing_else(self):
        status, headers, body = self.stage.ask("GET", "/")
        self.assertEqual(status, 200)
        policy = headers["Content-Security-Policy"]
        for rule in ["default-src 'none'", "connect-src 'self'",
                     "frame-ancestors 'none'", "form-action 'none'",
                     "base-uri 'none'"]:
            self.assertIn(rule, policy)
        self.assertNotIn("unsafe", policy)
        addresses = set(re.findall(rb"https?://[^'\"/ ]+", body))
        self.assertLessEqual(addresses, {b"http://www.w3.org"})


class Refusals(Quiet):
    def test_what_there_is_not(self):
        for path in ["/api", "/api/", "/api/nothing", "/x", "/api/status/",
                     "/api/status/x", "/api/decisions/", "/metrics/",
                     "/favicon.ico", "//", "/api/decisions/1",
                     "/api/decisions/x", "/api/decisions/-1",
                     "/api/decisions/99999999999999999999999"]:
            self.refused("GET", path, 404)

    def test_no_such_target_or_pool(self):
        for path in ["/api/targets/nobody", "/api/targets/chat-1%00",
                     "/api/pools/none", "/api/targets/CHAT-1"]:
            self.refused("POST", path, 404, '{"weight":1}', JSON)

    def test_wrong_methods_name_the_right_ones(self):
        for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "POST"]:
            for path in GETS + ["/", "/metrics", "/health"]:
                headers, _ = self.refused(method, path, 405, "{}", JSON)
                self.assertEqual(headers["Allow"], "GET, HEAD")
        for method in ["PUT", "DELETE", "GET", "OPTIONS"]:
            for path in POSTS:
                headers, _ = self.refused(method, path, 405)
                self.assertEqual(headers["Allow"], "POST")

    def test_names_that_are_not_of_this_port(self):
        before = self.state()
        for host in ["evil.example", f"evil.example:{self.stage.port}",
                     "127.0.0.1.evil.example", "10.1.2.3", "[::2]"]:
            for path in GETS + ["/", "/metrics", "/health"]:
                self.refused("GET", path, 403, None, {"Host": host})
            self.refused("POST", "/api/adaptive", 403, '{"enabled":false}',
                         {**JSON, "Host": host})
        self.assertEqual(self.state(), before)

    def test_names_that_are(self):
        for host in ["localhost", "localhost:1", "127.0.0.1", "[::1]:80"]:
            status, _, _ = self.stage.ask("GET", "/api/status", None,
                                          {"Host": host})
            self.assertEqual(status, 200, host)

    def test_other_pages(self):
        before = self.state()
        for headers in [{"Origin": "http://evil.example"}, {"Origin": "null"},
                        {"Sec-Fetch-Site": "cross-site"},
                        {"Sec-Fetch-Site": "same-site"}]:
            self.refused("POST", "/api/adaptive", 403, '{"enabled":false}',
                         {**JSON, **headers})
            self.refused("GET", "/api/targets", 403, None, headers)
        self.assertEqual(self.state(), before)

    def test_nobody_is_allowed_across(self):
        for method, path in [("GET", "/api/status"), ("OPTIONS", "/api/status"),
                             ("POST", "/api/adaptive"), ("GET", "/")]:
            _, headers, _ = self.stage.ask(method, path, None, {
                "Origin": f"http://127.0.0.1:{self.stage.port}"})
            self.assertFalse([name for name in headers
                              if name.lower().startswith("access-control")])

    def test_only_json(self):
        before = self.state()
        for headers in [{}, {"Content-Type": "text/plain"},
                        {"Content-Type": "application/x-www-form-urlencoded"},
                        {"Content-Type": "multipart/form-data"},
                        {"Content-Type": "application/jsonx"}]:
            self.refused("POST", "/api/adaptive", 415, '{"enabled":false}',
                         headers)
        self.assertEqual(self.state(), before)

    def test_bodies_that_are_no_object(self):
        before = self.state()
        for body in ["", "{", "null", "[]", "1", '"x"', "{}{}", "\x00",
                     '{"enabled":false,}', '{"enabled":false,"enabled":true}',
                     "[" * 100000, '{"a":' * 100000, b"\xff\xfe",
                     '{"enabled":"\\ud800"}']:
            for path in POSTS:
                self.refused("POST", path, 400, body, JSON)
        self.assertEqual(self.state(), before)

    def test_a_body_that_is_too_large(self):
        body = json.dumps({"weight": 1, "x": "x" * (1 << 20)})
        try:
            self.refused("POST", "/api/targets/chat-1", 413, body, JSON)
        except (ConnectionResetError, BrokenPipeError):
            pass  # It need not read what it refuses.
        self.assertEqual(self.stage.target("chat-1")["weight"], 1)

    def test_framing_in_two_ways(self):
        for head in ["Content-Length: 2\r\nContent-Length: 3",
                     "Content-Length: 2\r\nTransfer-Encoding: chunked",
                     "Host: localhost\r\nHost: evil.example"]:
            answer = self.raw("POST /api/adaptive HTTP/1.1\r\n" + head
                              + "\r\nContent-Type: application/json\r\n\r\n{}")
            self.assertRegex(answer, rb"^HTTP/1.1 4\d\d ")

    def test_without_a_host(self):
        self.assertRegex(self.raw("GET /api/status HTTP/1.0\r\n\r\n"),
                         rb"^HTTP/1.[01] 4\d\d ")

    def test_noise_does_no_harm(self):
        for noise in ["\r\n\r\n", "\0" * 100, "GET", "GET / HTTP/9.9\r\n\r\n",
                      "X" * 200000, "GET /%zz HTTP/1.1\r\n\r\n",
                      "GET http://[ HTTP/1.1\r\n\r\n",
                      "CONNECT evil.example:1 HTTP/1.1\r\n\r\n"]:
            self.raw(noise)
            self.assertEqual(self.stage.get("/health"), {"status": "ok"})

    def raw(self, text):
        with socket.create_connection(("127.0.0.1", self.stage.port), 5) as so:
            try:
                so.sendall(text.encode("latin-1"))
                so.shutdown(socket.SHUT_WR)
                return so.recv(65536)
            except OSError:
                return b""


class Changes(Quiet):
    def test_drain_and_restore(self):
        status, target = self.stage.post("/api/targets/smart-1",
                                         {"drain": True})
        self.assertEqual((status, target["state"]), (200, "draining"))
        self.assertTrue(self.stage.target("smart-1")["drained"])
        status, target = self.stage.post("/api/targets/smart-1",
                                         {"drain": False})
        self.assertEqual((status, target["drained"]), (200, False))

    def test_weight_and_share(self):
        status, target = self.stage.post("/api/targets/even-1", {"weight": 5})
        self.assertEqual((status, target["weight"]), (200, 5))
        self.assertAlmostEqual(
            self.stage.target("even-3")["share_configured"], 3 / 10)
        status, target = self.stage.post("/api/targets/even-1", {"weight": 0})
        self.assertEqual((status, target["state"]), (200, "draining"))
        self.stage.post("/api/targets/even-1", {"weight": 1})

    def test_bench_and_back(self):
        _, target = self.stage.post("/api/targets/chat-2", {"bench_s": 30})
        self.assertEqual(target["state"], "benched")
        self.assertGreater(target["bench_left_ms"], 29000)
        self.assertLessEqual(target["bench_left_ms"], 30000)
        _, target = self.stage.post("/api/targets/chat-2", {"bench_s": 0})
        self.assertEqual(target["state"], "ok")

    def test_names_of_any_kind(self):
        status, target = self.stage.post(path_of(HOSTILE), {"weight": 2.5})
        self.assertEqual((status, target["weight"]), (200, 2.5))
        self.stage.post(path_of(HOSTILE), {"weight": 2})

    def test_a_wrong_part_changes_nothing(self):
        before = self.state()
        for body in [{}, {"weight": "2"}, {"weight": -1}, {"weight": 1e-7},
                     {"weight": 1e10}, {"weight": None}, {"weight": True},
                     {"weight": 5, "drain": "yes"}, {"weight": 5, "drain": 1},
                     {"weight": 5, "bench_s": -1},
                     {"weight": 5, "bench_s": 1e9},
                     {"weight": 5, "wieght": 5}, {"drain": None}]:
            status, answer = self.stage.post("/api/targets/chat-1", body)
            self.assertEqual(status, 400, body)
            self.assertTrue(answer["error"]["message"])
        self.refused("POST", "/api/targets/chat-1", 400, '{"weight":1e999}',
                     JSON)
        self.assertEqual(self.state(), before)

    def test_strategy_and_parameters(self):
        status, pool = self.stage.post("/api/pools/smart", {
            "strategy": "fastest", "parameters": {"queue.timeout": 7}})
        self.assertEqual((status, pool["strategy"]), (200, "fastest"))
        self.assertEqual(self.stage.pool("smart")["parameters"]
                         ["queue.timeout"], 7)
        self.stage.post("/api/pools/smart", {
            "strategy": "adaptive", "parameters": {"queue.timeout": 30}})

    def test_a_wrong_parameter_changes_nothing(self):
        before = self.state()
        for body in [{}, {"strategy": "best"}, {"strategy": 1},
                     {"strategy": "random", "parameters": {"no.such": 1}},
                     {"strategy": "random", "parameters": []},
                     {"strategy": "random", "typo": 1},
                     {"parameters": {"queue.timeout": 7, "queue.depth": -1}},
                     {"parameters": {"queue.timeout": 7,
                                     "queue.enabled": 0.5}},
                     {"parameters": {"queue.timeout": 7,
                                     "admission.mode": "queue"}}]:
            status, answer = self.stage.post("/api/pools/chat", body)
            self.assertEqual(status, 400, (body, answer))
        self.assertEqual(self.state(), before)

    def test_kill_switch(self):
        self.assertEqual(self.stage.post("/api/adaptive", {"enabled": False}),
                         (200, {"adaptive": False}))
        self.assertFalse(self.stage.get("/api/status")["adaptive"])
        for body in [{}, {"enabled": 1}, {"enabled": None},
                     {"enabled": True, "x": 1}]:
            self.assertEqual(self.stage.post("/api/adaptive", body)[0], 400)
        self.assertFalse(self.stage.get("/api/status")["adaptive"])
        self.stage.post("/api/adaptive", {"enabled": True})
        self.assertTrue(self.stage.get("/api/status")["adaptive"])

    def test_reload(self):
        self.assertEqual(self.stage.post("/api/reload", {})[0], 200)
        status, answer = self.stage.post("/api/reload", {})
        self.assertEqual(status, 400)
        self.assertIn("proxy.yaml:3:5", answer["error"]["message"])
        self.assertEqual(self.stage.post("/api/reload", {"x": 1})[0], 400)
        counters = self.stage.get("/api/status")["counters"]
        self.assertEqual(counters["reloads"], 1)
        self.assertEqual(counters["reload_failures"], 1)


class Explanations(Quiet):
    def test_decision_headers_and_candidates(self):
        status, answer = self.stage.post("/api/explain", sample())
        self.assertEqual((status, answer["result"]), (200, "ok"))
        candidates = {candidate["target"]: candidate
                      for candidate in answer["explanation"]}
        self.assertEqual(set(candidates),
                         {f"chat-{i}" for i in range(1, 6)})
        picked = [name for name, candidate in candidates.items()
                  if candidate["picked"]]
        self.assertEqual(picked, [answer["target"]])
        self.assertEqual(answer["headers"]["X-Lbroute-Server"],
                         answer["target"])
        self.assertEqual(answer["headers"]["X-Lbroute-Pool"], "chat")
        self.assertGreater(answer["expected"]["cost_usd"], 0)

    def test_verdicts(self):
        self.stage.post("/api/targets/chat-3", {"drain": True})
        self.stage.post("/api/targets/chat-4", {"bench_s": 30})
        _, answer = self.stage.post("/api/explain", sample())
        verdicts = {candidate["target"]: candidate["verdict"]
                    for candidate in answer["explanation"]}
        self.stage.post("/api/targets/chat-3", {"drain": False})
        self.stage.post("/api/targets/chat-4", {"bench_s": 0})
        self.assertEqual(verdicts, {
            "chat-1": "none", "chat-2": "none", "chat-3": "drained",
            "chat-4": "benched", "chat-5": "none"})
        self.assertEqual(answer["eligible"], 3)

    def test_nobody(self):
        for i in (1, 2):
            self.stage.post(f"/api/targets/batch-{i}", {"drain": True})
        _, answer = self.stage.post("/api/explain", sample("qwen-2.5-32b"))
        for i in (1, 2):
            self.stage.post(f"/api/targets/batch-{i}", {"drain": False})
        self.assertEqual(answer["result"], "no_target")
        self.assertEqual(answer["target"], "")
        self.assertEqual(answer["reasons"], {"drained": 2})

    def test_it_has_no_effect(self):
        before = self.state()
        picks = set()
        for i in range(50):
            for model in ["llama-3.1-70b", "qwen-2.5-32b", "mistral-small",
                          "deepseek-v3"]:
                _, answer = self.stage.post(
                    "/api/explain",
                    sample(model, {"x-session-id": "the same"}))
                picks.add((model, answer["target"]))
        self.assertEqual(self.state(), before)
        self.assertEqual(len(picks), 4, "the same answer each time")

    def test_what_the_client_would_be_refused(self):
        _, answer = self.stage.post("/api/explain", sample("no such model"))
        self.assertEqual(answer["refused"]["status"], 404)
        _, answer = self.stage.post("/api/explain",
                                    {"path": "/nothing", "body": {}})
        self.assertEqual(answer["refused"]["status"], 404)
        _, answer = self.stage.post("/api/explain", {
            "path": "/v1/chat/completions", "body": {"messages": 5}})
        self.assertEqual(answer["refused"]["status"], 400)

    def test_samples_that_are_none(self):
        for body in [{}, {"path": "/v1/chat/completions"},
                     {"path": 5, "body": {}}, {"path": "/x", "body": []},
                     {**sample(), "headers": {"x": 5}},
                     {**sample(), "headers": {"x": "a\r\nb: c"}},
                     {**sample(), "headers": {"a\r\nb": "c"}},
                     {**sample(), "headers": ["x"]}, {**sample(), "x": 1},
                     {**sample(), "headers": {f"x{i}": "" for i in
                                              range(101)}}]:
            status, _ = self.stage.post("/api/explain", body)
            self.assertEqual(status, 400, body)


class Traffic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stage = Stage(FIXTURE, rate=40)
        time.sleep(3)

    @classmethod
    def tearDownClass(cls):
        status = cls.stage.stop()
        if status:
            raise AssertionError(f"the fixture ended with {status}")

    def test_decisions_go_on_from_a_number(self):
        first = self.stage.get("/api/decisions")
        numbers = [d["number"] for d in first["decisions"]]
        self.assertEqual(numbers, list(range(numbers[0], numbers[-1] + 1)))
        self.assertEqual(numbers[-1], first["newest"])
        second = self.stage.get(f"/api/decisions?after={numbers[-1]}")
        self.assertTrue(all(d["number"] > numbers[-1]
                            for d in second["decisions"]))
        everything = self.stage.get("/api/decisions?after=x")
        self.assertGreaterEqual(len(everything["decisions"]), len(numbers))
        future = self.stage.get("/api/decisions?after=18446744073709551615")
        self.assertEqual(future["decisions"], [])

    def test_an_explained_one_has_its_candidates(self):
        decision = [d for d in self.stage.get("/api/decisions")["decisions"]
                    if d["explained"] and d["result"] == "ok"][-1]
        whole = self.stage.get(f"/api/decisions/{decision['number']}")
        self.assertEqual(len(whole["explanation"]), decision["candidates"])
        self.assertEqual([candidate["target"] for candidate
                          in whole["explanation"] if candidate["picked"]],
                         [decision["target"]])

    def test_clients_are_digests_in_order_of_what_they_hold(self):
        clients = self.stage.get("/api/clients")["clients"]
        self.assertGreater(len(clients), 3)
        for client in clients:
            self.assertRegex(client["client"], "^[0-9a-f]{16}$")
            self.assertAlmostEqual(
                client["blocks"],
                sum(target["blocks"] for target in client["targets"]),
                delta=1e-3)
        blocks = [client["blocks"] for client in clients]
        self.assertEqual(blocks, sorted(blocks, reverse=True))

    def test_neither_prompts_nor_clients_are_told(self):
        for path in GETS + ["/metrics"]:
            _, _, body = self.stage.ask("GET", path)
            self.assertNotRegex(body, rb"client \d|session \d|abcdefghij")

    def test_many_at_once(self):
        for _ in range(200):
            self.assertEqual(self.stage.get("/health"), {"status": "ok"})
            self.stage.get("/api/targets")


if __name__ == "__main__":
    unittest.main()
