# SPDX-License-Identifier: MIT
"""Clients that vanish, engines that are killed, readers that are slow, sockets
that are half open: afterwards nothing is open, and no descriptor is lost."""
import http.client
import json
import random
import signal
import socket
import threading
import time
import unittest

import harness
from mock_engine import chat_answer
from scripted import (Answer, Engine, GOOD, LAST_CHUNK, SSE_HEAD, answer,
                      always, chat, chunk, post)

PATH = "/v1/chat/completions"
MODEL = "mock-model"
SECOND = harness.PATIENCE  # In the gateway's time limits.


def request(tokens, stream=True, text="hi"):
    """A whole request."""
    return post(PATH, chat(stream, MODEL, text, max_tokens=tokens))


def text_of(stream):
    """The text of a stream of events, which must be whole."""
    events = [line[6:] for line in stream.decode().split("\n")
              if line.startswith("data: ")]
    if not events or events.pop() != "[DONE]":
        raise AssertionError(f"no end: {stream}")
    return "".join(choice["delta"].get("content") or ""
                   for event in map(json.loads, events)
                   for choice in event["choices"])


class Chaos(harness.Case):
    """A gateway whose counts and descriptors are as before in the end."""

    def before(self, targets, **settings):
        """Starts it, and notes what it has open once it is warm."""
        gateway = self.proxy(targets, **settings)
        gateway.assert_idle()
        descriptors = gateway.own_descriptors()

        def back_to_normal():
            gateway.assert_idle(20)
            harness.wait_for(
                f"{descriptors} descriptors again",
                lambda: gateway.own_descriptors() == descriptors, 20)
        self.addCleanup(back_to_normal)
        return gateway

    @staticmethod
    def connect(gateway, data=b""):
        """A connection on which something was sent."""
        sock = socket.create_connection(("127.0.0.1", gateway.port),
                                        60 * harness.PATIENCE)
        sock.sendall(data)
        return sock

    @staticmethod
    def vanish(sock, reset):
        """Ends a connection, with or without a word."""
        if reset:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                            b"\1\0\0\0\0\0\0\0")
        sock.close()

    def ask(self, gateway, data):
        """Sends a request and reads the answer; None if it is cut."""
        with self.connect(gateway, data) as sock:
            try:
                found = Answer(sock)
            except (EOFError, ConnectionError):
                return None
        return found if found.complete else None


class Clients(Chaos):
    """Clients that vanish."""

    def vanishing(self, gateway, engine, data, moment, count=100):
        """So many vanish, when `moment` says so."""
        for number in range(count):
            sock = self.connect(gateway, data)
            moment(sock)
            self.vanish(sock, number % 2)
        gateway.assert_idle(20)
        harness.wait_for("the engine's end of all",
                         lambda: engine.state()["open"] == 0)
        status = gateway.status()
        self.assertEqual(status["counters"]["client_gone"], count)
        self.assertEqual(status["router"]["settled"]["cancel"], count)
        self.assertEqual(status["router"]["settled"]["failure"], 0)
        found = self.ask(gateway, request(5))
        self.assertEqual(text_of(found.body), chat_answer("hi", 5))

    def test_before_the_first_byte(self):
        """The engine has not said anything yet."""
        engine = self.engine("--instant")
        gateway = self.before([engine])
        engine.faults(hang=True, count=100)
        begun = iter(range(1, 101))

        def has_begun(_):
            wanted = next(begun)
            harness.wait_for("the engine's begin", lambda: engine.state()[
                "counts"]["faulted"] >= wanted)
        self.vanishing(gateway, engine, request(5), has_begun)

    def test_in_mid_stream(self):
        """After the first bytes of it."""
        engine = self.engine("--speed", "0.5")
        gateway = self.before([engine])
        self.vanishing(gateway, engine, request(5000),
                       lambda sock: sock.recv(1000))

    def test_at_once(self):
        """Perhaps before it was read, perhaps when it was over."""
        engine = self.engine("--instant")
        gateway = self.before([engine])
        for number in range(200):
            self.vanish(self.connect(gateway, request(5)), number % 2)
        self.assertIsNotNone(self.ask(gateway, request(5)))

    def test_while_queued(self):
        """One holds the only slot; those that wait vanish, one stays."""
        engine = self.engine("--instant")
        gateway = self.before(
            [{"url": engine.url, "max_concurrency": 1}],
            pool={"parameters": {"queue.enabled": 1, "queue.depth": 300}})
        engine.faults(hang=True, count=1)
        holder = self.connect(gateway, request(5))
        harness.wait_for("the slot's end",
                         lambda: gateway.status()["open"] == 1)
        waiting = [self.connect(gateway, request(5)) for _ in range(101)]
        harness.wait_for("the queue",
                         lambda: gateway.status()["waiting"] == 101)
        stays = waiting.pop(50)
        for number, sock in enumerate(waiting):
            self.vanish(sock, number % 2)
        harness.wait_for("their end",
                         lambda: gateway.status()["waiting"] == 1)
        self.assertEqual(engine.state()["counts"]["received"], 0)
        self.vanish(holder, True)
        with stays:
            self.assertEqual(text_of(Answer(stays).body),
                             chat_answer("hi", 5))


class Engines(Chaos):
    """Engines that are killed, and come back."""

    def test_killed_under_load(self):
        """Answers are right, or cut, or an error; never something else."""
        engines = [self.engine("--speed", "20") for _ in range(3)]
        gateway = self.before(engines, pool={"parameters": {
            "health.bench_time": 0.2, "health.bench_max": 0.4}})
        stop = threading.Event()
        told = {"good": 0, "cut": 0, "error": 0, "wrong": 0}

        def client(number):
            while not stop.is_set():
                text = f"client {number}"
                found = self.ask(gateway, request(40, text=text))
                if found is None:
                    told["cut"] += 1
                elif found.status != 200:
                    told["error" if found.json()["error"]["message"] and
                         found.status in (429, 502, 503) else "wrong"] += 1
                elif text_of(found.body) == chat_answer(text, 40):
                    told["good"] += 1
                else:
                    told["wrong"] += 1
        threads = [threading.Thread(target=client, args=(number,))
                   for number in range(24)]
        for thread in threads:
            thread.start()
        for turn in range(9):
            time.sleep(0.3)
            victim = engines[turn % 3]
            victim.signal(signal.SIGKILL)
            victim.process.wait()
            time.sleep(0.2)
            victim.again()
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(told["wrong"], 0, told)
        self.assertGreater(told["good"], 50, told)
        self.assertGreater(told["cut"] + told["error"] +
                           gateway.status()["counters"]["retries"], 0, told)
        self.assert_all_serve(gateway)

    def assert_all_serve(self, gateway):
        """All engines are in use again."""
        def served():
            self.ask(gateway, request(1))
            targets = gateway.admin("/api/targets")["targets"]
            return not any(t["benched"] or t["failures_in_row"]
                           for t in targets)
        harness.wait_for("all targets to serve again", served, 20)

    def test_dead_before_the_first_byte(self):
        """One is dead: nobody notices, since another one answers."""
        engines = [self.engine("--instant") for _ in range(2)]
        gateway = self.before(engines, pool={"strategy": "round_robin"})
        engines[0].kill()
        for _ in range(50):
            found = self.ask(gateway, request(5))
            self.assertEqual(text_of(found.body), chat_answer("hi", 5))
        self.assertGreater(gateway.status()["counters"]["retries"], 0)

    def test_all_dead(self):
        """A clear error, and all is well when they are back."""
        engine = self.engine("--instant")
        gateway = self.before([engine], pool={"parameters": {
            "health.bench_time": 0.2, "health.bench_max": 0.4}})
        engine.kill()
        for _ in range(20):
            found = self.ask(gateway, request(5))
            self.assertIn(found.status, (502, 503))
            self.assertTrue(found.json()["error"]["message"])
        engine.again()
        harness.wait_for("an answer", lambda: self.ask(
            gateway, request(5)).status == 200)

    def test_never_answers(self):
        """Accepts, reads, and says nothing; or stops in mid-stream."""
        def mute(_engine, wire):
            while wire.request_noted():
                pass

        def stuck(_engine, wire):
            wire.request_noted()
            wire.send(SSE_HEAD + chunk(b'data: {"choices":[{"delta":{}}]}\n\n'))
            wire.request()
        engine = Engine(mute)
        self.addCleanup(engine.close)
        gateway = self.before(
            [engine.port], retries=0,
            timeouts={"first_byte": SECOND, "idle": SECOND},
            pool={"parameters": {"health.bench_after": 1000}})
        socks = [self.connect(gateway, request(5)) for _ in range(50)]
        for sock in socks:
            with sock:
                self.assertEqual(Answer(sock).status, 504)
        engine.script = stuck
        socks = [self.connect(gateway, request(5)) for _ in range(50)]
        for sock in socks:
            with sock:
                found = Answer(sock)
                self.assertEqual((found.status, found.complete), (200, False))
        settled = gateway.status()["router"]["settled"]
        self.assertEqual(settled["timeout"], 100)

    def test_never_accepts(self):
        """A port whose queue is full: the time to connect is bounded."""
        port, holders = self.full_port()
        gateway = self.before([port], retries=0,
                              timeouts={"connect": SECOND})
        begin = time.monotonic()
        found = self.ask(gateway, request(5))
        self.assertIn(found.status, (502, 504))
        self.assertLess(time.monotonic() - begin, 10 * harness.PATIENCE)
        for sock in holders:
            sock.close()

    def full_port(self):
        """A port that drops connections, and what fills its queue."""
        listener = socket.socket()
        self.addCleanup(listener.close)
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        holders = []
        for _ in range(16):
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", port))
            holders.append(sock)
        time.sleep(0.1)
        return port, holders


class Readers(Chaos):
    """Readers that are slow."""

    PIECE = b"data: " + b"x" * 16000 + b"\n\n"
    PIECES = 1500  # 24 MB

    def flood(self):
        """An engine that sends as fast as it is read."""
        def script(_engine, wire):
            while wire.request_noted():
                wire.send(SSE_HEAD)
                piece = chunk(self.PIECE)
                for _ in range(self.PIECES):
                    wire.send(piece)
                wire.send(LAST_CHUNK)
        engine = Engine(script)
        self.addCleanup(engine.close)
        return engine

    @staticmethod
    def read(sock):
        """All of a large answer."""
        found = http.client.HTTPResponse(sock)
        found.begin()
        return found.read()

    def test_slow_reader(self):
        """The engine is held back: memory stays small, no byte is lost."""
        engine = self.flood()
        gateway = self.before([engine.port],
                              limits={"stream_buffer": 65536})
        with self.connect(gateway, request(5)) as sock:
            self.read(sock)
        memory = gateway.rss()
        readers = [self.connect(gateway, request(5)) for _ in range(10)]
        time.sleep(1.5)
        self.assertEqual(gateway.status()["open"], 10)
        if not harness.SANITIZED:
            self.assertLess(gateway.rss() - memory, 10 << 20)
        for sock in readers:
            with sock:
                self.assertEqual(self.read(sock), self.PIECE * self.PIECES)

    def test_reader_that_stopped(self):
        """It takes nothing any more: it is let go, and so is the engine."""
        engine = self.flood()
        gateway = self.before([engine.port], timeouts={"write": SECOND},
                              limits={"stream_buffer": 65536})
        readers = [self.connect(gateway, request(5)) for _ in range(10)]
        harness.wait_for("their begin",
                         lambda: len(engine.requests) == 10)
        gateway.assert_idle(20)
        settled = gateway.status()["router"]["settled"]
        self.assertEqual(settled["cancel"], 10)
        for sock in readers:
            sock.close()


class HalfOpen(Chaos):
    """Clients that stop in the middle of a request."""

    def test_half_a_request(self):
        """Many of them at once; others are served meanwhile."""
        engine = Engine(always(answer(GOOD)))
        self.addCleanup(engine.close)
        gateway = self.before([engine.port],
                              timeouts={"client": 2 * SECOND})
        whole = request(5)
        starts = [whole[:random.Random(n).randrange(len(whole))]
                  for n in range(200)]
        socks = [self.connect(gateway, start) for start in starts]
        self.assertEqual(self.ask(gateway, whole).status, 200)
        for sock in socks:
            with sock:
                while sock.recv(65536):
                    pass
        self.assertEqual(len(engine.requests), 1)

    def test_closed_for_writing(self):
        """A client that has said all, and shuts down its side, is answered or
        taken for gone; nothing of it stays."""
        engine = self.engine("--instant")
        gateway = self.before([engine])
        for _ in range(50):
            with self.connect(gateway, request(5)) as sock:
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(65536):
                    pass


if __name__ == "__main__":
    threading.excepthook = lambda _: None  # Engines that were closed.
    unittest.main(verbosity=2)
