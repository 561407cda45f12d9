# SPDX-License-Identifier: MIT
"""The mock engine over real sockets."""

import base64
import http.client
import json
import socket
import struct
import subprocess
import threading
import time
import unittest

import harness
from harness import MOCK, PATIENCE, Mock, wait_for
from mock_engine import answer, chat_answer, events, get, post

CHAT = "/v1/chat/completions"


def address(engine):
    return "127.0.0.1", engine.port


def user(text, **more):
    return {"model": "mock-model",
            "messages": [{"role": "user", "content": text}], **more}


class Running(unittest.TestCase):
    """One engine for all tests of a class."""
    options = ("--speed", "100")

    @classmethod
    def setUpClass(cls):
        cls.engine = Mock(*cls.options)

    @classmethod
    def tearDownClass(cls):
        status, said = cls.engine.stop(), cls.engine.output()
        cls.engine.clean_up()
        if status != 0:
            raise AssertionError(f"it ended with {status}:\n{said}")

    def tearDown(self):
        self.engine.faults()

    def wait_for(self, what, **wanted):
        """Waits until the state is as wanted."""
        def holds():
            state = self.engine.state()
            return all(state[key] == value for key, value in wanted.items())
        wait_for(f"{what}: {wanted}", holds)


class Answers(Running):
    options = ("--speed", "100", "--model", "mock-model", "--model", "other",
               "--lora", "sql", "--max-model-len", "1000")

    def test_chat(self):
        status, headers, body = post(self.engine, 
            CHAT, user("Good morning", max_tokens=5))
        self.assertEqual(status, 200)
        self.assertIsNotNone(headers["Content-Length"])
        choice = body["choices"][0]
        self.assertEqual(choice["message"]["role"], "assistant")
        self.assertEqual(choice["message"]["content"],
                         chat_answer("Good morning", 5))
        self.assertEqual(choice["finish_reason"], "length")
        # Role, three times four bytes, the end, and the role of the answer.
        self.assertEqual(body["usage"], {
            "prompt_tokens": 6, "completion_tokens": 5, "total_tokens": 11,
            "prompt_tokens_details": {"cached_tokens": 0}})

    def test_the_prompt_is_all_of_the_conversation(self):
        body = {"model": "other", "max_completion_tokens": 4, "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "He"},
                                         {"type": "text", "text": "llo"}]}]}
        _, _, reply = post(self.engine, CHAT, body)
        self.assertEqual(reply["model"], "other")
        self.assertEqual(reply["choices"][0]["message"]["content"],
                         chat_answer("Hello", 4, system="Be brief."))

    def test_an_answer_without_a_limit_ends_by_itself(self):
        _, _, body = post(self.engine, CHAT, user("Hello"))
        self.assertEqual(body["choices"][0]["finish_reason"], "stop")
        self.assertEqual(body["choices"][0]["message"]["content"],
                         chat_answer("Hello", 16))

    def test_chat_stream(self):
        status, headers, body = post(self.engine, CHAT, user(
            "Hello", max_tokens=7, stream=True,
            stream_options={"include_usage": True}))
        self.assertEqual(status, 200)
        self.assertEqual(headers.get_content_type(), "text/event-stream")
        chunks = [data for _, data in events(body)]
        self.assertEqual(chunks.pop(), "[DONE]")
        usage = chunks.pop()
        self.assertEqual(usage["choices"], [])
        self.assertEqual(usage["usage"]["completion_tokens"], 7)
        deltas = [chunk["choices"][0] for chunk in chunks]
        self.assertEqual(deltas[0]["delta"]["role"], "assistant")
        self.assertEqual(
            "".join(delta["delta"]["content"] for delta in deltas),
            chat_answer("Hello", 7))
        self.assertEqual([delta["finish_reason"] for delta in deltas],
                         [None] * 8 + ["length"])
        self.assertEqual(len({chunk["id"] for chunk in chunks}), 1)

    def test_no_usage_unless_asked_for(self):
        _, _, body = post(self.engine, CHAT, user("Hello", stream=True))
        self.assertNotIn("usage", body)

    def test_completion(self):
        body = {"model": "sql", "prompt": "SELECT ", "max_tokens": 3}
        _, _, reply = post(self.engine, "/v1/completions", body)
        self.assertEqual(reply["choices"][0]["text"], answer("SELECT ", 3))
        self.assertEqual(reply["usage"]["prompt_tokens"], 2)
        _, _, text = post(self.engine, "/v1/completions",
                                      {**body, "stream": True})
        chunks = [data for _, data in events(text)]
        self.assertEqual(chunks.pop(), "[DONE]")
        self.assertEqual(
            "".join(chunk["choices"][0]["text"] for chunk in chunks),
            answer("SELECT ", 3))

    def test_completion_of_tokens(self):
        _, _, reply = post(self.engine, 
            "/v1/completions", {"prompt": [5, 17, 131071], "max_tokens": 2})
        self.assertEqual(reply["usage"]["prompt_tokens"], 3)
        self.assertEqual(reply["choices"][0]["text"], answer("5 17 131071 ", 2))

    def test_response(self):
        body = {"model": "mock-model", "instructions": "Be brief.",
                "input": "Hello", "max_output_tokens": 4}
        text = chat_answer("Hello", 4, system="Be brief.")
        _, _, reply = post(self.engine, "/v1/responses", body)
        self.assertEqual(reply["output"][0]["content"][0]["text"], text)
        self.assertEqual(reply["status"], "incomplete")
        self.assertEqual(reply["usage"]["output_tokens"], 4)
        _, _, stream = post(self.engine, "/v1/responses",
                                        {**body, "stream": True})
        pairs = events(stream)
        self.assertEqual([name for name, _ in pairs], [
            "response.created", "response.in_progress",
            "response.output_item.added", "response.content_part.added",
            *["response.output_text.delta"] * 4, "response.output_text.done",
            "response.content_part.done", "response.output_item.done",
            "response.incomplete"])
        self.assertEqual([data["sequence_number"] for _, data in pairs],
                         list(range(len(pairs))))
        self.assertEqual("".join(data["delta"] for _, data in pairs
                                 if "delta" in data), text)
        self.assertEqual(pairs[-1][1]["response"]["output"], reply_output(
            reply, pairs[-1][1]["response"]["output"][0]["id"]))

    def test_message(self):
        body = {**user("Hello", max_tokens=4), "system": "Be brief."}
        text = chat_answer("Hello", 4, system="Be brief.")
        _, _, reply = post(self.engine, "/v1/messages", body)
        self.assertEqual(reply["content"], [{"type": "text", "text": text}])
        self.assertEqual(reply["stop_reason"], "max_tokens")
        _, _, stream = post(self.engine, "/v1/messages",
                                        {**body, "stream": True})
        pairs = events(stream)
        self.assertEqual([name for name, _ in pairs], [
            "message_start", "content_block_start", "ping",
            *["content_block_delta"] * 4, "content_block_stop",
            "message_delta", "message_stop"])
        self.assertTrue(all(name == data["type"] for name, data in pairs))
        self.assertEqual("".join(data["delta"]["text"] for name, data in pairs
                                 if name == "content_block_delta"), text)

    def test_count_tokens(self):
        # Two messages: role, text and end each; and the role of the answer.
        body = {**user("Hello"), "system": "Be brief."}
        self.assertEqual(
            post(self.engine, "/v1/messages/count_tokens", body)[2],
            {"input_tokens": (1 + 3 + 1) + (1 + 2 + 1) + 1})

    def test_tokenize(self):
        """FNV-1a of "abcd" is ce3479bd, by its published algorithm."""
        _, _, reply = post(self.engine, "/tokenize", {"prompt": "abcdabcda"})
        self.assertEqual(reply["count"], 3)
        self.assertEqual(reply["tokens"][:2], [0xce3479bd % 131072] * 2)

    def test_embeddings(self):
        _, _, plain = post(self.engine, "/v1/embeddings",
                                       {"input": ["one", "two"]})
        _, _, packed = post(self.engine, 
            "/v1/embeddings", {"input": "two", "encoding_format": "base64"})
        self.assertEqual(len(plain["data"]), 2)
        self.assertEqual(
            list(struct.unpack("<8f", base64.b64decode(
                packed["data"][0]["embedding"]))),
            plain["data"][1]["embedding"])

    def test_models(self):
        _, _, reply = get(self.engine, "/v1/models")
        self.assertEqual([card["id"] for card in reply["data"]],
                         ["mock-model", "other", "sql"])
        self.assertEqual(reply["data"][2]["parent"], "mock-model")

    def test_adapters_come_and_go(self):
        load, unload = "/v1/load_lora_adapter", "/v1/unload_lora_adapter"
        name = {"lora_name": "legal", "lora_path": "somewhere"}
        ask = {**user("Hello"), "model": "legal"}
        self.assertEqual(post(self.engine, CHAT, ask)[0], 404)
        self.assertEqual(post(self.engine, load, name)[0], 200)
        self.assertEqual(post(self.engine, load, name)[0], 400)
        self.assertEqual(post(self.engine, CHAT, ask)[0], 200)
        self.assertEqual(post(self.engine, unload, name)[0], 200)
        self.assertEqual(post(self.engine, unload, name)[0], 404)
        self.assertEqual(post(self.engine, CHAT, ask)[0], 404)

    def test_errors(self):
        long = user("x" * 4000, max_tokens=16)
        for path in CHAT, "/v1/messages":
            for body, status in ((b"{", 400), (b"", 400), (b"[]", 400),
                                 ({"model": "mock-model"}, 400), (long, 400),
                                 ({**user("Hello"), "model": "none"}, 404),
                                 ({**user("Hello"), "model": 1}, 400),
                                 (user("Hello", max_tokens=0), 400),
                                 (user("Hello", n=2), 400),
                                 ({**user(5)}, 400)):
                got, _, reply = post(self.engine, path, body)
                self.assertEqual(got, status, (body, reply))
                self.check_error(path, status, reply)
        self.assertEqual(get(self.engine, "/nowhere")[0], 404)
        self.assertEqual(get(self.engine, CHAT)[0], 405)

    def check_error(self, path, status, reply):
        error = reply["error"]
        self.assertTrue(error["message"])
        if path == "/v1/messages":
            self.assertEqual(reply["type"], "error")
            self.assertEqual(error["type"], {
                400: "invalid_request_error", 404: "not_found_error"}[status])
        else:
            self.assertEqual(error["code"], status)
            self.assertEqual(set(error),
                             {"message", "type", "param", "code"})

    def test_the_next_turn_finds_the_answer_in_the_cache(self):
        turn = [{"role": "user", "content": "Tell me more. " * 20}]
        first = post(self.engine, CHAT, {"messages": turn, "max_tokens": 40})[2]
        turn += [first["choices"][0]["message"],
                 {"role": "user", "content": "Go on."}]
        second = post(self.engine, CHAT, {"messages": turn, "max_tokens": 4})[2]
        # What was computed: prompt and answer but for its last token.
        known = first["usage"]["total_tokens"] - 1
        self.assertEqual(
            second["usage"]["prompt_tokens_details"]["cached_tokens"],
            known // 16 * 16)
        third = post(self.engine, "/v1/messages", {
            "messages": turn, "max_tokens": 4})[2]["usage"]
        tokens = second["usage"]["prompt_tokens"]
        self.assertEqual(third["cache_read_input_tokens"],
                         (tokens - 1) // 16 * 16)
        self.assertEqual(third["input_tokens"] +
                         third["cache_read_input_tokens"], tokens)

    def test_the_latest_request_is_told_without_its_key(self):
        post(self.engine, CHAT, user("Hello"), {
            "Authorization": "Bearer hush-1", "X-Api-Key": "hush-2",
            "Cookie": "hush-3", "X-Session-Id": "seven"})
        state = self.engine.state()
        self.assertNotIn("hush", json.dumps(state))
        headers = state["latest"]["headers"]
        self.assertEqual(state["latest"]["path"], CHAT)
        self.assertEqual(headers["x-session-id"], "seven")
        self.assertIs(headers["authorization"], True)
        self.assertIs(headers["x-api-key"], True)

    def test_two_requests_at_once_on_one_connection(self):
        request = (f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: %d"
                   "\r\n\r\n%s")
        bodies = [json.dumps(user(text)) for text in ("first", "second")]
        with socket.create_connection(address(self.engine)) as client:
            client.sendall("".join(request % (len(body), body)
                                   for body in bodies).encode())
            for text in "first", "second":
                reply = http.client.HTTPResponse(client)
                reply.begin()
                content = json.loads(reply.read())["choices"][0]["message"]
                self.assertEqual(content["content"], chat_answer(text, 16))


def reply_output(reply, identity):
    """The output of a response as it would be with another id."""
    return [{**item, "id": identity} for item in reply["output"]]


class Key(Running):
    options = ("--api-key", "hush", "--instant")

    def test_a_key_is_asked_for(self):
        self.assertEqual(post(self.engine, CHAT, user("Hello"))[0], 401)
        for header in ({"Authorization": "Bearer hush"}, {"x-api-key": "hush"}):
            self.assertEqual(
                post(self.engine, CHAT, user("Hello"), header)[0], 200)
        self.assertEqual(get(self.engine, "/health")[0], 200)


class Metrics(Running):
    options = ("--speed", "1", "--max-seqs", "2", "--lora", "sql",
               "--lora", "law", "--lora-slots", "1", "--lora-load-ms", "0")

    def value(self, name):
        page = get(self.engine, "/metrics")[2]
        lines = [line for line in page.split("\n")
                 if line.startswith(f"vllm:{name}{{")]
        self.assertEqual(len(lines), 1, name)
        return float(lines[0].rsplit(" ", 1)[1]), lines[0]

    def test_gauges_while_streams_run(self):
        cancelled = self.engine.state()["counts"]["cancelled"]
        clients = [self.begin("mock-model"), self.begin("sql"),
                   self.begin("law")]
        self.wait_for("two run", running=2, waiting=1, open_streams=3)
        self.assertEqual(self.value("num_requests_running")[0], 2)
        self.assertEqual(self.value("num_requests_waiting")[0], 1)
        line = self.value("lora_requests_info")[1]
        self.assertIn('max_lora="1"', line)
        self.assertIn('running_lora_adapters="sql"', line)
        self.assertIn('waiting_lora_adapters="law"', line)
        self.assertIn('num_gpu_blocks="31250"',
                      self.value("cache_config_info")[1])
        for client in clients:
            client.close()
        self.wait_for("all are gone", running=0, waiting=0, open=0,
                      open_streams=0)
        self.assertEqual(self.engine.state()["counts"]["cancelled"],
                         cancelled + 3)

    def begin(self, model):
        """A client that never reads."""
        body = json.dumps({**user("Hello", stream=True, max_tokens=100000),
                           "model": model}).encode()
        before = self.engine.state()["open"]
        client = socket.create_connection(address(self.engine))
        self.addCleanup(client.close)
        client.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d"
                       b"\r\n\r\n%s" % (CHAT.encode(), len(body), body))
        self.wait_for("it is there", open=before + 1)
        return client

    def test_a_client_that_waits_for_json_goes(self):
        cancelled = self.engine.state()["counts"]["cancelled"]
        body = json.dumps(user("Hello", max_tokens=100000)).encode()
        with socket.create_connection(address(self.engine)) as client:
            client.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d"
                           b"\r\n\r\n%s" % (CHAT.encode(), len(body), body))
            self.wait_for("it runs", running=1)
        self.wait_for("it is gone", running=0, open=0)
        self.assertEqual(self.engine.state()["counts"]["cancelled"],
                         cancelled + 1)


class Faults(Running):
    def chat(self, **more):
        return post(self.engine, CHAT, user("Hello", **more))

    def test_a_status_with_a_header(self):
        self.engine.faults(status=429, retry_after=2)
        status, headers, body = self.chat()
        self.assertEqual((status, headers["Retry-After"]), (429, "2"))
        self.assertEqual(body["error"]["code"], 429)
        self.assertEqual(get(self.engine, "/metrics")[0], 200)

    def test_a_date_to_retry_after(self):
        self.engine.faults(status=503,
                           retry_after="Wed, 21 Oct 2026 07:28:00 GMT")
        self.assertEqual(self.chat()[1]["Retry-After"],
                         "Wed, 21 Oct 2026 07:28:00 GMT")

    def test_each_fourth_request(self):
        self.engine.faults(status=500, rate=0.25)
        self.assertEqual([self.chat()[0] for _ in range(8)],
                         [200, 200, 200, 500] * 2)

    def test_so_many_times(self):
        self.engine.faults(status=500, count=2)
        self.assertEqual([self.chat()[0] for _ in range(3)], [500, 500, 200])

    def test_scopes(self):
        self.engine.faults(status=500, scope="metrics")
        self.assertEqual(get(self.engine, "/metrics")[0], 500)
        self.assertEqual(get(self.engine, "/health")[0], 200)
        self.assertEqual(self.chat()[0], 200)
        self.engine.faults(status=503, scope="all")
        self.assertEqual(get(self.engine, "/health")[0], 503)
        self.assertEqual(self.chat()[0], 503)
        self.assertEqual(get(self.engine, "/mock/state")[0], 200)

    def test_a_delay(self):
        self.engine.faults(delay_ms=300)
        begin = time.monotonic()
        self.assertEqual(self.chat()[0], 200)
        self.assertGreater(time.monotonic() - begin, 0.29)

    def test_a_hang_lasts_until_the_client_goes(self):
        self.engine.faults(hang=True)
        with self.assertRaises(TimeoutError):
            self.raw(user("Hello"), timeout=0.3)
        self.engine.faults()
        self.assertEqual(self.chat()[0], 200)

    def test_closed_before_an_answer(self):
        self.engine.faults(close_before_answer=True)
        self.assertEqual(self.raw(user("Hello")), b"")

    def test_no_http(self):
        self.engine.faults(malformed=True)
        raw = self.raw(user("Hello"))
        self.assertNotEqual(raw, b"")
        self.assertFalse(raw.startswith(b"HTTP/"))

    def test_no_json(self):
        self.engine.faults(malformed="json")
        with self.assertRaises(json.JSONDecodeError):
            self.chat()
        with self.assertRaises(json.JSONDecodeError):
            events(self.chat(stream=True)[2])

    def test_a_stream_is_cut(self):
        self.engine.faults(cut_after_chunks=3)
        raw = self.raw(user("Hello", stream=True, max_tokens=9))
        self.assertEqual(raw.count(b'"delta":{"content":"'), 3)
        self.assertNotIn(b"[DONE]", raw)
        self.assertFalse(raw.endswith(b"0\r\n\r\n"))
        self.wait_for("nothing is left", open=0, running=0)

    def test_json_is_cut(self):
        self.engine.faults(cut_after_chunks=0)
        with self.assertRaises(http.client.IncompleteRead):
            self.chat()
        self.wait_for("nothing is left", open=0, running=0)

    def test_a_stream_that_goes_on_no_more(self):
        self.engine.faults(hang_after_chunks=2)
        with self.assertRaises(TimeoutError) as caught:
            self.raw(user("Hello", stream=True, max_tokens=9), timeout=0.5)
        self.assertEqual(
            caught.exception.args[0].count(b'"delta":{"content":"'), 2)
        self.wait_for("nothing is left", open=0, running=0)

    def test_connections_are_refused(self):
        self.engine.faults(refuse=True)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(address(self.engine))
        self.engine.faults()
        self.assertEqual(self.chat()[0], 200)
        self.engine.faults(refuse=0.2)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(address(self.engine))
        time.sleep(0.4)
        self.assertEqual(self.chat()[0], 200)

    def test_what_is_no_fault(self):
        for wrong in ({"stauts": 500}, {"rate": 2}, {"status": "x"},
                      {"status": 204}, {"scope": "moon"}, {"delay_ms": -1}):
            with self.assertRaisesRegex(AssertionError, "/mock/faults: 400 "):
                self.engine.faults(**wrong)

    def test_what_is_no_http_gets_an_error(self):
        for raw in b"\x16\x03\x01\r\n\r\n", b"GET\r\n\r\n":
            with socket.create_connection(address(self.engine)) as client:
                client.sendall(raw)
                client.settimeout(5)
                self.assertRegex(client.recv(100), b"^HTTP/1.[01] 400 ")
        self.assertEqual(self.chat()[0], 200)

    def raw(self, body, timeout=10.0):
        """All bytes until the connection is closed. On a timeout, those that
        came are in the error."""
        data = json.dumps(body).encode()
        got = b""
        with socket.create_connection(address(self.engine)) as client:
            client.settimeout(timeout)
            client.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d"
                           b"\r\n\r\n%s" % (CHAT.encode(), len(data), data))
            while True:
                try:
                    part = client.recv(65536)
                except TimeoutError as error:
                    raise TimeoutError(got) from error
                if not part:
                    return got
                got += part


class Pace(harness.Case):
    def test_a_prompt_takes_the_time_of_the_engine(self):
        """By the figures of 8b-rtxpro6000: a step takes 9.69 ms, 51.4 µs a
        prompt token, 35 µs a request; 0.57 ns for each pair of tokens of the
        prompt, 92 ns a token of context of a decode."""
        tokens, answers = 2000, 20
        expected = (9.69 + 0.0514 * tokens + 0.57e-6 * tokens**2 / 2 + 0.035
                    + (answers - 1) * (9.69 + 0.035 + 92e-6 * tokens)) / 1000
        engine = self.engine()
        begin = time.monotonic()
        post(engine, "/v1/completions", {
            "prompt": "x" * 4 * tokens, "max_tokens": answers})
        passed = time.monotonic() - begin
        self.assertGreater(passed, expected * 0.999)
        self.assertLess(passed, expected + 1.0)

    def test_speed(self):
        body = {"prompt": "Hello", "max_tokens": 200}
        engine = self.engine("--speed", "20")
        begin = time.monotonic()
        post(engine, "/v1/completions", body)
        passed = time.monotonic() - begin
        # 200 steps of 9.73 ms, twenty times as fast.
        self.assertGreater(passed, 0.096)
        self.assertLess(passed, 1.5)


class Many(Running):
    # Slow, so that the first one lasts until the last one has come.
    options = ("--speed", "0.5", "--max-seqs", "1024")
    TOKENS = 80

    def test_a_thousand_streams(self):
        """All run at once, and every byte is right."""
        clients = [self.open(index) for index in range(1000)]
        self.wait_for("all run", open_streams=1000)
        wrong = [index for index, client in enumerate(clients)
                 if self.text_of(client) !=
                 chat_answer(f"Number {index}", self.TOKENS)]
        self.assertEqual(wrong, [])
        self.wait_for("nothing is left", open=0, running=0, kv_usage=0.0)
        self.assertEqual(self.engine.state()["counts"]["completed"], 1000)

    def open(self, index):
        client = http.client.HTTPConnection(*address(self.engine), timeout=60)
        self.addCleanup(client.close)
        client.request("POST", CHAT, json.dumps(
            user(f"Number {index}", stream=True, max_tokens=self.TOKENS)))
        return client

    def text_of(self, client):
        text = client.getresponse().read().decode()
        return "".join(data["choices"][0]["delta"]["content"]
                       for _, data in events(text) if data != "[DONE]")


class Options(harness.Case):
    def test_wrong_ones(self):
        for options in (("--port", "x"), ("--no-such",), ("stray",),
                        ("--engine", "none"), ("--faults", "{"),
                        ("--faults", '{"x": 1}'), ("--model", 'a"b'),
                        ("--lora", "a", "--lora-slots", "0")):
            done = subprocess.run([MOCK, *options], capture_output=True,
                                  timeout=10 * PATIENCE)
            self.assertEqual(done.returncode, 1, options)

    def test_faults_from_the_start(self):
        engine = self.engine("--faults", '{"status": 503}')
        self.assertEqual(post(engine, CHAT, user("Hello"))[0], 503)

    def test_it_ends_cleanly_with_clients(self):
        engine = self.engine("--speed", "0.01")
        engine.faults(hang=True, count=1)
        threads = [threading.Thread(target=self.fail_to_ask, args=[engine])
                   for _ in range(3)]
        for thread in threads:
            thread.start()
        while engine.state()["open"] < 2:
            time.sleep(0.01)
        self.assertEqual(engine.stop(), 0)
        for thread in threads:
            thread.join()

    def fail_to_ask(self, engine):
        try:
            post(engine, CHAT, user("Hello", max_tokens=1000))
        except (OSError, http.client.HTTPException):
            pass


if __name__ == "__main__":
    unittest.main()
