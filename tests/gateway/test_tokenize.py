# SPDX-License-Identifier: MIT
"""Token ids of prompts: with them KV events match, and without them requests
are served all the same."""
import http.client
import json
import re
import time
import unittest

from harness import Case, get_json, wait_for

CHAT = "/v1/chat/completions"
IDS = "/ids"
FAILURES = "lbroute_tokenize_failures_total"


def chat(text):
    """The body of a request."""
    return {"model": "mock-model", "max_tokens": 4,
            "messages": [{"role": "user", "content": text}]}


class Tokenize(Case):
    """A gateway that asks for token ids."""

    def test_events_match(self):
        """The router counts on just what the engine then finds."""
        engines = []
        for _ in range(2):
            engine = self.engine("--speed", "50", "--kv-events", "0",
                                 "--kv-replay", "0")
            events = re.search(r"^kv events on (\S+)$", engine.output(), re.M)
            engines.append({"url": engine.url, "tokenize": "/tokenize",
                            "kv_events": [{"events": events[1]}]})
        proxy = self.proxy(engines, pool={"strategy": "precise_cache_aware"})
        text = "A prompt that fills some blocks. " * 60
        usage = get_json(proxy.port, CHAT, chat(text))["usage"]
        whole = usage["prompt_tokens"] // 16
        wait_for("its blocks", lambda: any(
            target["kv"]["blocks"] and target["kv"]["blocks"] >= whole
            for target in proxy.admin("/api/targets")["targets"]))
        client = http.client.HTTPConnection("127.0.0.1", proxy.port)
        client.request("POST", CHAT, json.dumps(chat(text + "And more.")),
                       {"Content-Type": "application/json"})
        answer = client.getresponse()
        cached = json.load(answer)["usage"]["prompt_tokens_details"]
        client.close()
        self.assertEqual(answer.headers["X-Lbroute-Algorithm"],
                         "precise_cache_aware")
        matched = int(answer.headers["X-Lbroute-Prefix"].split("/")[0])
        self.assertGreaterEqual(matched, whole - 1)
        self.assertEqual(matched * 16, cached["cached_tokens"])

    def strange(self):
        """A gateway whose tokenizer is another server: (both)."""
        tokenizer = self.pages()
        proxy = self.proxy([{"url": tokenizer.url, "weight": 0,
                             "tokenize": IDS}, self.engine("--instant")])
        return tokenizer, proxy

    def test_bad_answers(self):
        """Each is counted, and the request goes by its text."""
        bodies = (b"", b"{", b"[]", b'{"tokens": []}', b'{"tokens": [-1]}',
                  b'{"tokens": [1, "2"]}', b'{"tokens": [4294967296]}')
        for answer in ((500, b"{}"), *((200, body) for body in bodies)):
            tokenizer, proxy = self.strange()
            tokenizer.pages[IDS] = answer
            for _ in range(3):
                self.assertIn("choices", get_json(proxy.port, CHAT, chat("x")))
            self.assertEqual(proxy.metric(FAILURES), 1, answer)
            self.assertEqual(len(tokenizer.seen), 1, answer)
            proxy.assert_idle()

    def test_errors_of_the_request(self):
        """The engine is asked again: they say nothing of it."""
        tokenizer, proxy = self.strange()
        tokenizer.pages[IDS] = (400, b"{}")
        for _ in range(3):
            self.assertIn("choices", get_json(proxy.port, CHAT, chat("x")))
        self.assertEqual((proxy.metric(FAILURES), len(tokenizer.seen)), (3, 3))

    def test_silence(self):
        """Costs one request the patience, and then nobody for a while."""
        tokenizer, proxy = self.strange()
        tokenizer.pages[IDS] = (200, lambda _page: time.sleep(4))
        begin = time.monotonic()
        get_json(proxy.port, CHAT, chat("x"))
        self.assertGreater(time.monotonic() - begin, 1.5)
        begin = time.monotonic()
        get_json(proxy.port, CHAT, chat("x"))
        self.assertLess(time.monotonic() - begin, 1.5)
        self.assertEqual(len(tokenizer.seen), 1)

    def test_vanished_client(self):
        """Nothing stays open of one who left meanwhile."""
        tokenizer, proxy = self.strange()
        tokenizer.pages[IDS] = (200, lambda _page: time.sleep(1))
        client = http.client.HTTPConnection("127.0.0.1", proxy.port)
        client.request("POST", CHAT, json.dumps(chat("x")),
                       {"Content-Type": "application/json"})
        wait_for("the question", lambda: tokenizer.seen)
        client.close()
        proxy.assert_idle()


if __name__ == "__main__":
    unittest.main()
