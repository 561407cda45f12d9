# SPDX-License-Identifier: MIT
"""The operator's port of the whole gateway, with mock engines behind it and,
where there is one, a browser before it."""
import json
import unittest
import urllib.error
import urllib.request

import browser
from harness import Case, wait_for

PATH = "/v1/chat/completions"
SECRET = "sk-of-a-client-0123456789"
PROMPT = "What stands in the prompt stays with client and engine. " * 30


def body(text=PROMPT, model="mock-model"):
    return {"model": model, "max_tokens": 4,
            "messages": [{"role": "user", "content": text}]}


def ask(proxy, text=PROMPT):
    """Headers of an answer."""
    request = urllib.request.Request(
        proxy.url + PATH, json.dumps(body(text)).encode(),
        {"Content-Type": "application/json", "x-session-id": "a session",
         "Authorization": "Bearer " + SECRET})
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()
        return answer.headers


class Operator(Case):
    def setUp(self):
        self.engines = [self.engine("--instant"), self.engine("--instant")]
        self.gateway = self.proxy(self.engines, pool={"strategy": "kv_aware"})

    def target(self, name):
        return next(target for target
                    in self.gateway.admin("/api/targets")["targets"]
                    if target["name"] == name)

    def test_counts_are_those_of_the_engines(self):
        for _ in range(20):
            ask(self.gateway)
        self.gateway.assert_idle()
        status = self.gateway.status()
        self.assertEqual(status["counters"]["requests"], 20)
        self.assertEqual(status["counters"]["answers"]["2xx"], 20)
        self.assertEqual(status["router"]["picks"], 20)
        self.assertEqual(status["durations"]["total"]["count"], 20)
        targets = self.gateway.admin("/api/targets")["targets"]
        self.assertEqual(sum(t["outcomes"]["success"] for t in targets), 20)
        for target in targets:
            self.assertLessEqual(target["cached_tokens"],
                                 target["input_tokens"])
        self.assertIn("\nlbroute_requests_total 20\n",
                      self.gateway.page("/metrics"))

    def test_a_sample_is_explained_as_it_is_then_picked(self):
        headers = {"x-session-id": "a session",
                   "Authorization": "Bearer " + SECRET}
        for turn in range(10):
            text = PROMPT + "And more. " * turn
            told = self.gateway.admin("/api/explain", {
                "path": PATH, "headers": headers, "body": body(text)})
            again = self.gateway.admin("/api/explain", {
                "path": PATH, "headers": headers, "body": body(text)})
            self.assertEqual(told, again)
            got = ask(self.gateway, text)
            for name, value in told["headers"].items():
                self.assertEqual(got[name], value, name)
            self.gateway.assert_idle()

    def test_drained_ones_get_nothing(self):
        self.gateway.admin("/api/targets/engine-0", {"drain": True})
        for _ in range(6):
            self.assertEqual(ask(self.gateway)["X-Lbroute-Server"], "engine-1")
        self.gateway.admin("/api/targets/engine-1", {"drain": True})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            ask(self.gateway)
        refused.exception.close()
        self.assertEqual(refused.exception.code, 503)
        self.gateway.admin("/api/targets/engine-0", {"drain": False})
        self.assertEqual(ask(self.gateway)["X-Lbroute-Server"], "engine-0")

    def test_decisions_have_their_end(self):
        ask(self.gateway)
        self.gateway.assert_idle()
        decision = self.gateway.admin("/api/decisions")["decisions"][-1]
        self.assertEqual((decision["outcome"], decision["status"]),
                         ("success", 200))
        self.assertEqual(decision["path"], PATH)
        self.assertGreater(decision["input_tokens"], 0)
        whole = self.gateway.admin(f"/api/decisions/{decision['number']}")
        self.assertEqual({c["target"] for c in whole["explanation"]},
                         {"engine-0", "engine-1"})

    def test_neither_keys_nor_prompts_are_told(self):
        ask(self.gateway)
        self.gateway.assert_idle()
        number = self.gateway.status()["newest_decision"]
        for path in ["/", "/metrics", "/api/status", "/api/pools",
                     "/api/targets", "/api/clients", "/api/decisions",
                     f"/api/decisions/{number}"]:
            text = self.gateway.page(path)
            self.assertNotIn(SECRET, text, path)
            self.assertNotIn("stays with client", text, path)
            self.assertNotIn("a session", text, path)

    def test_reload(self):
        self.gateway.write(self.engines[:1], pool={"strategy": "weighted"})
        self.assertEqual(self.gateway.admin("/api/reload", {}),
                         {"reloaded": True})
        pools = self.gateway.admin("/api/pools")["pools"]
        self.assertEqual([(p["strategy"], p["targets"]) for p in pools],
                         [("weighted", 1)])
        with open(self.gateway.config, "w", encoding="utf-8") as file:
            file.write("listen:\n  prot: 5\n")
        with self.assertRaisesRegex(AssertionError, r"400 .*yaml:2:3: "):
            self.gateway.admin("/api/reload", {})
        self.assertEqual(len(self.gateway.admin("/api/targets")["targets"]), 1)
        self.assertEqual(self.gateway.status()["counters"]["reload_failures"],
                         1)

    @unittest.skipUnless(browser.find_browser(), "there is no browser")
    def test_the_page(self):
        for turn in range(8):
            ask(self.gateway, PROMPT + str(turn))
        with browser.Browser() as chromium:
            url = f"http://127.0.0.1:{self.gateway.admin_port}/"
            seen = chromium.open(url)
            seen.wait("document.querySelectorAll('#target-rows tr').length"
                      " === 2")
            seen.wait("document.querySelectorAll('.decision').length === 8")
            seen.run("document.querySelector('.decision .mark')"
                     ".closest('button').click()")
            seen.wait("document.querySelectorAll('.candidates tbody tr')"
                      ".length === 2")
            self.assertIn("8 in all", seen.run(
                "document.getElementById('tiles').innerText"))
            self.assertEqual(seen.complaints(), [])
            self.assertEqual(
                [address for address in seen.requested()
                 if not address.startswith((url, "data:"))], [])
            self.gateway.stop()
            wait_for("word that nobody answers", lambda: seen.run(
                "!document.getElementById('stale').hidden"))


if __name__ == "__main__":
    unittest.main()
