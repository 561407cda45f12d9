# SPDX-License-Identifier: MIT
"""One request through the gateway, with engines that behave in every way an
engine may."""
import json
import signal
import socket
import threading
import time
import unittest

import harness
from harness import PATIENCE, wait_for
from scripted import (Answer, Engine, GOOD, Gateway, LAST_CHUNK, SSE_HEAD,
                      always, answer, chat, chunk, post)

PATH = "/v1/chat/completions"


class Case(harness.Case):
    """Engines and a gateway that end with the test."""

    def engine(self, script=None):
        """An engine with its script."""
        engine = Engine(script)
        self.addCleanup(engine.close)
        return engine

    def gateway(self, engines, extra="", **more):
        """A gateway before these engines, a, b, c …"""
        targets = {}
        for name, engine in zip("abcdefgh", engines):
            port = engine if isinstance(engine, int) else engine.port
            targets[name] = f"http://127.0.0.1:{port}"
        return self.gateway_of(targets, extra, **more)

    def gateway_of(self, targets, extra="", **more):
        """A gateway with these targets, which must end well."""
        return self.ends_well(Gateway(targets, extra, **more))

    def ask(self, gateway, body=None, headers="", sock=None, path=PATH):
        """Sends a chat request and reads the answer."""
        own = sock or gateway.connect()
        own.sendall(post(path, body or chat(), headers))
        found = Answer(own)
        if not sock:
            own.close()
        return found

    def assert_settled(self, gateway, **counts):
        """Nothing is open, and these metrics have these values."""
        self.assertTrue(gateway.settled())
        for name, value in counts.items():
            self.assertEqual(gateway.metric("lbroute_" + name), value, name)


def sse(*pieces, end=True):
    """A script that streams pieces as events and then ends well."""
    def script(_engine, wire):
        while wire.request_noted():
            wire.send(SSE_HEAD)
            for piece in pieces:
                wire.send(chunk(piece))
                time.sleep(0.01)
            if not end:
                return
            wire.send(LAST_CHUNK)
    return script


def event(text):
    """A chunk of a chat stream."""
    return b'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' \
        % text.encode()


DONE = b"data: [DONE]\n\n"


class Plain(Case):
    """Answers that are passed on."""

    def test_answer_is_passed_on(self):
        """Body, status and headers of the engine, and the decision's."""
        engine = self.engine(always(answer(GOOD, headers="X-Own: 1\r\n")))
        gateway = self.gateway([engine])
        found = self.ask(gateway)
        self.assertEqual(found.status, 200)
        self.assertEqual(found.body, GOOD.encode())
        self.assertEqual(found.headers["x-own"], "1")
        self.assertEqual(found.headers["x-lbroute-server"], "a")
        self.assertEqual(found.headers["x-lbroute-attempts"], "1")
        self.assertEqual(found.headers["x-lbroute-algorithm"], "round_robin")
        self.assert_settled(gateway, input_tokens_total=7,
                            output_tokens_total=3)

    def test_request_is_written_anew(self):
        """Own Host and length, no hop-by-hop headers, the rest as it was."""
        engine = self.engine()
        gateway = self.gateway([engine])
        self.ask(gateway, headers="X-Mine: a b\r\nConnection: keep-alive, X-Hop"
                 "\r\nX-Hop: 1\r\nTE: trailers\r\nKeep-Alive: 5\r\n"
                 "Authorization: Bearer sk-secret\r\n"
                 "Accept-Encoding: gzip\r\n")
        head, body = engine.requests[0]
        lines = head.lower().split("\r\n")
        names = [line.split(":")[0] for line in lines[1:]]
        self.assertEqual(lines[0], f"post {PATH} http/1.1")
        self.assertEqual(body, chat())
        self.assertIn(f"host: 127.0.0.1:{engine.port}", lines)
        self.assertIn("x-mine: a b", lines)
        self.assertIn("authorization: bearer sk-secret", lines)
        for name in ("x-hop", "te", "keep-alive", "connection",
                     "accept-encoding", "transfer-encoding"):
            self.assertNotIn(name, names)
        self.assertEqual(names.count("host"), 1)
        self.assertEqual(names.count("content-length"), 1)
        self.assertNotIn("sk-secret", gateway.output())

    def test_chunked_request(self):
        """A request in chunks arrives with a length; its connection ends."""
        engine = self.engine()
        gateway = self.gateway([engine])
        sock = gateway.connect()
        body = chat()
        sock.sendall(f"POST {PATH} HTTP/1.1\r\nHost: x\r\n"
                     "Transfer-Encoding: chunked\r\n\r\n".encode() +
                     chunk(body[:10]) + chunk(body[10:]) + LAST_CHUNK)
        found = Answer(sock)
        self.assertEqual(found.status, 200)
        self.assertEqual(found.headers["connection"], "close")
        self.assertEqual(engine.requests[0][1], body)
        self.assertNotIn("transfer-encoding", engine.requests[0][0].lower())

    def test_answer_in_chunks_stays_whole(self):
        """Odd sizes of chunks and pieces of TCP change no byte."""
        whole = bytes(range(256)) * 700

        def script(_engine, wire):
            while wire.request_noted():
                data = SSE_HEAD.replace(b"text/event-stream",
                                        b"application/octet-stream")
                at = 0
                for size in (1, 2, 3, 5, 70000, 7, 4096, len(whole)):
                    piece = whole[at:at + size]
                    at += size
                    if piece:
                        data += chunk(piece)
                data += LAST_CHUNK
                for start in range(0, len(data), 1111):
                    wire.send(data[start:start + 1111])
        gateway = self.gateway([self.engine(script)])
        found = self.ask(gateway)
        self.assertTrue(found.complete)
        self.assertEqual(found.body, whole)
        self.assert_settled(gateway)

    def test_answer_to_the_end_of_connection(self):
        """An engine of HTTP/1.0 without a length."""
        def script(_engine, wire):
            wire.request_noted()
            wire.send(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n")
            wire.send(b"one")
            time.sleep(0.02)
            wire.send(b"two")
        engine = self.engine(script)
        gateway = self.gateway([engine])
        with gateway.connect() as sock:
            for _ in range(3):
                found = self.ask(gateway, sock=sock)
                self.assertEqual((found.body, found.complete),
                                 (b"onetwo", True))
        self.assertEqual(engine.connections, 3)
        self.assert_settled(gateway)

    def test_old_client(self):
        """HTTP/1.0: no chunks; the end of the connection ends the stream,
        whatever it says of keeping it."""
        gateway = self.gateway([self.engine(sse(event("a"), DONE))])
        for keep in ("", "Connection: keep-alive\r\n"):
            with gateway.connect() as sock:
                sock.sendall(post(PATH, chat(True), keep, "1.0"))
                found = Answer(sock)
                self.assertNotIn("transfer-encoding", found.headers)
                self.assertNotIn("content-length", found.headers)
                self.assertEqual(found.body, event("a") + DONE)
        self.assert_settled(gateway)

    def test_keep_alive(self):
        """Both connections serve for many requests."""
        engine = self.engine()
        gateway = self.gateway([engine])
        with gateway.connect() as sock:
            for _ in range(20):
                self.assertEqual(self.ask(gateway, sock=sock).status, 200)
        self.assertEqual(engine.connections, 1)
        self.assertEqual(len(engine.requests), 20)

    def test_pipelined_requests(self):
        """Are answered in order."""
        engine = self.engine()
        gateway = self.gateway([engine])
        with gateway.connect() as sock:
            sock.sendall(b"".join(post(PATH, chat(text=str(i)))
                                  for i in range(5)))
            rest = b""
            for _ in range(5):
                found = Answer(sock, rest=rest)
                rest = found.raw
                self.assertEqual(found.body, GOOD.encode())
        texts = [json.loads(body)["messages"][0]["content"]
                 for _, body in engine.requests]
        self.assertEqual(texts, list("01234"))

    def test_expectation(self):
        """100-continue is answered before the body."""
        gateway = self.gateway([self.engine()])
        with gateway.connect() as sock:
            body = chat()
            sock.sendall(f"POST {PATH} HTTP/1.1\r\nHost: x\r\nExpect: "
                         f"100-continue\r\nContent-Length: {len(body)}\r\n\r\n"
                         .encode())
            self.assertTrue(sock.recv(100).startswith(b"HTTP/1.1 100"))
            sock.sendall(body)
            self.assertEqual(Answer(sock).status, 200)

    def test_answer_of_many_headers(self):
        """Takes no longer for each of them than one of few."""
        names = [f"a{number:x}" for number in range(25_000)]
        engine = self.engine(always(answer(GOOD, headers="".join(
            f"{name}:\r\n" for name in names))))
        gateway = self.gateway([engine])
        begun = time.monotonic()
        found = self.ask(gateway)
        self.assertLess(time.monotonic() - begun, 2)
        self.assertEqual(found.status, 200)
        self.assertLess(set(names), set(found.headers))
        self.assert_settled(gateway)

    def test_answer_whose_connection_names_many(self):
        """Is none."""
        engine = self.engine(always(answer(
            GOOD, headers="Connection: x\r\n" * 1000)))
        gateway = self.gateway([engine])
        self.assertEqual(self.ask(gateway).status, 502)
        self.assert_settled(gateway)

    def test_errors_of_engines_are_passed_on(self):
        """A 4xx is the client's, and is not tried elsewhere."""
        bad = self.engine(always(answer('{"error":1}', "422 No")))
        gateway = self.gateway([bad, self.engine(bad.script)])
        found = self.ask(gateway)
        self.assertEqual((found.status, found.body), (422, b'{"error":1}'))
        self.assertEqual(found.headers["x-lbroute-attempts"], "1")
        self.assert_settled(gateway, retries_total=0)


class Streams(Case):
    """Server-sent events."""

    def test_stream(self):
        """Every byte, as it comes."""
        gate = threading.Event()

        def script(_engine, wire):
            wire.request_noted()
            wire.send(SSE_HEAD + chunk(event("a")))
            gate.wait(5)
            wire.send(chunk(event("b")) + chunk(DONE) + LAST_CHUNK)
        gateway = self.gateway([self.engine(script)])
        with gateway.connect() as sock:
            sock.sendall(post(PATH, chat(True)))
            head = Answer(sock, head_only=True)
            while event("a") not in head.raw:
                head.raw += sock.recv(1000)
            gate.set()
            rest = head.raw
            while not rest.endswith(LAST_CHUNK):
                rest += sock.recv(1000)
        self.assertEqual(rest, chunk(event("a")) + chunk(event("b")) +
                         chunk(DONE) + LAST_CHUNK)
        self.assert_settled(gateway)

    def test_broken_off(self):
        """The client can tell that the stream is not whole."""
        gateway = self.gateway([self.engine(sse(event("a"), end=False))])
        found = self.ask(gateway, chat(True))
        self.assertEqual(found.body, event("a"))
        self.assertFalse(found.complete)
        self.assert_settled(gateway, cut_short_total=1, retries_total=0)

    def test_broken_off_for_old_clients(self):
        """HTTP/1.0 has but a reset to tell it by."""
        gateway = self.gateway([self.engine(sse(event("a"), end=False))])
        with gateway.connect() as sock:
            sock.sendall(post(PATH, chat(True), "", "1.0"))
            with self.assertRaises(ConnectionResetError):
                while sock.recv(1000):
                    pass
        self.assert_settled(gateway, cut_short_total=1)

    def test_stream_without_length_and_last_event(self):
        """Where only the connection ends the stream, [DONE] tells whether it
        is whole."""
        def script(_engine, wire):
            wire.request_noted()
            wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                      b"\r\n" + event("a") + self.last)
        gateway = self.gateway([self.engine(script)])
        for self.last, complete in ((b"", False), (DONE, True)):
            found = self.ask(gateway, chat(True))
            self.assertEqual(found.complete, complete)
        self.assert_settled(gateway, cut_short_total=1)

    def test_short_body(self):
        """Fewer bytes than promised: the connection ends."""
        data = answer(GOOD)[:-5]

        def script(_engine, wire):
            wire.request_noted()
            wire.send(data)
        gateway = self.gateway([self.engine(script)])
        self.assertFalse(self.ask(gateway).complete)
        self.assert_settled(gateway, cut_short_total=1)

    def test_client_gone_in_mid_stream(self):
        """The engine's connection is closed, the ticket is settled."""
        def script(engine, wire):
            wire.request_noted()
            wire.send(SSE_HEAD + chunk(event("a")))
            if wire.closed_within(5):
                engine.gone.set()
        engine = self.engine(script)
        gateway = self.gateway([engine])
        sock = gateway.connect()
        sock.sendall(post(PATH, chat(True)))
        Answer(sock, head_only=True)
        sock.close()
        self.assertTrue(engine.gone.wait(3))
        self.assert_settled(gateway, client_gone_total=1)

    def test_client_gone_before_the_first_byte(self):
        """Likewise while the engine thinks."""
        def script(engine, wire):
            wire.request_noted()
            if wire.closed_within(5):
                engine.gone.set()
        for way in ("close", "reset"):
            engine = self.engine(script)
            gateway = self.gateway([engine])
            sock = gateway.connect()
            sock.sendall(post(PATH, chat()))
            while not engine.requests:
                time.sleep(0.01)
            if way == "reset":
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                b"\1\0\0\0\0\0\0\0")
            sock.close()
            self.assertTrue(engine.gone.wait(3), way)
            self.assert_settled(gateway, client_gone_total=1)

    def test_slow_reader_holds_the_engine_back(self):
        """Memory stays bounded, and every byte arrives in the end."""
        piece = event("x" * 1000)
        count = 40000
        sent = [0]

        def script(_engine, wire):
            wire.request_noted()
            wire.send(SSE_HEAD)
            for _ in range(count):
                wire.send(chunk(piece))
                sent[0] += 1
            wire.send(LAST_CHUNK)
        gateway = self.gateway([self.engine(script)],
                               "limits: {stream_buffer: 64KiB}\n"
                               "timeouts: {idle: 1}")
        sock = gateway.connect(30)
        sock.sendall(post(PATH, chat(True)))
        head = Answer(sock, head_only=True)
        # Longer than the engine may be silent: that one is not to blame.
        time.sleep(2)
        self.assertLess(sent[0], count)
        head.raw += b""
        data = head.raw
        parts = [data]
        while not data.endswith(LAST_CHUNK):
            data = sock.recv(1 << 20)
            self.assertTrue(data)
            parts.append(data)
        self.assertEqual(b"".join(parts), chunk(piece) * count + LAST_CHUNK)
        sock.close()
        self.assert_settled(gateway, cut_short_total=0)

    def test_reader_that_takes_nothing(self):
        """Is cut off, and its engine freed."""
        def script(engine, wire):
            wire.request_noted()
            wire.send(SSE_HEAD)
            try:
                while True:
                    wire.send(chunk(b"x" * 60000))
            except OSError:
                engine.gone.set()
        engine = self.engine(script)
        gateway = self.gateway([engine], "timeouts: {write: 1}")
        sock = gateway.connect()
        sock.sendall(post(PATH, chat(True)))
        self.assertTrue(engine.gone.wait(10))
        sock.close()
        self.assert_settled(gateway, client_gone_total=1)


class Retries(Case):
    """Engines that fail before the first byte."""

    def fails_over(self, script, **counts):
        """A request that one engine fails is answered by the other."""
        bad, good = self.engine(script), self.engine()
        gateway = self.gateway([bad, good], "timeouts: {first_byte: 1}")
        found = self.ask(gateway)
        self.assertEqual((found.status, found.body), (200, GOOD.encode()))
        self.assertEqual(found.headers["x-lbroute-server"], "b")
        self.assertEqual(found.headers["x-lbroute-attempts"], "2")
        self.assert_settled(gateway, retries_total=1, **counts)

    def test_closed(self):
        """Closed without a word."""
        self.fails_over(lambda engine, wire: wire.request_noted())

    def test_reset(self):
        """Reset."""
        def script(_engine, wire):
            wire.request_noted()
            wire.reset()
        self.fails_over(script)

    def test_half_a_head(self):
        """Closed within the head."""
        def script(_engine, wire):
            wire.request_noted()
            wire.send(b"HTTP/1.1 200 OK\r\nContent-")
        self.fails_over(script)

    def test_no_http(self):
        """Something else than HTTP."""
        for text in (b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 xx\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
                     b"Content-Length: 2\r\n\r\nabc",
                     b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nBad name: 1\r\n\r\n"):
            def script(_engine, wire, text=text):
                wire.request_noted()
                wire.send(text)
                wire.closed_within(5)
            with self.subTest(text):
                self.fails_over(script)

    def test_huge_headers(self):
        """More headers than anybody needs."""
        def script(_engine, wire):
            wire.request_noted()
            wire.send(b"HTTP/1.1 200 OK\r\n")
            try:
                for _ in range(10000):
                    wire.send(b"X-A: " + b"a" * 990 + b"\r\n")
            except OSError:
                pass
        self.fails_over(script)

    def test_hangs(self):
        """No byte in time."""
        def script(engine, wire):
            wire.request_noted()
            if wire.closed_within(5):
                engine.gone.set()
        self.fails_over(script)

    def test_statuses(self):
        """Statuses after which another engine may do better."""
        for status in ("429 Slow", "500 Oh", "502 Oh", "503 Oh"):
            with self.subTest(status):
                self.fails_over(always(answer("{}", status)))

    def test_refused(self):
        """Nobody listens."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        gateway = self.gateway([port, self.engine()])
        found = self.ask(gateway)
        self.assertEqual(found.status, 200)
        self.assertEqual(found.headers["x-lbroute-attempts"], "2")
        self.assert_settled(gateway)

    def test_last_answer_is_passed_on(self):
        """When all fail, with what the last one said."""
        engines = [self.engine(always(answer(
            '{"error":{"message":"%s"}}' % name, "503 No",
            "Retry-After: 9\r\n"))) for name in "ab"]
        gateway = self.gateway(engines)
        found = self.ask(gateway)
        self.assertEqual(found.status, 503)
        self.assertEqual(found.json()["error"]["message"], "b")
        self.assertEqual(found.headers["retry-after"], "9")
        self.assertEqual(found.headers["x-lbroute-server"], "b")
        self.assertEqual(found.headers["x-lbroute-attempts"], "2")
        self.assert_settled(gateway)

    def test_half_of_the_last_answer_is_not_passed_on(self):
        """Its status is, in the gateway's own words."""
        def script(_engine, wire):
            wire.request_noted()
            wire.send(answer('{"error":{"message":"half', "429 No",
                             "Retry-After: 9\r\n")[:-5])
        gateway = self.gateway([self.engine(script)])
        found = self.ask(gateway)
        self.assertEqual(found.status, 429)
        self.assertEqual(found.json()["error"]["message"],
                         "The engines are busy.")
        self.assert_settled(gateway)

    def test_nobody_answers(self):
        """502 and 504 in the dialect of the path."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        gateway = self.gateway([port])
        found = self.ask(gateway)
        self.assertEqual(found.status, 502)
        self.assertEqual(found.json()["error"]["type"], "server_error")
        found = self.ask(gateway, chat(max_tokens=1), path="/v1/messages")
        self.assertEqual(found.status, 502)
        self.assertEqual(found.json()["type"], "error")
        self.assertEqual(found.json()["error"]["type"], "api_error")
        self.assert_settled(gateway)

    def test_hangs_without_another(self):
        """504."""
        def script(_engine, wire):
            wire.request_noted()
            wire.closed_within(5)
        gateway = self.gateway([self.engine(script)],
                               "timeouts: {first_byte: 1}")
        self.assertEqual(self.ask(gateway).status, 504)
        self.assert_settled(gateway)

    def test_retries_end(self):
        """No more targets than the configuration says."""
        engines = [self.engine(lambda e, wire: wire.request_noted())
                   for _ in range(5)]
        gateway = self.gateway(engines, "retries: 1")
        found = self.ask(gateway)
        self.assertEqual(found.status, 502)
        self.assertEqual(found.headers["x-lbroute-attempts"], "2")
        self.assertEqual(sum(len(e.requests) for e in engines), 2)

    def test_most_retries(self):
        """As many as the configuration may say."""
        engine = self.engine(lambda e, wire: wire.request_noted())
        gateway = self.gateway_of(
            {f"t{i}": f"http://127.0.0.1:{engine.port}" for i in range(18)},
            "retries: 15")
        found = self.ask(gateway)
        self.assertEqual(found.headers["x-lbroute-attempts"], "16")
        self.assertEqual(len(engine.requests), 16)

    def test_silent_stream_is_cut(self):
        """An engine that falls silent in mid-stream."""
        def script(engine, wire):
            wire.request_noted()
            wire.send(SSE_HEAD + chunk(event("a")))
            if wire.closed_within(5):
                engine.gone.set()
        engine = self.engine(script)
        gateway = self.gateway([engine], "timeouts: {idle: 0.5}")
        begun = time.monotonic()
        found = self.ask(gateway, chat(True))
        self.assertLess(time.monotonic() - begun, 3)
        self.assertFalse(found.complete)
        self.assertTrue(engine.gone.wait(3))
        self.assert_settled(gateway, cut_short_total=1)

    def test_closed_idle_connection(self):
        """A connection that the engine closed is replaced; one that it closes
        when it is used again, too, on the same engine."""
        def script(_engine, wire):
            wire.request_noted()
            wire.send(answer(GOOD))
            wire.request()  # Takes it, and closes.
        engine = self.engine(script)
        gateway = self.gateway([engine])
        for _ in range(5):
            found = self.ask(gateway)
            self.assertEqual(found.status, 200)
            self.assertEqual(found.headers["x-lbroute-attempts"], "1")
        self.assertEqual(engine.connections, 5)
        self.assert_settled(gateway, retries_total=0)

    def test_retry_after(self):
        """The target counts as full for so long: seconds, or a date."""
        later = time.strftime("%a, %d %b %Y %H:%M:%S GMT",
                              time.gmtime(time.time() + 60))
        for value in ("60", later):
            engine = self.engine(always(answer(
                "{}", "429 Slow", f"Retry-After: {value}\r\n")))
            gateway = self.gateway([engine])
            self.assertEqual(self.ask(gateway).status, 429)
            found = self.ask(gateway)
            self.assertEqual(found.status, 429)
            self.assertEqual(found.headers["x-lbroute-reject-reason"],
                             "saturated")
            self.assertEqual(found.json()["error"]["code"],
                             "rate_limit_exceeded")
            self.assertTrue(55 <= int(found.headers["retry-after"]) <= 60)
            self.assertEqual(len(engine.requests), 1)
            self.assert_settled(gateway)


class Waiting(Case):
    """All slots are taken."""

    def setUp(self):
        self.gate = threading.Event()

        def script(engine, wire):
            while wire.request_noted():
                self.gate.wait(10)
                wire.send(answer(GOOD))
        self.slow = self.engine(script)

    def one_slot(self, **parameters):
        """A gateway with one slot and a queue."""
        values = {"queue.enabled": 1}
        values.update(parameters)
        return self.gateway_of(
            {"a": {"url": f"http://127.0.0.1:{self.slow.port}",
                   "max_concurrency": 1}}, parameters=values)

    def wait_for(self, gateway, name, value):
        """Until a metric has a value."""
        wait_for(f"{value} {name}",
                 lambda: gateway.metric("lbroute_" + name) == value, 5)

    def test_queue(self):
        """Those who wait are served in order."""
        gateway = self.one_slot()
        socks = []
        for i in range(3):
            sock = gateway.connect()
            sock.sendall(post(PATH, chat(text=str(i))))
            socks.append(sock)
            self.wait_for(gateway, "open_requests", i + 1)
        self.wait_for(gateway, "waiting_requests", 2)
        self.gate.set()
        for i, sock in enumerate(socks):
            found = Answer(sock)
            self.assertEqual(found.status, 200)
            sock.close()
        texts = [json.loads(body)["messages"][0]["content"]
                 for _, body in self.slow.requests]
        self.assertEqual(texts, ["0", "1", "2"])
        self.assert_settled(gateway, queued_total=2)

    def test_hang_up_while_waiting(self):
        """The place is given up."""
        gateway = self.one_slot()
        first, second = gateway.connect(), gateway.connect()
        first.sendall(post(PATH, chat()))
        self.wait_for(gateway, "open_requests", 1)
        second.sendall(post(PATH, chat()))
        self.wait_for(gateway, "waiting_requests", 1)
        second.close()
        self.wait_for(gateway, "waiting_requests", 0)
        self.gate.set()
        self.assertEqual(Answer(first).status, 200)
        first.close()
        self.assertEqual(len(self.slow.requests), 1)
        self.assert_settled(gateway, client_gone_total=1)

    def test_queue_timeout(self):
        """Who waits too long is told so."""
        gateway = self.one_slot(**{"queue.timeout": 1})
        first = gateway.connect()
        first.sendall(post(PATH, chat()))
        self.wait_for(gateway, "open_requests", 1)
        found = self.ask(gateway)
        self.assertEqual(found.status, 503)
        self.assertEqual(found.headers["x-lbroute-reject-reason"],
                         "queue_timeout")
        self.gate.set()
        self.assertEqual(Answer(first).status, 200)
        first.close()
        self.assert_settled(gateway)

    def test_no_queue(self):
        """Without a queue: 429."""
        gateway = self.one_slot(**{"queue.enabled": 0})
        first = gateway.connect()
        first.sendall(post(PATH, chat()))
        self.wait_for(gateway, "open_requests", 1)
        found = self.ask(gateway)
        self.assertEqual(found.status, 429)
        self.assertEqual(found.headers["x-lbroute-reject-reason"],
                         "saturated")
        self.gate.set()
        self.assertEqual(Answer(first).status, 200)
        first.close()

    def test_reload_frees_those_who_wait(self):
        """A target more takes what waits; nothing is lost."""
        gateway = self.one_slot()
        first = gateway.connect()
        first.sendall(post(PATH, chat()))
        self.wait_for(gateway, "open_requests", 1)
        second = gateway.connect()
        second.sendall(post(PATH, chat()))
        self.wait_for(gateway, "waiting_requests", 1)
        other = self.engine()
        gateway.write(
            {"a": {"url": f"http://127.0.0.1:{self.slow.port}",
                   "max_concurrency": 1},
             "b": f"http://127.0.0.1:{other.port}"},
            parameters={"queue.enabled": 1})
        gateway.signal(signal.SIGHUP)
        found = Answer(second)
        self.assertEqual(found.headers["x-lbroute-server"], "b")
        self.gate.set()
        self.assertEqual(Answer(first).status, 200)
        first.close()
        second.close()
        self.assert_settled(gateway)

    def test_reload_of_a_removed_target(self):
        """What runs on a target that is gone is finished."""
        gateway = self.one_slot()
        first = gateway.connect()
        first.sendall(post(PATH, chat()))
        self.wait_for(gateway, "open_requests", 1)
        other = self.engine()
        gateway.write({"b": f"http://127.0.0.1:{other.port}"})
        gateway.signal(signal.SIGHUP)
        self.wait_for(gateway, "reloads_total", 1)
        self.gate.set()
        self.assertEqual(Answer(first).status, 200)
        first.close()
        self.assertEqual(self.ask(gateway).headers["x-lbroute-server"], "b")
        self.assert_settled(gateway)

    def test_retry_after_a_reload(self):
        """What was known of the request's model outlives the configuration
        that it came from."""
        closing = threading.Event()

        def script(_engine, wire):
            wire.request_noted()
            closing.wait(10)
        broken, other = self.engine(script), self.engine()
        gateway = self.gateway([broken])
        first = gateway.connect()
        first.sendall(post(PATH, chat()))
        self.wait_for(gateway, "open_requests", 1)
        for number in range(1, 4):
            gateway.write({"a": f"http://127.0.0.1:{broken.port}",
                           "b": f"http://127.0.0.1:{other.port}"})
            gateway.signal(signal.SIGHUP)
            self.wait_for(gateway, "reloads_total", number)
        closing.set()
        self.assertEqual(Answer(first).headers["x-lbroute-server"], "b")
        first.close()
        self.assert_settled(gateway)

    def test_reload_of_the_prefix(self):
        """It stays until the next start, on all headers alike."""
        engine = self.engine(always(answer(
            GOOD, headers="X-Lbroute-Pool: its\r\nX-New-Pool: its\r\n")))
        gateway = self.gateway([engine])
        gateway.write({"a": f"http://127.0.0.1:{engine.port}"},
                      "router: {header_prefix: X-New-}")
        gateway.signal(signal.SIGHUP)
        self.wait_for(gateway, "reloads_total", 1)
        headers = self.ask(gateway).headers
        self.assertEqual(headers["x-lbroute-attempts"], "1")
        self.assertEqual(headers["x-lbroute-pool"], "chat")
        self.assertEqual(headers["x-new-pool"], "its")
        self.assertNotIn("x-new-attempts", headers)

    def test_bad_reload(self):
        """Leaves everything as it was, and says where the mistake is."""
        gateway = self.one_slot()
        self.gate.set()
        with open(gateway.config, "a", encoding="utf-8") as file:
            file.write("nonsense: 1\n")
        gateway.signal(signal.SIGHUP)
        self.wait_for(gateway, "reload_failures_total", 1)
        self.assertEqual(self.ask(gateway).status, 200)
        self.assertIn("nonsense", gateway.output())

    def test_drain(self):
        """SIGTERM: what runs is finished, nobody new is let in."""
        gateway = self.one_slot()
        first, idle = gateway.connect(), gateway.connect()
        first.sendall(post(PATH, chat()))
        self.wait_for(gateway, "open_requests", 1)
        gateway.signal(signal.SIGTERM)
        self.assertEqual(idle.recv(1), b"")
        with self.assertRaises(ConnectionRefusedError):
            gateway.connect()
        self.assertIsNone(gateway.process.poll())
        self.gate.set()
        found = Answer(first)
        self.assertEqual(found.status, 200)
        self.assertEqual(found.headers["connection"], "close")
        self.assertEqual(first.recv(1), b"")
        self.assertEqual(gateway.process.wait(5 * PATIENCE), 0)

    def test_drain_has_an_end(self):
        """What is not finished in time is broken off."""
        gateway = self.gateway_of(
            {"a": {"url": f"http://127.0.0.1:{self.slow.port}",
                   "max_concurrency": 1}},
            "timeouts: {drain: 0.5}", parameters={"queue.enabled": 1})
        first, second = gateway.connect(), gateway.connect()
        for i, sock in enumerate((first, second)):
            sock.sendall(post(PATH, chat()))
            self.wait_for(gateway, "open_requests", i + 1)
        gateway.signal(signal.SIGTERM)
        for sock in (first, second):
            self.assertEqual(Answer(sock).status, 503)
        self.assertEqual(gateway.process.wait(5 * PATIENCE), 0)


class Doors(Case):
    """What never reaches an engine."""

    def test_refusals(self):
        """Malformed framing: 400, and the end of the connection."""
        engine = self.engine()
        gateway = self.gateway([engine])
        line = f"POST {PATH} HTTP/1.1\r\nHost: x\r\n"
        count = 0
        for name, text in (
                ("both", line + "Content-Length: 5\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
                ("two lengths", line + "Content-Length: 2\r\n"
                 "Content-Length: 2\r\n\r\n{}"),
                ("sign", line + "Content-Length: +2\r\n\r\n{}"),
                ("space", line + "Content-Length : 2\r\n\r\n{}"),
                ("list", line + "Content-Length: 2, 2\r\n\r\n{}"),
                ("coding", line + "Transfer-Encoding: xchunked\r\n\r\n"),
                ("codings", line + "Transfer-Encoding: chunked\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
                ("folded", line + "Transfer-Encoding:\r\n chunked\r\n\r\n"
                 "0\r\n\r\n"),
                ("two hosts", line + "Host: y\r\nContent-Length: 2\r\n\r\n{}"),
                ("absolute", "POST http://y/v1/chat/completions HTTP/1.1\r\n"
                 "Host: x\r\nContent-Length: 2\r\n\r\n{}"),
                ("head", "HEAD /health HTTP/1.1\r\nHost: x\r\n"
                 "Content-Length: 2\r\n\r\n{}"),
                ("no http", "hello\r\n\r\n"),
                ("no colon", line + "abc\r\n\r\n")):
            with self.subTest(name), gateway.connect() as sock:
                sock.sendall(text.encode())
                found = Answer(sock)
                self.assertEqual(found.status, 400)
                self.assertEqual(found.headers.get("connection"), "close")
                self.assertEqual(sock.recv(10), b"")
                count += 1
        self.assertEqual(engine.requests, [])
        self.assert_settled(gateway, refused_total=count, requests_total=count)

    def test_large(self):
        """Headers 431, bodies 413."""
        engine = self.engine()
        gateway = self.gateway([engine], "limits: {header_bytes: 8KiB, "
                               "body_bytes: 64KiB}")
        self.assertEqual(
            self.ask(gateway, headers=f"X: {'a' * 9000}\r\n").status, 431)
        with gateway.connect(30) as sock:
            sock.sendall(post(PATH, b"x" * 3000000))
            self.assertEqual(Answer(sock).status, 413)
        self.assertEqual(engine.requests, [])

    def test_json(self):
        """Bodies that say nothing."""
        gateway = self.gateway([self.engine()])
        for body in (b"{", b"[]", b'{"model":1}', b"\xff"):
            found = self.ask(gateway, body)
            self.assertEqual(found.status, 400, body)
            self.assertEqual(found.json()["error"]["type"],
                             "invalid_request_error")

    def test_model(self):
        """Models nobody serves."""
        gateway = self.gateway([self.engine()])
        found = self.ask(gateway, chat(model="other"))
        self.assertEqual(found.status, 404)
        self.assertEqual(found.json()["error"]["code"], "model_not_found")
        found = self.ask(gateway, chat(model="other", max_tokens=1),
                         path="/v1/messages")
        self.assertEqual(found.json()["error"]["type"], "not_found_error")

    def test_models(self):
        """Each once, by name, however many targets serve it."""
        engine = self.engine()
        url = f"http://127.0.0.1:{engine.port}"
        gateway = self.gateway_of(
            {name: {"url": url, "model": model} for name, model
             in (("a", "z"), ("b", "k"), ("c", "z"), ("d", '""'))},
            "adapters: [{name: p, model: z}, {name: b, model: k}]")

        def get(path):
            with gateway.connect() as sock:
                sock.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n"
                             "\r\n".encode())
                return Answer(sock)
        self.assertEqual([model["id"] for model
                          in get("/v1/models").json()["data"]],
                         ["b", "k", "p", "z"])
        for name, status in (("b", 200), ("k", 200), ("z", 200), ("d", 404),
                             ("", 404)):
            self.assertEqual(get("/v1/models/" + name).status, status, name)

    def test_routes(self):
        """What else there is."""
        gateway = self.gateway([self.engine()])

        def get(path, method="GET", headers=""):
            with gateway.connect() as sock:
                sock.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\n"
                             f"{headers}Connection: close\r\n\r\n".encode())
                found = Answer(sock, head_only=method == "HEAD")
                self.assertEqual(sock.recv(10) if method == "HEAD" else b"",
                                 b"")
                return found
        self.assertEqual(get("/health").json(), {"status": "ok"})
        self.assertEqual(get("/health", "HEAD").status, 200)
        self.assertEqual(get("/v1/models").json()["data"][0]["id"], "m")
        self.assertEqual(get("/v1/models/m").json()["object"], "model")
        self.assertEqual(get("/v1/models/%6D").status, 200)
        self.assertEqual(get("/v1/models/x").status, 404)
        listed = get("/v1/models", headers="anthropic-version: 1\r\n").json()
        self.assertEqual((listed["has_more"], listed["first_id"]),
                         (False, "m"))
        self.assertEqual(get("/other").status, 404)
        self.assertEqual(get(PATH).status, 405)
        self.assertEqual(get(PATH).headers["allow"], "POST")
        self.assertEqual(get("/health", "BREW").status, 405)
        self.assertEqual(get("/health", "DELETE").status, 405)

    def test_slow_sender(self):
        """Who does not finish a request is cut off."""
        gateway = self.gateway([self.engine()], "timeouts: {client: 1}")
        socks = []
        for text in (b"", b"POST", b"POST / HTTP/1.1\r\nA: b\r\n",
                     post(PATH, chat())[:-3]):
            sock = gateway.connect()
            sock.sendall(text)
            socks.append(sock)
        for sock in socks:
            self.assertEqual(sock.recv(10), b"")
            sock.close()
        self.assertEqual(self.ask(gateway).status, 200)

    def test_connections(self):
        """No more connections than are allowed; others wait outside."""
        gateway = self.gateway([self.engine()], "limits: {connections: 4}")
        socks = [gateway.connect() for _ in range(4)]
        time.sleep(0.2)
        late = gateway.connect()
        late.sendall(post(PATH, chat()))
        late.settimeout(0.5)
        with self.assertRaises(socket.timeout):
            late.recv(1)
        for sock in socks:
            sock.close()
        late.settimeout(5)
        self.assertEqual(Answer(late).status, 200)
        late.close()

    def test_headers_that_mean_nothing(self):
        """A priority that is none, a deadline that is none."""
        gateway = self.gateway([self.engine()])
        for header in ("X-Priority: 9", "X-Priority: a", "X-Deadline-Ms: 0",
                       "X-Tier: " + "t" * 300):
            self.assertEqual(
                self.ask(gateway, headers=header + "\r\n").status, 400)


if __name__ == "__main__":
    unittest.main()
