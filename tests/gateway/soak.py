# SPDX-License-Identifier: MIT
"""Many streams and many requests through the gateway; every byte is compared
with what the engine itself answers.

usage: LBROUTE_PROXY=… LBROUTE_MOCK=… soak.py [--streams N] [--requests N] …

First, streams at the pace of real engines, as many at once as there are
connections; then requests of all kinds, as fast as they go. In the end nothing
may be open, and memory must not have grown since the first tenth.
"""
import argparse
import asyncio
import itertools
import json
import os
import re
import resource
import sys
import time
import urllib.request

import harness
from mock_engine import answer, chat_answer

MODEL = "mock-model"
FLAT = 4 << 20  # Bytes that a flat memory may still move by.


def chat(text, tokens, stream):
    """A request for a chat completion, and its text."""
    body = {"model": MODEL, "max_tokens": tokens,
            "messages": [{"role": "user", "content": text}]}
    if stream:
        body.update(stream=True, stream_options={"include_usage": True})
    return "/v1/chat/completions", body, chat_answer(text, tokens)


def completion(text, tokens, stream):
    """A request for a completion, and its text."""
    body = {"model": MODEL, "max_tokens": tokens, "prompt": text,
            "stream": stream}
    return "/v1/completions", body, answer(text, tokens)


def message(text, tokens, stream):
    """A request for a message, and its text."""
    body = {"model": MODEL, "max_tokens": tokens, "stream": stream,
            "messages": [{"role": "user", "content": text}]}
    return "/v1/messages", body, chat_answer(text, tokens)


# What differs from one answer to the next: names and the clock; where engines
# have a cache, also what they found in it.
NAMES = rb'"id":\s*"[^"]*"|"created":\s*\d+'
CACHE = (rb'|"cached_tokens":\s*\d+|"cache_read_input_tokens":\s*\d+'
         rb'|"input_tokens":\s*\d+')
INSTANT, PACED = re.compile(NAMES), re.compile(NAMES + CACHE)


def text_of(body):
    """The text of an answer, of whatever kind."""
    events = [line[6:] for line in body.decode().split("\n")
              if line.startswith("data: ") and line != "data: [DONE]"]
    text = ""
    for event in map(json.loads, events or [body]):
        for choice in event.get("choices", []):
            text += (choice.get("text") or
                     (choice.get("delta") or choice.get("message") or {})
                     .get("content") or "")
        text += event.get("delta", {}).get("text", "")
        text += "".join(part["text"] for part in event.get("content", []))
    return text


class Kind:
    """One request, as bytes, and what its answer must be."""

    def __init__(self, variable, engine, path, body, text):
        data = json.dumps(body).encode()
        request = urllib.request.Request(
            engine.url + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            found = reply.read()
        if text_of(found) != text:
            raise AssertionError(f"the engine itself is wrong: {found}")
        self.variable = variable
        self.answer = self.plain(found)
        self.request = (f"POST {path} HTTP/1.1\r\nHost: gateway\r\n"
                        f"Content-Type: application/json\r\n"
                        f"Content-Length: {len(data)}\r\n\r\n").encode() + data

    def plain(self, body):
        """A body without what may differ."""
        return self.variable.sub(b"~", body)


class Connection(asyncio.Protocol):
    """Sends one request after the other, and checks each answer."""

    def __init__(self, soak, done):
        self.soak = soak
        self.done = done
        self.buffer = bytearray()
        self.body = bytearray()
        self.kind = None
        self.left = None  # Bytes of the body; None: no head yet; -1: chunks.
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport
        self.send()

    def send(self):
        """The next request, if there is one left."""
        self.kind = next(self.soak.kinds, None)
        if self.kind is None:
            self.transport.close()
            return
        self.left = None
        self.body.clear()
        self.soak.open += 1
        self.soak.most_open = max(self.soak.most_open, self.soak.open)
        self.transport.write(self.kind.request)

    def data_received(self, data):
        self.buffer += data
        while self.buffer and self.step():
            pass

    def step(self):
        """Reads on; whether there is more to read."""
        if self.left is None:
            return self.head()
        if self.left == -1:
            return self.chunk()
        piece = self.buffer[:self.left]
        del self.buffer[:self.left]
        self.body += piece
        self.left -= len(piece)
        if self.left == 0:
            self.finish()
        return bool(self.buffer)

    def head(self):
        """The status line and the headers."""
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = bytes(self.buffer[:end]).lower()
        del self.buffer[:end + 4]
        if not head.startswith(b"http/1.1 200 "):
            self.soak.fail(f"an answer of {head[:200]}")
        found = re.search(rb"\r\ncontent-length: *(\d+)", head)
        self.left = int(found.group(1)) if found else -1
        return True

    def chunk(self):
        """A chunk, if it is here as a whole."""
        line = self.buffer.find(b"\r\n")
        if line < 0:
            return False
        size = int(self.buffer[:line], 16)
        end = line + 2 + size + 2
        if len(self.buffer) < end:
            return False
        if self.buffer[end - 2:end] != b"\r\n":
            self.soak.fail("a chunk without its end")
        self.body += self.buffer[line + 2:end - 2]
        del self.buffer[:end]
        if size == 0:
            self.finish()
        return True

    def finish(self):
        """The answer is complete: is it right?"""
        found = self.kind.plain(bytes(self.body))
        if found != self.kind.answer:
            self.soak.fail(f"{found!r}\ninstead of\n{self.kind.answer!r}")
        if self.buffer:
            self.soak.fail(f"more than was asked for: {self.buffer!r}")
        self.soak.open -= 1
        self.soak.count += 1
        self.send()

    def connection_lost(self, exc):
        if self.kind is not None:
            self.soak.fail(f"a connection was lost: {exc}")
        if not self.done.done():
            self.done.set_result(None)


class Soak:
    """One run: kinds of requests over so many connections."""

    def __init__(self, proxy, kinds, requests, connections):
        self.proxy = proxy
        self.kinds = itertools.islice(itertools.cycle(kinds), requests)
        self.requests = requests
        self.connections = connections
        self.count = self.open = self.most_open = 0
        self.failure = None
        self.memory = []

    def fail(self, text):
        """The first failure ends it."""
        if self.failure is None:
            self.failure = text
        self.kinds = iter(())

    async def watch(self):
        """Notes the memory of the gateway now and then."""
        while True:
            self.memory.append((self.count, self.proxy.rss()))
            await asyncio.sleep(0.1)

    async def go(self):
        """Runs it to the end."""
        loop = asyncio.get_running_loop()
        watch = loop.create_task(self.watch())
        waits = []
        for _ in range(self.connections):
            done = loop.create_future()
            waits.append(done)
            await loop.create_connection(
                lambda done=done: Connection(self, done), "127.0.0.1",
                self.proxy.port)
            if self.failure:
                break
        await asyncio.wait(waits)
        watch.cancel()

    def run(self, name):
        """Runs it, and tells how it went."""
        begin = time.monotonic()
        asyncio.run(self.go())
        took = time.monotonic() - begin
        if self.failure:
            raise AssertionError(f"{name}: {self.failure}")
        if self.count != self.requests:
            raise AssertionError(f"{name}: {self.count} answers")
        print(f"{name}: {self.count:,} answers, every byte right, in "
              f"{took:.1f} s; at most {self.most_open:,} at once; "
              f"memory {self.memory[-1][1] / 2**20:.1f} MiB", flush=True)

    def growth(self):
        """How much memory grew after the first tenth."""
        late = [rss for count, rss in self.memory
                if count > self.requests / 10]
        return max(late) - late[0] if late else 0


def kinds_of(engine, seed, tokens):
    """Requests of all kinds and lengths."""
    found = []
    for number, (make, stream) in enumerate(itertools.product(
            (chat, completion, message), (True, False, True))):
        length = 1 + (seed + 7 * number) % tokens
        text = f"Request {seed}/{number}: " + "\u00e4 few words, " * number
        found.append(Kind(INSTANT, engine, *make(text, length, stream)))
    return found


def streams_of(engine, seed, tokens):
    """Streams only."""
    return [Kind(PACED, engine, *make(f"Stream {seed}", tokens, True))
            for make in (chat, completion, message)]


def allow_many_files():
    """As many descriptors as are allowed, also for what is started."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def run(streams, requests, engines, tokens, strategy):
    """Both parts of it, and what must hold in the end."""
    allow_many_files()
    instant = harness.Mock("--instant")
    paced = [harness.Mock("--max-seqs", "1024")
             for _ in range(engines)]
    fast = [instant] + [harness.Mock("--instant")
                        for _ in range(engines - 1)]
    pool = {"strategy": strategy}
    slow_proxy = harness.Proxy(paced, pool)
    proxy = harness.Proxy(fast, pool)
    try:
        part = Soak(slow_proxy, streams_of(instant, 1, tokens), streams, streams)
        part.run("streams")
        if part.most_open < streams:
            raise AssertionError(f"only {part.most_open} at once")
        slow_proxy.assert_idle(60)
        part = Soak(proxy, kinds_of(instant, 3, 40), requests, streams)
        part.run("requests")
        if part.growth() > FLAT and not harness.SANITIZED:
            raise AssertionError(
                f"memory grew by {part.growth()}: {part.memory[::50]}")
        proxy.assert_idle(60)
        counters = proxy.status()["counters"]
        assert counters["requests"] == requests, counters
        assert counters["answers"]["2xx"] == requests, counters
        print(f"memory after the first tenth: +{part.growth() / 2**20:.1f} "
              "MiB; no ticket, place or count is open")
        for gateway in (slow_proxy, proxy):
            status = gateway.stop()
            assert status == 0, f"{status}\n{gateway.output()}"
    finally:
        for program in [slow_proxy, proxy, *paced, *fast]:
            program.stop()
            program.clean_up()


def main():
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--streams", type=int, default=1000,
                        help="streams and connections at once (1000)")
    parser.add_argument("--requests", type=int, default=100000,
                        help="requests in all (100000)")
    parser.add_argument("--engines", type=int, default=4,
                        help="mock engines (4)")
    parser.add_argument("--tokens", type=int, default=200,
                        help="length of each of the streams (200)")
    parser.add_argument("--strategy", default="least_connections",
                        help="of the pool (least_connections)")
    options = parser.parse_args()
    try:
        run(options.streams, options.requests, options.engines, options.tokens,
            options.strategy)
    except (AssertionError, OSError) as failure:
        print(f"soak: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
