#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The example gateway against nginx as a plain reverse proxy, on one machine in
one run: both stand in turn before the same engines.

usage: LBROUTE_PROXY=… LBROUTE_MOCK=… bench/gateway_vs_nginx.py [OPTION…]

Four measurements, each the median of several rounds, in which the two
alternate:

  small answers   requests a second of JSON answers of 0.7 kB, over kept
                  connections; engines: nginx, `return 200`
  short streams   the same for a stream of 64 events, 12 kB, that is there at
                  once
  long streams    processor time for each event of streams at the pace of an
                  engine; engines: lbroute-mock-engine
  latency         of small answers at a fixed rate, beside that without a proxy

Prompts of 2 kB, 64 in turn. nginx has one worker and no access log, as the
gateway is one process. Where the processors are busy with other things the
ratios still hold, roughly; where client and engines take most of them the
requests a second are closer than the processor time is. Needs nginx and wrk.
"""
import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "gateway"))

# pylint: disable=wrong-import-position
import harness  # noqa: E402

MODEL = "mock-model"
CHAT = "/v1/chat/completions"
ENGINES = 4
PROMPTS = 64

ANSWER = json.dumps({
    "id": "chatcmpl-0123456789", "object": "chat.completion", "created": 1,
    "model": MODEL, "choices": [{
        "index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "word " * 80}}],
    "usage": {"prompt_tokens": 500, "completion_tokens": 80,
              "total_tokens": 580,
              "prompt_tokens_details": {"cached_tokens": 400}}})


def event(number):
    """An event of the stream that is there at once."""
    return "data: " + json.dumps({
        "id": "chatcmpl-0123456789", "object": "chat.completion.chunk",
        "created": 1, "model": MODEL, "choices": [{
            "index": 0, "delta": {"content": f"word{number:03d} "},
            "finish_reason": None}]})


STREAM = "\n\n".join([event(number) for number in range(64)] +
                     ["data: [DONE]", ""])

NGINX = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    keepalive_requests 100000000;
    client_body_buffer_size 128k;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u;
    scgi_temp_path {folder}/s;
    {http}
}}
"""

LUA = """
local bodies = {}
for i = 1, %d do
    bodies[i] = '{"model":"%s","max_tokens":80,"stream":%s,"messages":[' ..
        '{"role":"user","content":"' .. i ..
        string.rep(' some words of prompt ' .. i, 90) .. '"}]}'
end
local turn = 0
local headers = {["Content-Type"] = "application/json"}
request = function()
    turn = turn %% #bodies + 1
    return wrk.format("POST", "%s", headers, bodies[turn])
end
done = function(summary, latency)
    local errors = summary.errors
    io.write(string.format("RESULT %%d %%d %%d\\n", summary.requests,
        summary.duration, errors.connect + errors.read + errors.write +
        errors.status + errors.timeout))
end
"""


def free_ports(count):
    """Ports that nobody uses."""
    socks = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [sock.getsockname()[1] for sock in socks]
    for sock in socks:
        sock.close()
    return ports


def end_with_parent():
    """In a child: lets nginx end its worker, too, when this process ends."""
    harness.LIBC.prctl(harness.PR_SET_PDEATHSIG, signal.SIGTERM)


class Nginx:
    """An nginx with one worker."""

    def __init__(self, http, port):
        self.folder = tempfile.TemporaryDirectory()
        path = os.path.join(self.folder.name, "nginx.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(NGINX.format(folder=self.folder.name, http=http))
        self.port = port
        self.process = subprocess.Popen(
            ["nginx", "-c", path, "-e", self.folder.name + "/error.log"],
            preexec_fn=end_with_parent, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.wait_for("nginx", self.is_there)
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(children, encoding="ascii") as file:
            self.pid = int(file.read().split()[0])

    def is_there(self):
        """Whether it listens."""
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        """Ends it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.folder.cleanup()


def nginx_engines(kind, body):
    """An nginx that answers at once on several ports."""
    ports = free_ports(ENGINES)
    # A word of nginx's configuration has 4,096 bytes at most.
    words = [body[at:at + 3000].replace("\\", "\\\\").replace("'", "\\'")
             for at in range(0, len(body), 3000)]
    parts = "".join(f"set $part{number} '{word}';\n"
                    for number, word in enumerate(words))
    whole = "".join(f"${{part{number}}}" for number in range(len(words)))
    listen = "".join(f"listen 127.0.0.1:{port} backlog=4096; "
                     for port in ports)
    http = (f"server {{ {listen} location / {{ default_type {kind};\n"
            f"{parts} return 200 \"{whole}\"; }} }}")
    return Nginx(http, ports[0]), ports


def nginx_proxy(ports):
    """nginx as a plain reverse proxy."""
    port = free_ports(1)[0]
    servers = "".join(f"server 127.0.0.1:{port}; " for port in ports)
    http = (f"upstream engines {{ {servers} keepalive 512; }}\n"
            f"server {{ listen 127.0.0.1:{port} backlog=4096; location / {{\n"
            "proxy_pass http://engines; proxy_http_version 1.1;\n"
            "proxy_set_header Connection ''; proxy_buffering off; } }")
    return Nginx(http, port)


def processor_seconds(pid):
    """Processor time that a process has had."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Sides:
    """The two, before the same engines; told apart by name."""

    def __init__(self, ports, strategy):
        self.nginx = nginx_proxy(ports)
        self.gateway = harness.Proxy(
            ports, {"strategy": strategy}, decisions={"explain_rate": 0})
        self.ports = {"nginx": self.nginx.port, "lbroute": self.gateway.port}
        self.pids = {"nginx": self.nginx.pid,
                     "lbroute": self.gateway.process.pid}

    def stop(self):
        """Ends both."""
        self.nginx.stop()
        self.gateway.stop()
        self.gateway.clean_up()


def run_wrk(port, script, options):
    """Requests a second, and how many there were."""
    found = subprocess.run(
        ["wrk", "-t1", f"-c{options.connections}", f"-d{options.seconds}s",
         "-s", script, f"http://127.0.0.1:{port}"],
        capture_output=True, text=True, check=True)
    count, took, errors = map(int, re.search(
        r"RESULT (\d+) (\d+) (\d+)", found.stdout).groups())
    if errors or not count:
        raise AssertionError(found.stdout)
    return count / (took / 1e6), count


def throughput(sides, stream, options):
    """By side: requests a second, and processor time of each, µs."""
    rates = {name: [] for name in sides.ports}
    times = {name: [] for name in sides.ports}
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(LUA % (PROMPTS, MODEL, str(stream).lower(), CHAT))
        script.flush()
        for turn in range(options.rounds + 1):
            for name, port in sides.ports.items():
                before = processor_seconds(sides.pids[name])
                rate, count = run_wrk(port, script.name, options)
                used = processor_seconds(sides.pids[name]) - before
                if turn:  # The first warms up.
                    rates[name].append(rate)
                    times[name].append(used / count * 1e6)
    return ({name: statistics.median(found) for name, found in rates.items()},
            {name: statistics.median(found) for name, found in times.items()})


def body_of(number, stream, tokens):
    """A request, as bytes."""
    body = json.dumps({
        "model": MODEL, "max_tokens": tokens, "stream": stream,
        "messages": [{"role": "user",
                      "content": f"{number} some words " * 100}]}).encode()
    return (f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Type: "
            f"application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            ).encode() + body


async def one_stream(port, number, tokens):
    """Reads a stream to its end; its events."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(body_of(number, True, tokens))
    data = b""
    while not data.endswith(b"\r\n0\r\n\r\n"):
        piece = await reader.read(65536)
        if not piece:
            raise AssertionError("a stream was cut")
        data += piece
    writer.close()
    return data.count(b"data: ")


async def many_streams(port, count, tokens):
    """So many at once; all events."""
    found = await asyncio.gather(*[one_stream(port, number, tokens)
                                   for number in range(count)])
    return sum(found)


def long_streams(options):
    """By side: processor time for an event, µs."""
    engines = [harness.Mock("--max-seqs", "1024") for _ in range(ENGINES)]
    sides = Sides([engine.port for engine in engines], options.strategy)
    times = {name: [] for name in sides.ports}
    for turn in range(options.rounds):
        for name, port in sides.ports.items():
            before = processor_seconds(sides.pids[name])
            events = asyncio.run(many_streams(port, options.streams, 200))
            used = processor_seconds(sides.pids[name]) - before
            if turn or options.rounds == 1:
                times[name].append(used / events * 1e6)
    sides.stop()
    for engine in engines:
        engine.stop()
        engine.clean_up()
    return {name: statistics.median(found) for name, found in times.items()}


class Pacer:
    """Small requests at a fixed rate, each over a connection that is free."""

    def __init__(self, port):
        self.port = port
        self.idle = []
        self.times = []

    async def one(self, number):
        """One request, timed."""
        begin = time.perf_counter()
        pair = (self.idle.pop() if self.idle else
                await asyncio.open_connection("127.0.0.1", self.port))
        pair[1].write(body_of(number % PROMPTS, False, 80))
        head = await pair[0].readuntil(b"\r\n\r\n")
        length = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
        await pair[0].readexactly(length)
        self.times.append(time.perf_counter() - begin)
        self.idle.append(pair)

    async def run(self, rate, seconds):
        """All of them; latencies, ms, sorted."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        tasks = []
        for number in range(int(rate * seconds)):
            await asyncio.sleep(start + number / rate - loop.time())
            tasks.append(loop.create_task(self.one(number)))
        await asyncio.gather(*tasks)
        for _, writer in self.idle:
            writer.close()
        return sorted(1000 * found for found in self.times)


def latency(sides, direct, options):
    """By side: p50 and p99 beside a direct connection, ms."""
    ports = {"direct": direct, **sides.ports}
    found = {name: ([], []) for name in ports}
    for turn in range(options.rounds + 1):
        for name, port in ports.items():
            times = asyncio.run(Pacer(port).run(options.rate, options.seconds))
            if turn:
                found[name][0].append(times[len(times) // 2])
                found[name][1].append(times[len(times) * 99 // 100])
    return {name: [statistics.median(part) for part in parts]
            for name, parts in found.items()}


def print_row(what, values, form, better):
    """A row of the table; the ratio says how far the gateway is."""
    ratio = (values["lbroute"] / values["nginx"] if better == "more"
             else values["nginx"] / values["lbroute"])
    print(f"| {what} | {form.format(values['nginx'])} | "
          f"{form.format(values['lbroute'])} | {ratio:.2f} |", flush=True)


def measure(options):
    """All of it, as a table."""
    print("| | nginx | lbroute-proxy | ratio |")
    print("|---|---:|---:|---:|")
    engines, ports = nginx_engines("application/json", ANSWER)
    sides = Sides(ports, options.strategy)
    rates, times = throughput(sides, False, options)
    print_row("small answers, requests/s", rates, "{:,.0f}", "more")
    print_row("processor time of each, µs", times, "{:.1f}", "less")
    delays = latency(sides, ports[0], options)
    sides.stop()
    engines.stop()
    engines, ports = nginx_engines("text/event-stream", STREAM)
    sides = Sides(ports, options.strategy)
    rates, times = throughput(sides, True, options)
    print_row("short streams, requests/s", rates, "{:,.0f}", "more")
    print_row("processor time of each, µs", times, "{:.1f}", "less")
    sides.stop()
    engines.stop()
    print_row(f"{options.streams} long streams, processor time of an event, "
              "µs", long_streams(options), "{:.2f}", "less")
    for index, part in enumerate(("p50", "p99")):
        direct = delays["direct"][index]
        added = {name: delays[name][index] - direct
                 for name in ("nginx", "lbroute")}
        print(f"| added latency at {options.rate}/s, {part}, ms (direct "
              f"{direct:.2f}) | {added['nginx']:.2f} | "
              f"{added['lbroute']:.2f} | |", flush=True)


def main():
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5,
                        help="that are counted (5)")
    parser.add_argument("--seconds", type=int, default=3,
                        help="of each side in a round (3)")
    parser.add_argument("--connections", type=int, default=32,
                        help="of wrk (32)")
    parser.add_argument("--streams", type=int, default=300,
                        help="long ones at once (300)")
    parser.add_argument("--rate", type=int, default=500,
                        help="requests a second for latency (500)")
    parser.add_argument("--strategy", default="kv_aware",
                        help="of the gateway's pool (kv_aware)")
    options = parser.parse_args()
    for program in ("nginx", "wrk"):
        if not shutil.which(program):
            print(f"{program} is not installed", file=sys.stderr)
            return 1
    measure(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
