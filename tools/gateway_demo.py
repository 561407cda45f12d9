# SPDX-License-Identifier: MIT
"""Real HTTP traffic through the gateway to mock engines, on this machine alone.

Plays the same conversations twice, under `weighted` and under `kv_aware`, each
time with fresh engines, and prints what the clients measured, the headers of
one answer and where the gateway's page is. Everything that it starts ends with
it.

usage: gateway_demo.py BUILD_DIRECTORY OUTPUT_DIRECTORY
"""

import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import random
import statistics
import subprocess
import sys
import threading
import time

ENGINES = 4
CONVERSATIONS = 32
TURNS = 6
TALKERS = 6          # while somebody looks at the page
SPEED = 1            # of the engines, against the real ones
CACHE_TOKENS = 20000  # of each engine: a quarter of what all would fill
STRATEGIES = ("weighted", "kv_aware")


class Server:
    """A program that says where it listens."""

    def __init__(self, stack, log, *command):
        self.process = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.PIPE,
            stderr=log, stdin=subprocess.DEVNULL, text=True)
        stack.callback(self.stop)
        self.lines = []
        self.ports = self._read_ports()
        # Whoever prints more must not block.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def _read_ports(self):
        """{"listening": port, "admin": port, …} of the lines up to the last
        that is needed to use it."""
        ports = {}
        for line in self.process.stdout:
            self.lines.append(line.strip())
            words = line.split()
            if " on " in line and ":" in words[-1]:
                ports[words[0]] = int(words[-1].rsplit(":", 1)[1])
            if self.ready(ports):
                return ports
        raise SystemExit(f"{self.process.args[0]} ended: see the log")

    @staticmethod
    def ready(ports):
        return "listening" in ports

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Gateway(Server):
    @staticmethod
    def ready(ports):
        return "listening" in ports and "admin" in ports


def configuration(strategy, engines):
    """YAML is a superset of JSON."""
    return json.dumps({
        "listen": {"port": 0},
        "admin": {"port": 0},
        "pools": [{"name": "chat", "strategy": strategy}],
        "targets": [{"name": f"engine-{number}", "pool": "chat",
                     "model": "demo",
                     "url": f"http://127.0.0.1:{engine.ports['listening']}"}
                    for number, engine in enumerate(engines, 1)],
    })


class Conversation:
    """A client that asks again as soon as it has read the answer."""

    def __init__(self, number):
        self.random = random.Random(number)
        self.messages = [{"role": "system", "content": self.words(900)}]

    def words(self, count):
        return " ".join(self.random.choice(_WORDS) for _ in range(count))

    def ask(self, port):
        """(seconds to the first token, input tokens, cached ones, headers)."""
        self.messages.append({"role": "user", "content": self.words(60)})
        body = json.dumps({"model": "demo", "messages": self.messages,
                           "max_tokens": 48, "stream": True,
                           "stream_options": {"include_usage": True}})
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        began = time.perf_counter()
        client.request("POST", "/v1/chat/completions", body,
                       {"Content-Type": "application/json"})
        answer = client.getresponse()
        if answer.status != 200:
            raise SystemExit(f"status {answer.status}: {answer.read()!r}")
        first, text, usage = None, "", {}
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            first = first or time.perf_counter() - began
            usage = event.get("usage") or usage
            for choice in event.get("choices", []):
                text += choice["delta"].get("content") or ""
        client.close()
        self.messages.append({"role": "assistant", "content": text})
        cached = usage.get("prompt_tokens_details") or {}
        return (first, usage["prompt_tokens"], cached.get("cached_tokens", 0),
                answer.getheaders())

    def play(self, port):
        return [self.ask(port) for _ in range(TURNS)]


_WORDS = ("time year people way day man thing woman life child world school "
          "state family student group country problem hand part place case "
          "week company system program question work government number night "
          "point home water room mother area money story fact month lot right "
          "study book eye job word business issue side kind head house service "
          "friend father power hour game line end member law car city").split()


def play_all(port):
    """All conversations at once, in an order that is the same each time."""
    conversations = [Conversation(n) for n in range(CONVERSATIONS)]
    with concurrent.futures.ThreadPoolExecutor(CONVERSATIONS) as threads:
        played = list(threads.map(lambda c: c.play(port), conversations))
    return [answer for answers in played for answer in answers]


def row(strategy, answers):
    first = sorted(answer[0] for answer in answers)
    asked = sum(answer[1] for answer in answers)
    cached = sum(answer[2] for answer in answers)
    return (f"{strategy:<10} {len(answers):>8} "
            f"{statistics.mean(first) * 1e3:>9.0f} ms "
            f"{first[len(first) // 2] * 1e3:>7.0f} ms "
            f"{first[int(len(first) * 0.99)] * 1e3:>7.0f} ms "
            f"{cached / asked * 100:>10.1f} %")


def start(stack, build, output, strategy):
    """Fresh engines, and the gateway before them."""
    log = stack.enter_context(open(output / f"{strategy}.log", "w",
                                   encoding="utf-8"))
    engines = [Server(stack, log,
                      build / "examples/mock-engine/lbroute-mock-engine",
                      "--model", "demo", "--speed", SPEED,
                      "--cache-tokens", CACHE_TOKENS, "--port", 0)
               for _ in range(ENGINES)]
    config = output / f"{strategy}.yaml"
    config.write_text(configuration(strategy, engines), encoding="utf-8")
    return Gateway(stack, log, build / "examples/proxy/lbroute-proxy",
                   "--config", config)


def show_headers(headers):
    print("\nHeaders of one answer:")
    for name, value in headers:
        if name.lower().startswith("x-lbroute-"):
            print(f"  {name}: {value}")


def stay(gateway):
    """Keeps some traffic up for the page until somebody has seen it."""
    print(f"\nThe gateway's page: http://127.0.0.1:{gateway.ports['admin']}/")
    if not sys.stdin.isatty():
        return
    ended = threading.Event()

    def talk(number):
        while not ended.is_set():
            conversation = Conversation(number)
            for _ in range(TURNS):
                if not ended.is_set():
                    conversation.ask(gateway.ports["listening"])

    with concurrent.futures.ThreadPoolExecutor(TALKERS) as threads:
        for number in range(TALKERS):
            threads.submit(talk, number)
        try:
            input("Traffic goes on until you press Enter. ")
        except EOFError:
            pass
        finally:
            ended.set()


def main():
    build, output = map(pathlib.Path, sys.argv[1:3])
    print(f"{CONVERSATIONS} conversations of {TURNS} turns at once, "
          f"{ENGINES} mock engines, real HTTP on this machine:\n")
    print(f"{'':<19}    first token\n{'strategy':<10} {'requests':>8} "
          f"{'mean':>12} {'p50':>10} {'p99':>10} {'from caches':>12}")
    for strategy in STRATEGIES:
        with contextlib.ExitStack() as stack:
            gateway = start(stack, build, output, strategy)
            answers = play_all(gateway.ports["listening"])
            print(row(strategy, answers), flush=True)
            if strategy == STRATEGIES[-1]:
                show_headers(answers[-1][3])
                stay(gateway)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
