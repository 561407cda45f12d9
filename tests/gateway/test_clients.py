# SPDX-License-Identifier: MIT
"""The official clients of OpenAI and Anthropic, in Python and JavaScript,
through the gateway: answers, streams, tool calls, errors, retries.

tests/gateway/clients/install DIRECTORY installs them; the variable
LBROUTE_CLIENTS names that directory. Without it this is skipped.
"""
import json
import os
import shutil
import subprocess
import sys
import time
import unittest

CLIENTS = os.environ.get("LBROUTE_CLIENTS", "")
HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77

if __name__ == "__main__":
    interpreter = os.path.join(CLIENTS, "venv", "bin", "python")
    if not os.path.exists(os.path.join(CLIENTS, "installed")):
        print("skipped: no clients in LBROUTE_CLIENTS; see "
              "tests/gateway/clients/install")
        sys.exit(SKIPPED)
    if os.path.realpath(sys.prefix) != os.path.realpath(
            os.path.join(CLIENTS, "venv")):
        os.execv(interpreter, [interpreter, *sys.argv])

# pylint: disable=wrong-import-position
import anthropic  # noqa: E402
import openai  # noqa: E402

import harness  # noqa: E402
from mock_engine import answer, chat_answer, conversation  # noqa: E402
from scripted import (Engine, LAST_CHUNK, SSE_HEAD, always,  # noqa: E402
                      answer as plain, chunk)

MODEL = "mock-model"
PROMPT = "Tell me of bridges"
MESSAGES = [{"role": "user", "content": PROMPT}]
KEY = "sk-test"

CALL = {"id": "call_1", "type": "function", "function": {
    "name": "weather", "arguments": "{\"city\":\"Z\u00fcrich\"}"}}
TOOL = {"type": "function", "function": {
    "name": "weather", "description": "Weather of a city", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}}}}}


def completion(message, reason):
    """A chat completion."""
    return json.dumps({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1,
        "model": MODEL, "choices": [
            {"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 4,
                  "total_tokens": 13}})


def stream_of(*deltas):
    """A stream of chat completion chunks."""
    events = [json.dumps({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
        "model": MODEL, "choices": [
            {"index": 0, "delta": delta, "finish_reason": None}]})
        for delta in deltas] + ["[DONE]"]
    return SSE_HEAD + b"".join(
        chunk(f"data: {event}\n\n".encode()) for event in events) + LAST_CHUNK


class Clients(harness.Case):
    """Mock engines behind a gateway, and clients before it."""

    def setUp(self):
        self.engines = [self.engine("--instant") for _ in range(2)]
        self.gateway = self.proxy(self.engines)

    def tearDown(self):
        self.gateway.assert_idle()

    def openai(self, retries=0, gateway=None):
        """OpenAI's client."""
        client = openai.OpenAI(
            base_url=(gateway or self.gateway).url + "/v1", api_key=KEY,
            max_retries=retries, timeout=30)
        self.addCleanup(client.close)
        return client

    def anthropic(self, retries=0):
        """Anthropic's client."""
        client = anthropic.Anthropic(
            base_url=self.gateway.url, api_key=KEY, max_retries=retries,
            timeout=30)
        self.addCleanup(client.close)
        return client

    def faults(self, **faults):
        """What goes wrong in all engines."""
        for engine in self.engines:
            engine.faults(**faults)


class OpenAI(Clients):
    """OpenAI's client in Python."""

    def test_chat(self):
        """An answer, its usage, and the headers of the decision."""
        raw = self.openai().chat.completions.with_raw_response.create(
            model=MODEL, messages=MESSAGES, max_tokens=12)
        found = raw.parse()
        self.assertEqual(found.choices[0].message.content,
                         chat_answer(PROMPT, 12))
        self.assertEqual(found.usage.completion_tokens, 12)
        self.assertIn(raw.headers["x-lbroute-server"],
                      ("engine-0", "engine-1"))

    def test_stream(self):
        """All pieces, and the usage at the end."""
        stream = self.openai().chat.completions.create(
            model=MODEL, messages=MESSAGES, max_tokens=50, stream=True,
            stream_options={"include_usage": True})
        text, usage = "", None
        for event in stream:
            usage = event.usage or usage
            for choice in event.choices:
                text += choice.delta.content or ""
        self.assertEqual(text, chat_answer(PROMPT, 50))
        self.assertEqual(usage.completion_tokens, 50)
        counters = self.gateway.status()["counters"]
        self.assertEqual(counters["output_tokens"], 50)
        self.assertEqual(counters["input_tokens"], usage.prompt_tokens)

    def test_stream_that_is_left(self):
        """The client closes it after the first event."""
        slow = self.engine("--speed", "1")
        gateway = self.proxy([slow])
        stream = self.openai(gateway=gateway).chat.completions.create(
            model=MODEL, messages=MESSAGES, max_tokens=2000, stream=True)
        next(iter(stream))
        stream.close()
        gateway.assert_idle()
        harness.wait_for("the engine's end",
                         lambda: slow.state()["open"] == 0)

    def test_other_calls(self):
        """Completions, responses, embeddings, models."""
        client = self.openai()
        text = client.completions.create(model=MODEL, prompt="Once",
                                         max_tokens=5)
        self.assertEqual(text.choices[0].text, answer("Once", 5))
        response = client.responses.create(
            model=MODEL, instructions="Be brief.", input=PROMPT,
            max_output_tokens=7)
        self.assertEqual(response.output_text,
                         chat_answer(PROMPT, 7, system="Be brief."))
        events = client.responses.create(model=MODEL, input=PROMPT,
                                         max_output_tokens=7, stream=True)
        self.assertEqual("".join(
            event.delta for event in events
            if event.type == "response.output_text.delta"),
            chat_answer(PROMPT, 7))
        vector = client.embeddings.create(model=MODEL, input="Once")
        self.assertTrue(vector.data[0].embedding)
        self.assertIn(MODEL, [model.id for model in client.models.list()])

    def test_turns(self):
        """A conversation of several turns."""
        client = self.openai()
        messages = [{"role": "system", "content": "Be brief."}]
        told = [("system", "Be brief.")]
        for turn in range(4):
            messages.append({"role": "user", "content": f"Turn {turn}"})
            told.append(("user", f"Turn {turn}"))
            found = client.chat.completions.create(
                model=MODEL, messages=messages, max_tokens=9)
            text = found.choices[0].message.content
            self.assertEqual(text, answer(conversation(told), 9))
            messages.append({"role": "assistant", "content": text})
            told.append(("assistant", text))

    def test_tool_calls(self):
        """Tools, calls and results pass as they are, in both forms."""
        engine = Engine(always(plain(completion(
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            "tool_calls"))))
        self.addCleanup(engine.close)
        client = self.openai(gateway=self.proxy([engine.port]))
        messages = [*MESSAGES, {
            "role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "call_1", "content": "rain"}]
        found = client.chat.completions.create(
            model=MODEL, messages=messages, tools=[TOOL])
        call = found.choices[0].message.tool_calls[0]
        self.assertEqual(call.function.arguments,
                         CALL["function"]["arguments"])
        sent = json.loads(engine.requests[-1][1])
        self.assertEqual((sent["messages"], sent["tools"]), (messages, [TOOL]))
        pieces = ["{\"ci", "ty\":\"Z\u00fc", "rich\"}"]
        engine.script = always(stream_of(
            {"role": "assistant", "tool_calls": [
                {"index": 0, "id": "call_1", "type": "function",
                 "function": {"name": "weather", "arguments": ""}}]},
            *[{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
              for piece in pieces]))
        fresh = self.openai(gateway=self.proxy([engine.port]))
        stream = fresh.chat.completions.create(
            model=MODEL, messages=messages, tools=[TOOL], stream=True)
        self.assertEqual("".join(
            event.choices[0].delta.tool_calls[0].function.arguments
            for event in stream), "".join(pieces))

    def test_errors(self):
        """Each has the class that the client has for it."""
        client = self.openai()
        with self.assertRaises(openai.NotFoundError) as caught:
            client.chat.completions.create(model="nobody's",
                                           messages=MESSAGES)
        self.assertEqual(caught.exception.code, "model_not_found")
        with self.assertRaises(openai.BadRequestError) as caught:
            client.chat.completions.create(model=MODEL, messages="none")
        self.assertEqual(caught.exception.param, "messages")
        self.faults(status=500)
        with self.assertRaises(openai.InternalServerError):
            client.chat.completions.create(model=MODEL, messages=MESSAGES)
        self.faults(status=401)
        with self.assertRaises(openai.AuthenticationError):
            client.chat.completions.create(model=MODEL, messages=MESSAGES)

    def test_broken_stream(self):
        """An engine that breaks off must not pass for one that ended."""
        self.faults(cut_after_chunks=3)
        stream = self.openai().chat.completions.create(
            model=MODEL, messages=MESSAGES, max_tokens=50, stream=True)
        with self.assertRaises(Exception) as caught:
            for _ in stream:
                pass
        self.assertNotIsInstance(caught.exception, AssertionError)

    def test_retry_after(self):
        """Both engines say 429: the client waits as told, and then gets its
        answer."""
        self.faults(status=429, retry_after=1, count=1)
        begin = time.monotonic()
        found = self.openai(retries=2).chat.completions.create(
            model=MODEL, messages=MESSAGES, max_tokens=5)
        self.assertEqual(found.choices[0].message.content,
                         chat_answer(PROMPT, 5))
        self.assertGreater(time.monotonic() - begin, 0.9)
        self.faults(status=429, retry_after=1)
        with self.assertRaises(openai.RateLimitError) as caught:
            self.openai().chat.completions.create(model=MODEL,
                                                  messages=MESSAGES)
        self.assertGreaterEqual(
            int(caught.exception.response.headers["retry-after"]), 1)


class Anthropic(Clients):
    """Anthropic's client in Python."""

    def test_message(self):
        """An answer and its usage."""
        found = self.anthropic().messages.create(
            model=MODEL, messages=MESSAGES, max_tokens=12,
            system="Be brief.")
        self.assertEqual(found.content[0].text,
                         chat_answer(PROMPT, 12, system="Be brief."))
        self.assertEqual(found.usage.output_tokens, 12)

    def test_stream(self):
        """All pieces, and the message that they make."""
        with self.anthropic().messages.stream(
                model=MODEL, messages=MESSAGES, max_tokens=50) as stream:
            self.assertEqual("".join(stream.text_stream),
                             chat_answer(PROMPT, 50))
            final = stream.get_final_message()
        self.assertEqual(final.usage.output_tokens, 50)
        counters = self.gateway.status()["counters"]
        self.assertEqual(counters["output_tokens"], 50)
        self.assertEqual(counters["input_tokens"], final.usage.input_tokens)

    def test_count_tokens(self):
        """What is asked without an answer."""
        found = self.anthropic().messages.count_tokens(model=MODEL,
                                                       messages=MESSAGES)
        self.assertGreater(found.input_tokens, 0)

    def test_errors(self):
        """Each has the class that the client has for it."""
        client = self.anthropic()
        with self.assertRaises(anthropic.NotFoundError) as caught:
            client.messages.create(model="nobody's", messages=MESSAGES,
                                   max_tokens=5)
        self.assertEqual(caught.exception.body["type"], "error")
        self.assertEqual(caught.exception.body["error"]["type"],
                         "not_found_error")
        with self.assertRaises(anthropic.BadRequestError) as caught:
            client.messages.create(model=MODEL, messages="none", max_tokens=5)
        self.assertEqual(caught.exception.body["error"]["type"],
                         "invalid_request_error")
        self.faults(status=500)
        with self.assertRaises(anthropic.InternalServerError):
            client.messages.create(model=MODEL, messages=MESSAGES,
                                   max_tokens=5)
        self.faults(status=429, retry_after=1)
        with self.assertRaises(anthropic.RateLimitError):
            client.messages.create(model=MODEL, messages=MESSAGES,
                                   max_tokens=5)

    def test_retry_after(self):
        """As OpenAI's."""
        self.faults(status=429, retry_after=1, count=1)
        found = self.anthropic(retries=2).messages.create(
            model=MODEL, messages=MESSAGES, max_tokens=5)
        self.assertEqual(found.content[0].text, chat_answer(PROMPT, 5))


@unittest.skipUnless(shutil.which("node"), "there is no node")
class JavaScript(Clients):
    """Both clients in JavaScript, by scripts that check what they get."""

    def run_script(self, name, **more):
        """Runs one; it prints what is wrong."""
        wanted = {"short": chat_answer(PROMPT, 12),
                  "long": chat_answer(PROMPT, 50), "prompt": PROMPT,
                  "model": MODEL, "key": KEY, "url": self.gateway.url, **more}
        done = subprocess.run(
            ["node", os.path.join(HERE, "clients", name), CLIENTS,
             json.dumps(wanted)],
            capture_output=True, text=True, timeout=120, check=False,
            preexec_fn=harness.die_with_parent)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.strip(), "good")

    def test_openai(self):
        """Answers, streams, errors."""
        self.run_script("openai.mjs")

    def test_anthropic(self):
        """Answers, streams, errors."""
        self.run_script("anthropic.mjs")

    def test_server_errors(self):
        """500 and 429."""
        for status in (500, 429):
            self.faults(status=status, retry_after=1)
            self.run_script("openai.mjs", fails=status)
            self.run_script("anthropic.mjs", fails=status)

    def test_retry(self):
        """429 once from each engine, then the answer."""
        for name in ("openai.mjs", "anthropic.mjs"):
            self.faults(status=429, retry_after=1, count=1)
            self.run_script(name, retries=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
