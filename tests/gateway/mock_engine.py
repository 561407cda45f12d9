# SPDX-License-Identifier: MIT
"""What a mock engine must answer, and how to ask it."""

import json
import urllib.error
import urllib.request
import zlib

from harness import PATIENCE

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


def post(engine, path, body, headers=None):
    """Asks an engine; status, headers and body."""
    return call(engine.url + path, body, headers)


def get(engine, path):
    """Likewise, without a body."""
    return call(engine.url + path)


def call(url, body=None, headers=None):
    """Status, headers and body of an answer, which is read as JSON if it is
    that. A body is sent as JSON, bytes as they are."""
    data = body
    if body is not None and not isinstance(body, bytes):
        data = json.dumps(body).encode()
    request = urllib.request.Request(
        url, data, {"Content-Type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=20 * PATIENCE) as reply:
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
