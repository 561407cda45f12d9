# SPDX-License-Identifier: MIT
"""What a gateway has learned outlives it: by a file that is written now and
then and at the end, and that does no harm when it cannot be used."""
import json
import os
import re
import stat
import tempfile
import time
import unittest
import urllib.request

from harness import Case, Proxy, wait_for

PATH = "/v1/chat/completions"
SECRET = "sk-of-a-client-0123456789"
CLIENT = "a-client-by-name"
SESSION = "a-session-by-name"
PROMPT = "What stands in the prompt stays with client and engine. " * 40
HEADER_BYTES = 40
KEY = slice(24, 40)


def ask(proxy, messages, session=SESSION):
    """The server that answered, and the conversation with its answer."""
    body = {"model": "mock-model", "max_tokens": 4, "messages": messages}
    request = urllib.request.Request(
        proxy.url + PATH, json.dumps(body).encode(),
        {"Content-Type": "application/json", "x-session-id": session,
         "x-client-id": CLIENT, "Authorization": "Bearer " + SECRET})
    with urllib.request.urlopen(request, timeout=30) as answer:
        message = json.load(answer)["choices"][0]["message"]
        return answer.headers["X-Lbroute-Server"], [*messages, message]


def asked(text):
    """What a user says."""
    return {"role": "user", "content": text}


class State(Case):
    """A gateway with a file, which is started again and again."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file = os.path.join(self.folder, "state")
        self.engines = [self.engine("--instant") for _ in range(4)]

    def start(self, strategy="kv_aware", file=None, interval=600):
        """A gateway."""
        return self.proxy(self.engines, pool={"strategy": strategy},
                          state={"file": file or self.file,
                                 "interval": interval})

    def read(self):
        """What the file holds."""
        with open(self.file, "rb") as file:
            return file.read()

    def write(self, data):
        """Puts something else there."""
        with open(self.file, "wb") as file:
            file.write(data)

    def first_turns(self, proxy, count=12):
        """Conversations: where each went, and what was said."""
        return [ask(proxy, [asked(f"{number} {PROMPT}")])
                for number in range(count)]

    def second_turns(self, proxy, talks):
        """Where they go on, asked in another order: idle engines take turns,
        and so a new gateway would repeat what the old one did."""
        homes = [ask(proxy, [*messages, asked("And then?")])[0]
                 for _, messages in reversed(talks)]
        return homes[::-1]

    def test_conversations_go_on_where_they_were(self):
        first = self.start()
        self.assertRegex(first.output(), "begins cold: No such file")
        talks = self.first_turns(first)
        homes = [home for home, _ in talks]
        self.assertGreater(len(set(homes)), 1)
        self.assertEqual(first.stop(), 0)
        key = self.read()[KEY]
        second = self.start()
        self.assertRegex(second.output(),
                         r"restored as of \d s ago: 4 targets \(0 are unknown")
        self.assertEqual(self.second_turns(second, talks), homes)
        self.assertEqual(second.stop(), 0)
        self.assertEqual(self.read()[KEY], key)
        os.remove(self.file)
        cold = self.start()
        self.assertNotEqual(self.second_turns(cold, talks), homes)
        self.assertEqual(cold.stop(), 0)
        self.assertNotEqual(self.read()[KEY], key)

    def test_sessions_go_on(self):
        first = self.start("sticky_session")
        names = [f"session {number}" for number in range(12)]
        homes = [ask(first, [asked("Hello")], name)[0] for name in names]
        self.assertGreater(len(set(homes)), 1)
        self.assertEqual(first.stop(), 0)
        second = self.start("sticky_session")
        self.assertIn(" 12 sessions", second.output())
        again = [ask(second, [asked("Hello")], name)[0]
                 for name in reversed(names)]
        self.assertEqual(again[::-1], homes)

    def test_it_is_saved_before_a_crash(self):
        crashing = Proxy(self.engines, pool={"strategy": "kv_aware"},
                         state={"file": self.file, "interval": 0.1})
        self.addCleanup(crashing.clean_up)
        self.addCleanup(crashing.kill)
        talks = self.first_turns(crashing)
        saves = crashing.metric("lbroute_state_saves_total")
        wait_for("two more times saved", lambda: crashing.metric(
            "lbroute_state_saves_total") >= saves + 2)
        saved = crashing.metric("lbroute_state_saved_timestamp_seconds")
        self.assertLess(abs(time.time() - saved), 30)
        self.assertGreater(
            crashing.metric("lbroute_state_saved_bytes"), HEADER_BYTES)
        self.assertGreater(crashing.metric("lbroute_state_save_seconds"), 0)
        self.assertEqual(
            crashing.metric("lbroute_state_save_failures_total"), 0)
        crashing.kill()
        self.assertEqual(self.second_turns(self.start(), talks),
                         [home for home, _ in talks])

    def test_kv_events_go_on(self):
        """Engines do not tell again what they hold; without a replay it would
        be lost."""
        engine = self.engine("--speed", "50", "--kv-events", "0")
        events = re.search(r"^kv events on (\S+)$", engine.output(),
                           re.M).group(1)

        def start():
            return self.proxy(
                [{"url": engine.url, "kv_events": [{"events": events}]}],
                pool={"strategy": "precise_cache_aware"},
                state={"file": self.file})

        def known(proxy):
            return proxy.admin("/api/targets")["targets"][0]["kv"]

        first = start()
        wait_for("a subscription", lambda: ask(first, [asked(
            f"{time.monotonic()} {PROMPT}")]) and known(first)["blocks"])
        first.assert_idle()
        time.sleep(0.3)  # Events of the last answer may still be on their way.
        before = known(first)
        self.assertEqual(first.stop(), 0)
        second = start()
        after = known(second)
        self.assertEqual((after["state"], after["blocks"]),
                         ("fresh", before["blocks"]))
        wait_for("the next events", lambda: ask(second, [asked(
            f"{time.monotonic()} {PROMPT}")]) and
            known(second)["blocks"] > before["blocks"])

    def test_time_goes_on_while_it_is_down(self):
        first = self.start()
        first.admin("/api/targets/engine-0", {"bench_s": 100})
        self.assertEqual(first.stop(), 0)
        data = bytearray(self.read())
        written = int.from_bytes(data[16:24], "little")
        self.assertLess(abs(time.time() - written / 1e9), 30)

        def begin(seconds):
            """Whether engine-0 is benched when the file is that old."""
            then = time.time_ns() - seconds * 10**9
            data[16:24] = then.to_bytes(8, "little")
            self.write(data)
            proxy = self.start()
            target = proxy.admin("/api/targets")["targets"][0]
            proxy.stop()
            return target["benched"]
        self.assertTrue(begin(0))
        self.assertTrue(begin(-1000))  # A clock that was set back.
        self.assertFalse(begin(101))

    def test_what_cannot_be_used_is_left_alone(self):
        first = self.start()
        self.first_turns(first, 2)
        self.assertEqual(first.stop(), 0)
        good = self.read()
        middle = (len(good) + HEADER_BYTES) // 2
        flipped = bytearray(good)
        flipped[middle] ^= 1
        version = good[:8] + b"\2" + good[9:]
        for data, problem in (
                (flipped, ""),
                (good[:-1], ""), (good[:HEADER_BYTES], ""),
                (good + b"\0", ""), (good[:HEADER_BYTES - 1], "cut short"),
                (b"", "cut short"), (version, "another version"),
                (b"listen: {port: 0}\n" * 9, "no such file")):
            self.write(data)
            proxy = self.start()
            self.assertRegex(proxy.output(),
                             rf"state {self.file}: begins cold: .*({problem})")
            self.assertEqual(ask(proxy, [asked("Hello")])[0][:7], "engine-")
            self.assertEqual(proxy.stop(), 0)
            self.assertEqual(self.read()[:8], b"lbrstate")
        with open(self.file, "wb") as file:
            file.truncate((1 << 30) + 1)
        self.assertIn("begins cold: it is too large", self.start().output())

    def test_where_nothing_can_be_written(self):
        file = os.path.join(self.folder, "missing", "state")
        proxy = self.start(file=file, interval=0.1)
        wait_for("failures", lambda: proxy.metric(
            "lbroute_state_save_failures_total") >= 3)
        ask(proxy, [asked("Hello")])
        self.assertEqual(proxy.output().count("not saved: No such file"), 1)
        self.assertIsNone(
            proxy.metric("lbroute_state_saved_timestamp_seconds"))
        os.mkdir(os.path.dirname(file))
        wait_for("a file", lambda: os.path.exists(file))

    def test_nobody_else_reads_it_and_no_secret_is_in_it(self):
        old = os.umask(0)
        try:
            proxy = self.start()
        finally:
            os.umask(old)
        self.first_turns(proxy)
        self.assertEqual(proxy.stop(), 0)
        status = os.lstat(self.file)
        self.assertEqual(stat.S_IMODE(status.st_mode), 0o600)
        self.assertEqual(os.listdir(self.folder), ["state"])
        data = self.read()
        self.assertIn(b"engine-0", data)
        for secret in (SECRET, CLIENT, SESSION, PROMPT[:16], PROMPT[16:32]):
            self.assertNotIn(secret.encode(), data)

    def test_without_a_file_nothing_is_written(self):
        proxy = self.proxy(self.engines, state={"interval": 0.1})
        ask(proxy, [asked("Hello")])
        self.assertEqual(proxy.metric("lbroute_state_saves_total"), 0)
        self.assertEqual(proxy.stop(), 0)
        self.assertNotIn("state", proxy.output())


if __name__ == "__main__":
    unittest.main()
