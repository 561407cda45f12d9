# SPDX-License-Identifier: MIT
"""OpenAI's own client through the gateway to mock engines.

The program that stands for an engine is named by LBROUTE_MOCK_ENGINE (built by
meson as examples/mock-engine/lbroute-mock-engine); without it, or without what
requirements-test.txt lists, the tests are skipped.
"""

import concurrent.futures
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

openai = pytest.importorskip("openai")
httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

MOCK = os.environ.get("LBROUTE_MOCK_ENGINE")
pytestmark = pytest.mark.skipif(not MOCK, reason="LBROUTE_MOCK_ENGINE not set")
GATEWAY = pathlib.Path(__file__).parent / "gateway.py"
PROMPT = "Tell me about routers. " * 100


class Engine:
    """A mock engine and its addresses."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [MOCK, "--api-key", "secret", "--speed", "20", *options],
            stdout=subprocess.PIPE, text=True)
        self.at = {}
        wanted = 4 if "--kv-events" in options else 2
        while len(self.at) < wanted:
            name, _, where = self.process.stdout.readline().partition(" on ")
            self.at[name] = where.strip()
        self.name = self.at["listening"]
        self.spec = f"http://{self.name}"
        if wanted == 4:
            self.spec += (f",kv={self.at['kv events']}"
                          f",replay={self.at['kv replay']}")

    def faults(self, **faults):
        httpx.post(f"http://{self.at['control']}/mock/faults", json=faults
                   ).raise_for_status()

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(10)
        self.process.stdout.close()


class Gateway:
    """The example as a process, in front of engines."""

    def __init__(self, engines, *options):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [sys.executable, str(GATEWAY), "--port", str(port), *options,
             *(engine.spec for engine in engines)])
        wait_for(lambda: self.stats() is not None)
        self.client = openai.OpenAI(base_url=self.url + "/v1",
                                    api_key="secret", max_retries=0)

    def stats(self):
        try:
            return httpx.get(self.url + "/stats").json()
        except httpx.ConnectError:
            return None

    def ask(self, content=PROMPT, session=None, **options):
        headers = {"x-session-id": session} if session else {}
        return self.client.chat.completions.with_raw_response.create(
            model="mock-model", messages=[{"role": "user", "content": content}],
            extra_headers=headers, **options)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def wait_for(condition):
    end = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.02)


@pytest.fixture
def start():
    """start(engines, options of the gateway, options of each engine)."""
    started = []

    def make(count=2, options=(), engine_options=()):
        engines = []
        for _ in range(count):
            engines.append(Engine(*engine_options))
            started.append(engines[-1])
        gateway = Gateway(engines, *options)
        started.append(gateway)
        return gateway, engines

    yield make
    for one in reversed(started):
        if one.process.poll() is None:
            one.stop()


def is_idle(gateway):
    return gateway.stats()["open_tickets"] == 0


def test_answers(start):
    gateway, engines = start()
    raw = gateway.ask(max_tokens=8)
    answer = raw.parse()
    assert answer.usage.completion_tokens == 8
    assert answer.choices[0].message.content
    assert raw.headers["x-lbroute-server"] in {e.name for e in engines}
    assert raw.headers["x-lbroute-algorithm"] == "weighted"
    stats = gateway.stats()
    assert stats["settled"]["success"] == 1 and is_idle(gateway)
    served = stats["per_target"][raw.headers["x-lbroute-server"]]
    assert served["input_tokens"] == answer.usage.prompt_tokens
    assert served["output_tokens"] == 8
    again = gateway.ask(max_tokens=8)
    assert again.headers["x-lbroute-algorithm"] == "kv_aware"
    assert again.headers["x-lbroute-server"] == raw.headers["x-lbroute-server"]


def test_streams(start):
    gateway, _ = start()
    stream = gateway.client.chat.completions.create(
        model="mock-model", messages=[{"role": "user", "content": PROMPT}],
        max_tokens=20, stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    assert chunks[-1].usage.completion_tokens == 20
    assert sum(bool(chunk.choices and chunk.choices[0].delta.content)
               for chunk in chunks) > 5
    stats = gateway.stats()
    assert stats["settled"]["success"] == 1 and is_idle(gateway)
    assert sum(t["output_tokens"] for t in stats["per_target"].values()) == 20


def test_many_at_once(start):
    gateway, engines = start(options=["--strategy", "least_connections"])

    def one(i):
        return gateway.ask(f"{i} {PROMPT}", max_tokens=4 + i % 8,
                           ).parse().usage.completion_tokens == 4 + i % 8

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(one, range(100)))
    stats = gateway.stats()
    assert stats["settled"]["success"] == 100 and is_idle(gateway)
    assert all(t["picks"] > 20 for t in stats["per_target"].values())


def test_a_dead_engine_is_passed_over(start):
    gateway, engines = start(count=3)
    engines[0].stop(signal.SIGKILL)
    for i in range(12):
        raw = gateway.ask(f"{i}", max_tokens=2)
        assert raw.headers["x-lbroute-server"] != engines[0].name
    stats = gateway.stats()
    assert stats["settled"]["success"] == 12 and is_idle(gateway)
    assert stats["settled"]["failure"] >= 1
    for engine in engines[1:]:
        engine.stop(signal.SIGKILL)
    with pytest.raises(openai.APIStatusError) as caught:
        gateway.ask(max_tokens=2)
    assert caught.value.status_code == 502


def test_the_client_is_told_of_its_own_faults(start):
    gateway, _ = start()
    with pytest.raises(openai.NotFoundError):
        gateway.client.chat.completions.create(model="other", messages=[
            {"role": "user", "content": "x"}])
    gateway.client.api_key = "wrong"
    with pytest.raises(openai.AuthenticationError):
        gateway.ask()
    answer = httpx.post(gateway.url + "/v1/chat/completions", content=b"{none",
                        headers={"authorization": "Bearer secret"})
    assert answer.status_code == 400
    assert gateway.stats()["settled"]["client_error"] == 3 and is_idle(gateway)


def test_an_engine_that_breaks_off_first_is_passed_over(start):
    gateway, engines = start(options=["--strategy", "round_robin"])
    for fault in ({"close_before_answer": True}, {"status": 500},
                  {"malformed": True}, {"status": 429, "retry_after": 1}):
        engines[0].faults(**fault)
        raw = gateway.ask(max_tokens=2)
        assert raw.headers["x-lbroute-server"] == engines[1].name
    stats = gateway.stats()
    assert stats["settled"]["success"] == 4 and is_idle(gateway)
    assert stats["settled"]["failure"] == 3
    assert stats["settled"]["overload"] == 1


def test_a_stream_that_breaks_off_does_not_look_complete(start):
    gateway, (engine,) = start(count=1)
    engine.faults(cut_after_chunks=3)
    stream = gateway.client.chat.completions.create(
        model="mock-model", messages=[{"role": "user", "content": PROMPT}],
        max_tokens=100, stream=True)
    with pytest.raises((openai.APIError, httpx.HTTPError)):
        list(stream)
    wait_for(lambda: is_idle(gateway))
    assert gateway.stats()["settled"]["failure"] == 1


def test_a_client_that_goes_away_ends_its_request(start):
    gateway, _ = start(count=1)
    stream = gateway.client.chat.completions.create(
        model="mock-model", messages=[{"role": "user", "content": PROMPT}],
        max_tokens=20000, stream=True)
    next(iter(stream))
    assert gateway.stats()["open_tickets"] == 1
    stream.close()
    wait_for(lambda: is_idle(gateway))
    assert gateway.stats()["settled"]["cancel"] == 1


def test_where_all_are_full_requests_wait(start):
    gateway, _ = start(count=1)

    def one(_):
        return gateway.ask(max_tokens=100).headers

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        headers = list(pool.map(one, range(50)))
    stats = gateway.stats()
    assert stats["settled"]["success"] == 50 and is_idle(gateway)
    assert stats["queued"] == stats["queue_served"] > 0
    assert any(int(h["x-lbroute-wait-ms"]) > 0 for h in headers)


def test_metrics_are_scraped(start):
    gateway, _ = start(count=1)
    wait_for(lambda: all(t["gauges"]["running"] is not None
                         for t in gateway.stats()["per_target"].values()))


def test_kv_events_decide(start):
    pytest.importorskip("zmq")
    gateway, engines = start(engine_options=["--kv-events", "0"],
                             options=["--strategy", "precise_cache_aware"])
    time.sleep(0.5)  # until the sockets have found each other
    raw = gateway.ask(PROMPT, max_tokens=2)
    first = raw.headers["x-lbroute-server"]
    wait_for(lambda: gateway.stats()["per_target"][first]["kv_blocks"] > 10)
    for _ in range(4):
        raw = gateway.ask(PROMPT, max_tokens=2)
        assert raw.headers["x-lbroute-server"] == first
        assert raw.headers["x-lbroute-algorithm"] == "precise_cache_aware"
        assert raw.headers["x-lbroute-kv-state"] == "fresh"


def test_lost_kv_events_are_asked_for_again(start):
    pytest.importorskip("zmq")
    gateway, (engine,) = start(count=1, engine_options=["--kv-events", "0"])
    time.sleep(0.5)
    gateway.ask("first " + PROMPT, max_tokens=2)
    wait_for(lambda: gateway.stats()["kv_blocks"] > 0)
    before = gateway.stats()["kv_blocks"]
    engine.faults(drop_kv_events=1)
    for i in range(3):
        gateway.ask(f"{i} {PROMPT}", max_tokens=2)
    wait_for(lambda: gateway.stats()["kv_blocks"] > 3 * before)
    target, = gateway.stats()["per_target"].values()
    assert target["kv_state"] == 1  # fresh
