# SPDX-License-Identifier: MIT
"""A mock engine as a process, and what it must answer."""

import json
import signal
import subprocess
import urllib.error
import urllib.request
import zlib

LETTERS = (8, 13, 18, 23)


def answer(prompt, tokens):
    """The answer to a prompt, by the rule of answer.h."""
    state = zlib.crc32(prompt.encode())
    words = []
    for index in range(tokens):
        state = (state * 1664525 + 1013904223) % 2**32
        words.append("".join(
            chr(97 + (state >> shift) % 26)
            for shift in (LETTERS if index == 0 else LETTERS[:3])))
    return " ".join(words)


def conversation(messages):
    """The prompt of (role, text) pairs, by the rule of prompt.h."""
    return "".join(f"<|{role}|>\n{text}\n" for role, text in messages) \
        + "<|assistant|>\n"


def chat_answer(text, tokens, system=None):
    """The answer to a conversation that has just begun."""
    messages = [("system", system)] if system is not None else []
    return answer(conversation(messages + [("user", text)]), tokens)


def count_tokens(text):
    """Tokens of a text by itself, by the rule of tokens.h."""
    return -(-len(text.encode()) // 4)


class MockEngine:
    """Runs while the context lasts."""

    def __init__(self, program, *options, stderr=None):
        self.process = subprocess.Popen(
            [program, *options], stdout=subprocess.PIPE, stderr=stderr,
            text=True)
        self.places = {}
        for line in self.process.stdout:
            if line.strip() == "ready":
                break
            what, _, where = line.strip().rpartition(" on ")
            self.places[what] = where
        self.url = "http://" + self.places.get("listening", "nowhere")
        self.control = "http://" + self.places.get("control", "nowhere")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.end()

    def end(self):
        """Ends it; returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=20)
        self.process.stdout.close()
        return status

    def address(self):
        host, port = self.places["listening"].rsplit(":", 1)
        return host, int(port)

    def state(self):
        return call(self.control + "/mock/state")[2]

    def faults(self, **faults):
        status, _, body = call(self.control + "/mock/faults", faults)
        if status != 200:
            raise ValueError(body)

    def post(self, path, body, headers=None):
        return call(self.url + path, body, headers)

    def get(self, path):
        return call(self.url + path)


def call(url, body=None, headers=None):
    """Status, headers and body of an answer, which is read as JSON if it is
    that. A body is sent as JSON, bytes as they are."""
    data = body
    if body is not None and not isinstance(body, bytes):
        data = json.dumps(body).encode()
    request = urllib.request.Request(
        url, data, {"Content-Type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return reply.status, reply.headers, decoded(reply)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, decoded(error)


def decoded(reply):
    raw = reply.read()
    if reply.headers.get_content_type() == "application/json":
        return json.loads(raw)
    return raw.decode()


def events(text):
    """The (event, data) pairs of a stream; data is read as JSON but for
    [DONE]."""
    pairs = []
    for block in text.split("\n\n"):
        name, data = None, None
        for line in block.split("\n"):
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data = line[6:]
        if data is not None:
            pairs.append((name, data if data == "[DONE]" else json.loads(data)))
    return pairs
