# SPDX-License-Identifier: MIT
"""Requests that nobody should send: they get a clear 4xx, an engine hears
nothing of them, and the gateway goes on as before. And: no API key is ever
logged or shown."""
import http.client
import json
import os
import socket
import threading
import time
import unittest

import harness
from scripted import Answer, Engine, GOOD, answer, always, chat, post

PATH = "/v1/chat/completions"
BODY = chat(model="mock-model")
OTHER = "POST /v1/completions HTTP/1.1\r\nHost: x\r\n"


def head(*lines, line=f"POST {PATH} HTTP/1.1", host="Host: gateway"):
    """The head of a request."""
    return "\r\n".join([line, host, *lines, "", ""]).encode("latin-1")


def sized(*lines, body=BODY, **more):
    """A request with a right length and further lines."""
    return head(f"Content-Length: {len(body)}", *lines, **more) + body


def in_chunks(*lines, coding="Transfer-Encoding: chunked", body=None):
    """A request in chunks."""
    if body is None:
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    return head(coding, *lines) + body


SMUGGLED = OTHER.encode() + b"Content-Length: 2\r\n\r\n{}"
LENGTH = f"Content-Length: {len(BODY)}"

# Two servers could see the end of these at different places.
FRAMING = {
    "length and chunks": in_chunks(LENGTH),
    "chunks and length": head(LENGTH, "Transfer-Encoding: chunked") +
    b"0\r\n\r\n" + SMUGGLED,
    "two lengths": head(LENGTH, "Content-Length: 0") + BODY,
    "two equal lengths": head(LENGTH, LENGTH) + BODY,
    "a list of lengths": head(f"{LENGTH}, {len(BODY)}") + BODY,
    "length with a sign": head(f"Content-Length: +{len(BODY)}") + BODY,
    "negative length": head("Content-Length: -1") + BODY,
    "hexadecimal length": head("Content-Length: 0x5") + BODY,
    "length with a blank in it": head("Content-Length: 1 0") + BODY,
    "length beyond 64 bits": head("Content-Length: " + "9" * 30) + BODY,
    "length that wraps": head(f"Content-Length: {2 ** 64 + len(BODY)}") + BODY,
    "empty length": head("Content-Length:") + BODY,
    "length of words": head("Content-Length: many") + BODY,
    "unknown coding": in_chunks(coding="Transfer-Encoding: xchunked"),
    "two codings": in_chunks("Transfer-Encoding: identity"),
    "a list of codings": in_chunks(coding="Transfer-Encoding: gzip, chunked"),
    "chunked twice": in_chunks(coding="Transfer-Encoding: chunked, chunked"),
    "coding with a tab": in_chunks(coding="Transfer-Encoding:\vchunked"),
    "blank before the colon": in_chunks(coding="Transfer-Encoding : chunked"),
    "length, blank before the colon":
        head(f"Content-Length : {len(BODY)}") + BODY,
    "folded coding": in_chunks(coding="Transfer-Encoding:\r\n chunked",
                               body=SMUGGLED),
    "no colon": sized("X-Note"),
    "no name": sized(": value"),
    "name with a blank": sized("X Note: a"),
    "name beyond ASCII": sized("X-N\xf6te: a"),
    "NUL in a name": sized("X\0Note: a"),
    "NUL in a value": sized("X-Note: a\0b"),
    "CR in a value": sized("X-Note: a\rX-Other: b"),
    "control in a value": sized("X-Note: a\1b"),
    "two hosts": sized("Host: other"),
    "unknown expectation": sized("Expect: 200-ok"),
}

CHUNKS = {
    "no size": b"\r\n{}\r\n0\r\n\r\n",
    "size of words": b"zz\r\n{}\r\n0\r\n\r\n",
    "negative size": b"-2\r\n{}\r\n0\r\n\r\n",
    "size beyond 64 bits": b"f" * 17 + b"\r\n{}\r\n0\r\n\r\n",
    "size that wraps": b"10000000000000002\r\n{}\r\n0\r\n\r\n",
    "huge size": b"7fffffffffffffff\r\n{}\r\n0\r\n\r\n",
    "size above the limit": b"40000000\r\n{}\r\n0\r\n\r\n",
}

LINES = {
    "no path": sized(line="POST  HTTP/1.1"),
    "no version": sized(line=f"POST {PATH}"),
    "wrong version": sized(line=f"POST {PATH} HTTP/x.y"),
    "words after the version": sized(line=f"POST {PATH} HTTP/1.1 HTTP/1.0"),
    "absolute form": sized(line=f"POST http://other{PATH} HTTP/1.1"),
    "authority form": sized(line="POST other:80 HTTP/1.1"),
    "asterisk form": sized(line="OPTIONS * HTTP/1.1"),
    "backslash": sized(line="POST \\v1\\chat\\completions HTTP/1.1"),
    "NUL in the path": sized(line=f"POST {PATH}\0 HTTP/1.1"),
    "bytes beyond ASCII": sized(line="POST /v1/chat/complet\xefons HTTP/1.1"),
    "dots": sized(line="POST /v1/chat/../chat/completions HTTP/1.1"),
    "encoded path": sized(line="POST /v1/chat%2fcompletions HTTP/1.1"),
    "an engine's own path": sized(line="POST /v1/load_lora_adapter HTTP/1.1"),
    "another path": sized(line="POST /metrics HTTP/1.1"),
    "method": sized(line=f"PUT {PATH} HTTP/1.1"),
    "unknown method": sized(line=f"BREW {PATH} HTTP/1.1"),
    "tunnel": sized(line="CONNECT other:443 HTTP/1.1"),
    "trace": head(line=f"TRACE {PATH} HTTP/1.1"),
}

BODIES = {
    "empty": b"",
    "no JSON": b"hello",
    "cut JSON": BODY[:-1],
    "two values": BODY + BODY,
    "an array": b"[]",
    "a number": b"7",
    "bad UTF-8": BODY.replace(b"hi", b"\xff\xfe"),
    "half a character": BODY.replace(b"hi", b"\\ud800"),
    "raw NUL": BODY.replace(b"hi", b"h\0i"),
    "model twice": b'{"model":"mock-model",' + BODY[1:],
    "deep array": b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep object": b'{"x":' * 5_000 + b"1" + b"}" * 5_000,
    "deep and cut": b"[" * 1_000_000,
    "number without end": b'{"x":' + b"9" * 100_000 + b"}",
    "no messages": b'{"model":"mock-model"}',
    "messages of words": b'{"model":"mock-model","messages":"x"}',
    "stream of words": BODY[:-1] + b',"stream":"yes"}',
    "a form": b"model=mock-model&messages=x",
}


class Abuse(harness.Case):
    """All against one gateway, with an engine that notes what it hears."""

    def setUp(self):
        self.heard = Engine(always(answer(GOOD)))
        self.addCleanup(self.heard.close)
        self.gateway = self.proxy(
            [self.heard.port], limits={"body_bytes": 1 << 20},
            timeouts={"client": 2 * harness.PATIENCE})

    def connect(self):
        """A connection that ends with the test."""
        sock = socket.create_connection(("127.0.0.1", self.gateway.port), 30)
        self.addCleanup(sock.close)
        return sock

    def send(self, data):
        """Sends bytes, and reads the answer; None: closed without one."""
        with self.connect() as sock:
            try:
                sock.sendall(data)
            except ConnectionError:
                pass
            try:
                return Answer(sock)
            except (EOFError, ConnectionError):
                return None

    def assert_refused(self, data, statuses, name):
        """A clear error of its own form, and no word to the engine."""
        found = self.send(data)
        self.assertIsNotNone(found, f"{name}: closed without an answer")
        self.assertIn(found.status, statuses, name)
        self.assertTrue(found.body, name)
        if found.headers["content-type"] == "application/json":
            self.assertTrue(found.json()["error"]["message"], name)
        heard = list(self.heard.requests)
        self.heard.requests.clear()
        self.assertEqual(heard, [], name)

    def assert_good(self, count):
        """It serves as before, and the engine has heard so many in all."""
        self.assertEqual(self.send(post(PATH, BODY)).status, 200)
        self.assertEqual(len(self.heard.requests), count)
        self.assertEqual(self.heard.requests[-1][1], BODY)
        self.gateway.assert_idle()

    def refuse_all(self, requests, statuses):
        """Each of them, by name."""
        for name, data in requests.items():
            with self.subTest(name):
                self.assert_refused(data, statuses, name)
        self.assert_good(1)

    def test_framing(self):
        """Where a request ends must be plain."""
        self.refuse_all(FRAMING, (400, 413, 417))

    def test_chunks(self):
        """So must where a chunk ends."""
        self.refuse_all({name: in_chunks(body=body)
                         for name, body in CHUNKS.items()}, (400, 413))

    def test_request_lines(self):
        """Other targets and methods than those that are served."""
        self.refuse_all(LINES, (400, 404, 405, 501))

    def test_bodies(self):
        """What is no request in JSON."""
        self.refuse_all({name: post(PATH, body)
                         for name, body in BODIES.items()}, (400,))

    def test_errors_do_not_quote(self):
        """Errors are of the gateway's own words."""
        for body in (b'{"SECRET', b'{"model":["SECRET"]}', b'"SECRET"',
                     b'{"model":"SECRET","messages":[]}'):
            found = self.send(post(PATH, body))
            self.assertIn(found.status, (400, 404))
            self.assertNotIn(b"SECRET", found.body)
        self.assertEqual(self.heard.requests, [])

    def test_oversized_heads(self):
        """Many headers, a long one, a long path."""
        for name, data in {
                "long": sized("X-Note: " + "a" * 100_000),
                "very long": sized("X-Note: " + "a" * 10_000_000),
                "many": sized(*[f"X-{i}: a" for i in range(20_000)]),
                "path": sized(line=f"POST {PATH}?{'a' * 100_000} HTTP/1.1"),
                "endless line": b"POST /" + b"a" * 10_000_000,
        }.items():
            with self.subTest(name):
                self.assert_refused(data, (400, 413, 414, 431), name)
        self.assert_good(1)

    def test_tiny_headers(self):
        """Few bytes, but each would be looked at for each attempt."""
        begun = time.monotonic()
        self.assert_refused(sized(*["a:"] * 15_000), (431,), "tiny")
        self.assertLess(time.monotonic() - begun, harness.PATIENCE)
        self.assert_refused(sized(*["Connection: a"] * 200), (400,), "names")
        self.assert_good(1)

    def test_oversized_bodies(self):
        """100 MB, told or in chunks; nothing of it is kept."""
        before = self.gateway.rss()
        most = 100_000_000
        piece = b"x" * 1_000_000
        for name, start, part in (
                ("told", head(f"Content-Length: {most}"), piece),
                ("in chunks", head("Transfer-Encoding: chunked"),
                 b"%x\r\n%s\r\n" % (len(piece), piece))):
            with self.subTest(name):
                found, sent = self.pour(start, part, most // len(piece))
                self.assertIsNotNone(found, "closed without an answer")
                self.assertEqual(found.status, 413)
                self.assertTrue(found.body)
                self.assertEqual(self.heard.requests, [], sent)
        if not harness.SANITIZED:
            self.assertLess(self.gateway.rss() - before, 32 << 20)
        self.assert_good(1)

    def pour(self, start, part, count):
        """Sends a body until there is an answer; returns it, and how much was
        sent."""
        sock = self.connect()
        sent = 0
        try:
            sock.sendall(start)
            for _ in range(count):
                sock.sendall(part)
                sent += len(part)
        except ConnectionError:
            pass
        try:
            return Answer(sock), sent
        except (EOFError, ConnectionError):
            return None, sent

    def test_expectation(self):
        """A body that is too large is turned away before it is sent."""
        found = self.send(head("Content-Length: 100000000",
                               "Expect: 100-continue"))
        self.assertEqual(found.status, 413)
        self.assertEqual(self.heard.requests, [])

    def test_what_follows_a_body(self):
        """A second request is one of its own; garbage is none, and nothing of
        it reaches the engine."""
        for tail, statuses in ((post(PATH, BODY), [200, 200]),
                               (b"garbage\r\n\r\n", [200, 400]),
                               (b"\1\2\3\r\n\r\n", [200, 400])):
            self.heard.requests.clear()
            with self.connect() as sock:
                sock.sendall(post(PATH, BODY) + tail)
                first = Answer(sock)
                second = Answer(sock, rest=first.raw)
                self.assertEqual([first.status, second.status], statuses)
            self.assertEqual([body for _, body in self.heard.requests],
                             [BODY] * statuses.count(200))
        self.gateway.assert_idle()

    def test_nothing_is_hidden_in_a_body(self):
        """What looks like a request in a body stays in it."""
        body = chat(model="mock-model", text=SMUGGLED.decode())
        self.assertEqual(self.send(post(PATH, body)).status, 200)
        self.assertEqual([found for _, found in self.heard.requests], [body])

    def test_bare_line_feeds(self):
        """Either refused, or read as one request that is written anew."""
        data = post(PATH, BODY).replace(b"\r\n", b"\n")
        found = self.send(data)
        if found.status == 200:
            request, body = self.heard.requests.pop()
            self.assertEqual(body, BODY)
            self.assertNotIn("\n", request.replace("\r\n", ""))
        else:
            self.assertEqual(found.status, 400)
        self.assertEqual(self.heard.requests, [])

    def test_folded_headers(self):
        """Either refused, or passed on as the one line that they are."""
        for line in ("X-Note: a\r\n b", "X-Note: a\r\n\tb"):
            self.heard.requests.clear()
            found = self.send(sized(line))
            self.assertIn(found.status, (200, 400))
            for request, body in self.heard.requests:
                self.assertIn("\r\nX-Note: a b\r\n", request)
                self.assertEqual(body, BODY)

    def test_chunk_extensions_and_trailers(self):
        """Either refused, or nothing of them is passed on."""
        size = b"%x" % len(BODY)
        for body in (size + b";a=b\r\n" + BODY + b"\r\n0\r\n\r\n",
                     size + b"\r\n" + BODY +
                     b"\r\n0\r\nX-Secret: 1\r\nContent-Length: 5\r\n\r\n"):
            self.heard.requests.clear()
            found = self.send(in_chunks(body=body))
            self.assertIn(found.status, (200, 400, 413))
            for request, passed in self.heard.requests:
                self.assertEqual(passed, BODY)
                self.assertNotIn("x-secret", request.lower())
                self.assertIn(f"content-length: {len(BODY)}", request.lower())

    def test_bytes_at_random(self):
        """No HTTP at all, TLS, HTTP/2: an error or an end, never a crash."""
        for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0" * 1000,
                     b"\r\n" * 1000, b"GET\r\n\r\n", os.urandom(10_000)):
            found = self.send(data)
            if found:
                self.assertIn(found.status // 100, (4, 5))
        self.assertEqual(self.heard.requests, [])
        self.assert_good(1)

    def test_half_a_request(self):
        """Whoever never sends the rest is let go."""
        for start in (b"", b"POST", head("Content-Length: 10"),
                      sized()[:-1], in_chunks()[:-5]):
            with self.connect() as sock:
                sock.sendall(start)
                sock.settimeout(20 * harness.PATIENCE)
                while sock.recv(65536):
                    pass
        self.assertEqual(self.heard.requests, [])
        self.assert_good(1)


class Keys(harness.Case):
    """An API key goes to the engine, and nowhere else."""

    SECRET = "sk-ProbeKey-0123456789"

    def use(self, gateway, engine):
        """Requests of every outcome, with the key where clients put it."""
        for headers in ({"Authorization": f"Bearer {self.SECRET}"},
                        {"x-api-key": self.SECRET}):
            for path, body in (
                    (PATH, chat(model="mock-model")),
                    (PATH, chat(True, model="mock-model")),
                    (PATH, chat(model="nobody's")), (PATH, b"{"),
                    ("/v1/messages", chat(model="mock-model")),
                    ("/nothing", b"{}")):
                self.ask(gateway, path, body, headers)
            engine.close()
            self.ask(gateway, PATH, chat(model="mock-model"), headers)

    @staticmethod
    def ask(gateway, path, body, headers):
        """One request; its answer does not matter."""
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port,
                                                timeout=20 * harness.PATIENCE)
        connection.request("POST", path, body,
                           {"Content-Type": "application/json", **headers})
        text = connection.getresponse().read()
        connection.close()
        return text

    def shown(self, gateway):
        """All that an operator can see."""
        pages = [json.dumps(gateway.admin(path)) for path in (
            "/api/status", "/api/targets", "/api/pools", "/api/clients",
            "/api/decisions")]
        with socket.create_connection(
                ("127.0.0.1", gateway.admin_port)) as sock:
            sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            pages.append(Answer(sock).body.decode())
        pages.append(json.dumps(gateway.admin("/api/explain", {
            "path": PATH, "headers": {"Authorization":
                                      f"Bearer {self.SECRET}"},
            "body": json.loads(chat(model="mock-model"))})))
        return "\n".join(pages) + gateway.output()

    def test_clients_keys(self):
        """The client's own, passed on to the engine."""
        engine = Engine(always(answer(GOOD)))
        gateway = self.proxy([engine.port])
        self.use(gateway, engine)
        passed = " ".join(request for request, _ in engine.requests)
        self.assertIn(self.SECRET, passed)
        self.assertNotIn(self.SECRET, self.shown(gateway))

    def test_engines_key(self):
        """The engine's, from the environment, instead of the client's."""
        engine = Engine(always(answer(GOOD)))
        own = "sk-EnginesOwn-9876543210"
        gateway = self.proxy(
            [{"url": f"http://127.0.0.1:{engine.port}",
              "api_key_env": "PROBE_KEY"}], environment={"PROBE_KEY": own})
        self.use(gateway, engine)
        passed = " ".join(request for request, _ in engine.requests)
        self.assertIn(own, passed)
        self.assertNotIn(self.SECRET, passed)
        shown = self.shown(gateway)
        self.assertNotIn(self.SECRET, shown)
        self.assertNotIn(own, shown)


if __name__ == "__main__":
    threading.excepthook = lambda _: None  # Engines that were closed.
    unittest.main(verbosity=2)
