# SPDX-License-Identifier: MIT
"""Token ids of prompts: with them KV events match, and without them requests
are served all the same."""
import http.client
import json
import re
import threading
import time
import unittest

from harness import Case, PATIENCE, get_json, wait_for

CHAT = "/v1/chat/completions"
IDS = "/ids"
FAILURES = "lbroute_tokenize_failures_total"


def slowly(status, piece, pause, length=1 << 30):
    """An answer that comes piece by piece, for ten seconds."""
    def answer(reply):
        reply.send_response(status)
        reply.send_header("Content-Length", str(length))
        reply.end_headers()
        reply.close_connection = True
        end = time.monotonic() + 10
        try:
            while time.monotonic() < end:
                reply.wfile.write(piece)
                time.sleep(pause)
        except OSError:
            pass
    return status, answer


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
            events, replay = re.findall(r"^kv (?:events|replay) on (\S+)$",
                                        engine.output(), re.M)
            engines.append({"url": engine.url, "tokenize": "/tokenize",
                            "kv_events": [{"events": events,
                                           "replay": replay}]})
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

    def strange(self, **settings):
        """A gateway whose tokenizer is another server: (both)."""
        tokenizer = self.pages()
        proxy = self.proxy([{"url": tokenizer.url, "weight": 0,
                             "tokenize": IDS, **settings},
                            self.engine("--instant")],
                           environment={"LBROUTE_TEST_KEY": "sesame"})
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
        for status in (400, 413, 422, 401, 403):
            tokenizer, proxy = self.strange()
            tokenizer.pages[IDS] = (status, b"{}")
            for _ in range(3):
                self.assertIn("choices", get_json(proxy.port, CHAT, chat("x")))
            self.assertEqual((proxy.metric(FAILURES), len(tokenizer.seen)), (3, 3))
            self.assertNotIn("token ids", proxy.output())

    def test_errors_of_the_engine(self):
        """It is left alone; so is one that does not take its own key."""
        for status in (404, 405, 429, 503):
            tokenizer, proxy = self.strange()
            tokenizer.pages[IDS] = (status, b"{}")
            for _ in range(3):
                self.assertIn("choices", get_json(proxy.port, CHAT, chat("x")))
            self.assertEqual((proxy.metric(FAILURES), len(tokenizer.seen)), (1, 1))
            self.assertIn(f"engine-0 tells no token ids: status {status}\n",
                          proxy.output())
        tokenizer, proxy = self.strange(api_key_env="LBROUTE_TEST_KEY")
        tokenizer.pages[IDS] = (401, b"{}")
        for _ in range(3):
            self.assertIn("choices", get_json(proxy.port, CHAT, chat("x")))
        self.assertEqual(len(tokenizer.seen), 1)

    def test_one_line(self):
        """For all whom an engine fails at the same time."""
        tokenizer, proxy = self.strange()
        gate = threading.Event()
        tokenizer.pages[IDS] = (500, lambda reply: (gate.wait(10),
                                                    reply.send_error(500)))
        clients = [threading.Thread(target=get_json, args=(
            proxy.port, CHAT, chat("x"))) for _ in range(4)]
        for client in clients:
            client.start()
        wait_for("all questions", lambda: len(tokenizer.seen) == 4, 1)
        gate.set()
        for client in clients:
            client.join()
        self.assertEqual(proxy.metric(FAILURES), 4)
        self.assertEqual(proxy.output().count("token ids"), 1)

    def test_nothing_to_ask(self):
        """No text has no ids, which is nobody's fault."""
        tokenizer, proxy = self.strange()
        tokenizer.pages[IDS] = (200, b'{"tokens": []}')
        with self.assertRaises(AssertionError):  # The mock refuses it.
            get_json(proxy.port, "/v1/completions",
                     {"model": "mock-model", "max_tokens": 4, "prompt": ""})
        self.assertEqual((proxy.metric(FAILURES), len(tokenizer.seen)), (0, 0))

    def test_drained(self):
        """Nothing goes to a target that the operator has drained."""
        tokenizer, proxy = self.strange()
        tokenizer.pages[IDS] = (200, b'{"tokens": [1]}')
        proxy.admin("/api/targets/engine-0", {"drain": True})
        get_json(proxy.port, CHAT, chat("x"))
        self.assertEqual(len(tokenizer.seen), 0)
        proxy.admin("/api/targets/engine-0", {"drain": False})
        get_json(proxy.port, CHAT, chat("x"))
        self.assertEqual(len(tokenizer.seen), 1)

    def test_silence(self):
        """Costs one request the patience, and then nobody for a while."""
        tokenizer, proxy = self.strange()
        tokenizer.pages[IDS] = (200, lambda _reply: time.sleep(4))
        begin = time.monotonic()
        get_json(proxy.port, CHAT, chat("x"))
        self.assertGreater(time.monotonic() - begin, 1.5)
        begin = time.monotonic()
        get_json(proxy.port, CHAT, chat("x"))
        self.assertLess(time.monotonic() - begin, 1.5)
        self.assertEqual(len(tokenizer.seen), 1)

    def took(self, proxy, body=None, headers=None):
        """Seconds that an answer takes."""
        begin = time.monotonic()
        client = http.client.HTTPConnection("127.0.0.1", proxy.port)
        client.request("POST", CHAT, json.dumps(body or chat("x")),
                       {"Content-Type": "application/json", **(headers or {})})
        self.assertIn("choices", json.load(client.getresponse()))
        client.close()
        return time.monotonic() - begin

    def test_byte_by_byte(self):
        """No patience with those who only just speak."""
        tokenizer, proxy = self.strange()
        tokenizer.pages[IDS] = slowly(200, b" ", 0.5)
        took = self.took(proxy)
        self.assertGreater(took, 1.5)
        self.assertLess(took, 2 + 1.5 * PATIENCE)

    def test_of_no_use(self):
        """What will not become ids is not heard to its end."""
        for answer in (slowly(500, b" ", 0.5), slowly(404, b"", 0.5),
                       slowly(200, b" " * (2 << 20), 0.5)):
            tokenizer, proxy = self.strange()
            tokenizer.pages[IDS] = answer
            self.assertLess(self.took(proxy), 1.5 * PATIENCE)
            self.assertEqual(proxy.metric(FAILURES), 1)
            proxy.assert_idle()

    def test_deadline(self):
        """Half of what is left for the answer, and nothing of a moment."""
        tokenizer, proxy = self.strange()
        tokenizer.pages[IDS] = (200, lambda _reply: time.sleep(4))
        client = http.client.HTTPConnection("127.0.0.1", proxy.port)
        client.request("POST", CHAT, json.dumps(chat("x")),
                       {"Content-Type": "application/json",
                        "X-Deadline-Ms": "49"})
        client.getresponse().read()
        client.close()
        self.assertEqual(len(tokenizer.seen), 0)
        took = self.took(proxy, headers={"X-Deadline-Ms": "800"})
        self.assertGreater(took, 0.4)
        self.assertLess(took, 1.5)
        self.assertEqual((proxy.metric(FAILURES), len(tokenizer.seen)), (1, 1))

    def test_deadlines_of_others(self):
        """Who had little time is asked again sooner."""
        tokenizer, proxy = self.strange()
        tokenizer.pages[IDS] = (200, lambda _reply: time.sleep(1))
        hurry = {"X-Deadline-Ms": "200"}
        self.took(proxy, headers=hurry)
        self.took(proxy, headers=hurry)
        self.assertEqual(len(tokenizer.seen), 1)
        time.sleep(1.6)
        self.took(proxy, headers=hurry)
        self.assertEqual(len(tokenizer.seen), 2)

    def test_vanished_client(self):
        """Nothing stays open of one who left meanwhile."""
        tokenizer, proxy = self.strange()
        tokenizer.pages[IDS] = (200, lambda _reply: time.sleep(1))
        client = http.client.HTTPConnection("127.0.0.1", proxy.port)
        client.request("POST", CHAT, json.dumps(chat("x")),
                       {"Content-Type": "application/json"})
        wait_for("the question", lambda: tokenizer.seen)
        client.close()
        proxy.assert_idle()


if __name__ == "__main__":
    unittest.main()
