# SPDX-License-Identifier: MIT
"""Several gateways before the same engines tell each other what they send
where, over a real Redis; without it each goes on alone."""
import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import browser
import redis_server
from certificates import make_certificates
from harness import PATIENCE, Case, Proxy, wait_for
from redis_server import Redis

if not redis_server.REDIS:
    print("skipped: redis-server is not installed")
    sys.exit(77)

PATH = "/v1/chat/completions"
SLOW_PATH = "/v1/completions"
KEY = "000102030405060708090a0b0c0d0e0f"
OTHER_KEY = KEY[::-1]
PASSWORD = "a-password-of-redis"
PROMPT = "What several gateways should know of each other. " * 40
PEER_TTL = 5
HEADER = b"lbrclus\1" + bytes(8)


def ask(proxy, messages, path=PATH, **headers):
    """The server that answered, and the conversation with its answer."""
    body = {"model": "mock-model", "max_tokens": 4, "messages": messages}
    if path == SLOW_PATH:
        body["prompt"] = "x"
        del body["messages"]
    request = urllib.request.Request(
        proxy.url + path, json.dumps(body).encode(),
        {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=60 * PATIENCE) as answer:
        message = json.load(answer)["choices"][0]
        return (answer.headers["X-Lbroute-Server"],
                [*messages, message.get("message", {})])


def asked(text):
    """What a user says."""
    return {"role": "user", "content": text}


class Cluster(Case):
    """Redis and gateways that share through it."""

    def redis(self, *options, **settings):
        """A server."""
        redis = Redis(*options, **settings)
        self.addCleanup(redis.clean_up)
        self.addCleanup(redis.kill)
        return redis

    def gateway(self, redis, targets, strategy="least_connections", key=KEY,
                make=None, **cluster):
        """A gateway; with `redis` None one that is alone."""
        settings = {"environment": {"LBROUTE_TEST_DIGEST": key},
                    "pool": {"strategy": strategy},
                    "router": {"digest_key_env": "LBROUTE_TEST_DIGEST"}}
        if redis:
            settings["cluster"] = {
                "redis": f"redis://127.0.0.1:{redis.port}", **cluster}
        return (make or self.proxy)(targets, **settings)

    def mortal(self, targets, **settings):
        """A gateway that may be killed."""
        proxy = Proxy(targets, **settings)
        self.addCleanup(proxy.clean_up)
        self.addCleanup(proxy.kill)
        return proxy

    def pair(self, redis, targets, strategy="least_connections", **cluster):
        """Two gateways that have heard each other."""
        pair = [self.gateway(redis, targets, strategy, **cluster)
                for _ in range(2)]
        self.wait_for_peers(*pair)
        return pair

    def wait_for_peers(self, *proxies):
        """Until each counts the load of all others."""
        for proxy in proxies:
            wait_for("peers", lambda p=proxy: p.metric(
                "lbroute_cluster_peers") == len(proxies) - 1)

    def heard(self, speaker, listener):
        """Until what one knows now has come to the other. Of two messages the
        second was begun after this call."""
        origin = speaker.status()["cluster"]["origin"]

        def received():
            return sum(peer["received"] for peer
                       in listener.status()["cluster"]["peers"]
                       if peer["origin"] == origin)
        before = received()
        wait_for("two messages", lambda: received() >= before + 2)


class Conversations(Cluster):
    """What one gateway sent where, another one knows."""

    def setUp(self):
        self.engines = [self.engine("--instant") for _ in range(4)]
        self.server = self.redis()

    def go_on_elsewhere(self, first, second, talks):
        """Where conversations go on at the other gateway, asked in another
        order: idle engines take turns."""
        self.heard(first, second)
        return [ask(second, [*messages, asked("And then?")])[0]
                for _, messages in reversed(talks)][::-1]

    def check_prompts(self, strategy):
        """Of twelve conversations all go on where they were."""
        first, second = self.pair(self.server, self.engines, strategy)
        talks = [ask(first, [asked(f"{number} {PROMPT}")])
                 for number in range(12)]
        homes = [home for home, _ in talks]
        self.assertGreater(len(set(homes)), 1)
        self.assertEqual(self.go_on_elsewhere(first, second, talks), homes)
        alone = self.gateway(None, self.engines, strategy)
        self.assertNotEqual(
            [ask(alone, [*messages, asked("And then?")])[0]
             for _, messages in reversed(talks)][::-1], homes)

    def test_text(self):
        self.check_prompts("cache_aware")

    def test_blocks(self):
        self.check_prompts("kv_aware")

    def sessions(self, first, second):
        """Where sessions are at the one, and then at the other."""
        names = [f"session {number}" for number in range(12)]

        def homes_at(proxy, names):
            return {name: ask(proxy, [asked("Hi")], **{"x-session-id": name})[0]
                    for name in names}
        homes = homes_at(first, names)
        self.assertGreater(len(set(homes.values())), 1)
        self.heard(first, second)
        return homes, homes_at(second, reversed(names))

    def test_sessions(self):
        pair = self.pair(self.server, self.engines, "sticky_session")
        before, after = self.sessions(*pair)
        self.assertEqual(after, before)

    def test_another_key(self):
        """Sessions are not shared then; the log and the page say so."""
        first = self.gateway(self.server, self.engines, "sticky_session")
        second = self.gateway(self.server, self.engines, "sticky_session",
                              OTHER_KEY)
        self.wait_for_peers(first, second)
        before, after = self.sessions(first, second)
        self.assertNotEqual(after, before)
        self.assertRegex(second.output(), "is heard; it has another digest key")
        peer, = second.status()["cluster"]["peers"]
        self.assertFalse(peer["same_key"])

    def test_another_channel(self):
        first = self.gateway(self.server, self.engines, channel="a")
        second = self.gateway(self.server, self.engines, channel="b")
        redis_server.wait_for_listeners(self.server, "a", 1)
        redis_server.wait_for_listeners(self.server, "b", 1)
        time.sleep(0.5)
        self.assertEqual(first.status()["cluster"]["peers"], [])
        self.assertEqual(second.status()["cluster"]["peers"], [])


class Load(Cluster):
    """Requests of another gateway count."""

    def setUp(self):
        self.release = threading.Event()
        self.addCleanup(self.release.set)
        self.engines = [self.slow_engine() for _ in range(2)]
        self.targets = [engine.server_port for engine in self.engines]
        self.server = self.redis()

    def slow_engine(self):
        """An engine that answers chats at once, and completions when told."""
        engine = self.pages()
        good = json.dumps({"choices": [{"message": asked("x")}]}).encode()
        engine.pages[PATH] = (200, good)

        def later(page):
            self.release.wait(60 * PATIENCE)
            with contextlib.suppress(OSError):
                page.send_response(200)
                page.send_header("Content-Length", str(len(good)))
                page.end_headers()
                page.wfile.write(good)
        engine.pages[SLOW_PATH] = (200, later)
        return engine

    def open_requests(self, proxy, count=10):
        """That many on engine-0, which stay open."""
        proxy.admin("/api/targets/engine-1", {"drain": True})

        def one():
            with contextlib.suppress(OSError, urllib.error.URLError):
                ask(proxy, [], SLOW_PATH)
        threads = [threading.Thread(target=one) for _ in range(count)]
        for thread in threads:
            thread.start()
            self.addCleanup(thread.join)
        self.addCleanup(self.release.set)
        wait_for("open requests",
                 lambda: proxy.status()["open"] == count)

    @staticmethod
    def load(proxy):
        """What it takes the load of engine-0 to be."""
        return proxy.admin("/api/targets")["targets"][0]["load"]

    def servers(self, proxy, count=12):
        """Who answers requests, one after the other."""
        return {ask(proxy, [asked(f"{number}")])[0]
                for number in range(count)}

    def test_others_load_counts(self):
        first, second = self.pair(self.server, self.targets)
        self.assertEqual(self.servers(second), {"engine-0", "engine-1"})
        self.open_requests(first)
        self.heard(first, second)
        self.assertEqual(self.servers(second), {"engine-1"})
        self.release.set()
        wait_for("an end", lambda: first.status()["open"] == 0)
        self.heard(first, second)
        self.assertEqual(self.servers(second), {"engine-0", "engine-1"})

    def test_a_dead_gateway_counts_no_more(self):
        first = self.gateway(self.server, self.targets, make=self.mortal)
        second = self.gateway(self.server, self.targets)
        self.wait_for_peers(first, second)
        self.open_requests(first)
        self.heard(first, second)
        first.kill()
        killed = time.monotonic()
        self.assertEqual(self.servers(second), {"engine-1"})
        wait_for("no peer", lambda: second.metric(
            "lbroute_cluster_peers") == 0)
        self.assertGreater(time.monotonic() - killed, PEER_TTL - 1)
        self.assertLess(time.monotonic() - killed, PEER_TTL + 2 * PATIENCE)
        self.assertEqual(self.servers(second), {"engine-0", "engine-1"})
        wait_for("a line", lambda: "is silent" in second.output())

    def test_a_gateway_that_ends_says_so(self):
        """Its load does not count for as long as that of one that died, which
        would be 40 s here."""
        first, second = self.pair(self.server, self.targets, interval=4)
        self.open_requests(first)
        wait_for("its load", lambda: self.load(second) == 10)
        first.signal(signal.SIGTERM)
        wait_for("draining", lambda: "draining" in first.output())
        self.assertEqual(first.stop(), 0)  # Breaks them off.
        wait_for("no load", lambda: self.load(second) == 0, 5)


class Faults(Cluster):
    """Requests go on, whatever Redis does."""

    def setUp(self):
        self.engines = [self.engine("--instant") for _ in range(2)]

    def test_redis_ends_and_comes_back(self):
        server = self.redis()
        pair = self.pair(server, self.engines)
        stop = threading.Event()
        failures, count = [], 0

        def traffic():
            nonlocal count
            while not stop.is_set():
                for proxy in pair:
                    try:
                        begun = time.monotonic()
                        ask(proxy, [asked("Hello")])
                        took = time.monotonic() - begun
                        if took > 1 * PATIENCE:
                            failures.append(f"{took} s")
                    except (OSError, AssertionError) as error:
                        failures.append(error)
                    count += 1
        thread = threading.Thread(target=traffic)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        server.kill()
        for proxy in pair:
            wait_for("it is gone", lambda p=proxy: p.metric(
                "lbroute_cluster_connected") == 0)
            wait_for("no peers", lambda p=proxy: p.metric(
                "lbroute_cluster_peers") == 0)
            self.assertGreater(proxy.metric("lbroute_cluster_held_total"), 0)
        server.again()
        for proxy in pair:
            wait_for("it is back", lambda p=proxy: p.metric(
                "lbroute_cluster_connected") == 1)
        self.wait_for_peers(*pair)
        stop.set()
        thread.join()
        self.assertEqual(failures, [])
        self.assertGreater(count, 50)
        log = pair[0].output()
        self.assertEqual(log.count("ready to publish"), 2)
        self.assertEqual(log.count("ready to listen"), 2)
        self.assertLess(log.count("cannot publish"), 4)

    def test_redis_stops_answering(self):
        """A server that hangs is given up, and is used again later."""
        server = self.redis()
        proxy = self.gateway(server, self.engines)
        wait_for("connected", lambda: proxy.metric(
            "lbroute_cluster_connected") == 1)
        server.signal(signal.SIGSTOP)
        self.addCleanup(server.signal, signal.SIGCONT)
        wait_for("given up", lambda: proxy.metric(
            "lbroute_cluster_connected") == 0, 20)
        self.assertRegex(proxy.output(), "cannot (publish|listen): no answer")
        ask(proxy, [asked("Hello")])
        server.signal(signal.SIGCONT)
        wait_for("back", lambda: proxy.metric(
            "lbroute_cluster_connected") == 1, 20)

    def test_it_starts_without_redis(self):
        server = self.redis()
        server.kill()
        proxy = self.gateway(server, self.engines)
        ask(proxy, [asked("Hello")])
        wait_for("a line", lambda: "cannot publish: Connection refused"
                 in proxy.output())
        server.again()
        wait_for("connected", lambda: proxy.metric(
            "lbroute_cluster_connected") == 1, 20)

    def test_garbage(self):
        """Of whatever kind and length; the next good message counts."""
        server = self.redis()
        first, second = self.pair(server, self.engines)
        with server.connect() as client:
            client.listen("lbroute")
            good = client.message()
        flipped = bytearray(good)
        flipped[len(good) // 2] ^= 0x40
        garbage = [
            b"x", b"lbrclus", HEADER[:-1], HEADER, b"lbrclus\2" + good[8:],
            HEADER + b"x" * 100, os.urandom(1000), HEADER + os.urandom(1000),
            good[:-1], good + b"x", bytes(flipped), b"x" * 10_000_000]
        failed = second.metric("lbroute_cluster_failed_total")
        with server.connect() as client:
            for data in garbage:
                self.assertGreaterEqual(
                    client.ask("PUBLISH", "lbroute", data), 2)
        wait_for("failures", lambda: second.metric(
            "lbroute_cluster_failed_total") == failed + len(garbage))
        self.assertEqual(second.output().count("is of no use"), 1)
        self.heard(first, second)
        ask(second, [asked("Hello")])

    def test_repeated(self):
        server = self.redis()
        first, second = self.pair(server, self.engines)
        with server.connect() as client:
            client.listen("lbroute")
            messages = [client.message() for _ in range(4)]
        before = [proxy.metric("lbroute_cluster_repeated_total")
                  for proxy in (first, second)]
        self.assertEqual(before, [0, 0])
        with server.connect() as client:
            for data in messages:
                client.ask("PUBLISH", "lbroute", data)
        wait_for("repeated ones", lambda: sum(
            proxy.metric("lbroute_cluster_repeated_total")
            for proxy in (first, second)) == len(messages))

    def test_too_long(self):
        """One end of the connection, and then it goes on."""
        server = self.redis()
        first, second = self.pair(server, self.engines)
        with server.connect() as client:
            client.ask("PUBLISH", "lbroute", b"x" * (17 * 1024 * 1024))
        wait_for("a line", lambda: "a message is too long" in second.output())
        self.wait_for_peers(first, second)
        self.heard(first, second)

    def test_no_redis_at_all(self):
        """Something else listens on that port."""
        pages = self.pages()
        proxy = self.proxy(
            self.engines, environment={"LBROUTE_TEST_DIGEST": KEY},
            router={"digest_key_env": "LBROUTE_TEST_DIGEST"},
            cluster={"redis": f"redis://localhost:{pages.server_port}"})
        wait_for("a line", lambda: "Protocol error" in proxy.output() or
                 "closed the connection" in proxy.output())
        ask(proxy, [asked("Hello")])


class Page(Cluster):
    """What operators see."""

    @unittest.skipUnless(browser.find_browser(), "no browser")
    def test_the_page_shows_other_gateways(self):
        engines = [self.engine("--instant")]
        server = self.redis()
        first = self.gateway(server, engines, make=self.mortal)
        second = self.gateway(server, engines, key=OTHER_KEY)
        self.wait_for_peers(first, second)
        origin = first.status()["cluster"]["origin"]
        with browser.Browser() as chromium:
            page = chromium.open(f"http://127.0.0.1:{second.admin_port}/")

            def wait(selector, text):
                page.wait(f"document.querySelector({json.dumps(selector)})"
                          f"?.innerText.includes({json.dumps(text)})")
            wait("#gateways li", origin)
            wait("#gateways li", "heard")
            wait("#gateways li", "another key")
            wait("#cluster-facts", "over Redis, channel lbroute; this one is "
                 + second.status()["cluster"]["origin"])
            first.kill()
            wait("#gateways li", "silent for")
            server.kill()
            wait("#cluster-facts", "Redis is gone")
            self.assertEqual(page.complaints(), [])
            page.close()

    def test_counts(self):
        """Metrics and status say the same, and hold no text of prompts."""
        engines = [self.engine("--instant")]
        server = self.redis()
        first, second = self.pair(server, engines, "cache_aware")
        ask(first, [asked(PROMPT)])
        self.heard(first, second)
        status = second.status()["cluster"]
        self.assertTrue(status["connected"])
        self.assertEqual(status["channel"], "lbroute")
        for name in ("repeated", "missing", "failed", "dropped"):
            self.assertEqual(status[name], 0)
            self.assertEqual(
                second.metric(f"lbroute_cluster_{name}_total"), 0)
        for name in ("sent", "received"):
            self.assertGreater(status[name], 0)
            self.assertGreaterEqual(
                second.metric(f"lbroute_cluster_{name}_total"), status[name])
            self.assertGreaterEqual(
                second.metric(f"lbroute_cluster_{name}_bytes_total"),
                status[name + "_bytes"])
        sent = first.status()["cluster"]["sent_bytes"]
        self.assertGreater(sent, len(PROMPT))
        self.assertNotIn(PROMPT[:20], json.dumps(status))

    def test_without_redis_there_is_nothing(self):
        proxy = self.gateway(None, [self.engine("--instant")])
        self.assertIsNone(proxy.status()["cluster"])
        self.assertNotIn("lbroute_cluster", proxy.page("/metrics"))
        self.assertNotIn("redis", proxy.output())


class Settings(Cluster):
    """What the file says, and what else it meets."""

    def setUp(self):
        self.engines = [self.engine("--instant")]
        self.server = self.redis()

    def test_a_reload_changes_nothing_yet(self):
        proxy = self.gateway(self.server, self.engines)
        with open(proxy.config, encoding="utf-8") as file:
            settings = json.load(file)
        settings["cluster"]["channel"] = "other"
        with open(proxy.config, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        proxy.signal(signal.SIGHUP)
        wait_for("a line", lambda: "cluster and digest_key_env take effect at "
                 "the next start" in proxy.output())
        self.assertEqual(proxy.status()["cluster"]["channel"], "lbroute")
        redis_server.wait_for_listeners(self.server, "lbroute", 1)

    def test_the_key_takes_the_place_of_a_saved_one(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "state")

            def key_after(key):
                """The key in the file after a gateway with this one."""
                environment = {"LBROUTE_TEST_DIGEST": key} if key else {}
                router = {"digest_key_env": "LBROUTE_TEST_DIGEST"}
                proxy = self.proxy(self.engines, environment=environment,
                                   router=router if key else {},
                                   state={"file": file})
                self.assertEqual(proxy.stop(), 0)
                with open(file, "rb") as state:
                    return state.read()[24:40].hex(), proxy.output()
            drawn, _ = key_after(None)
            self.assertNotIn(drawn, (KEY, OTHER_KEY))
            saved, log = key_after(KEY)
            self.assertEqual(saved, KEY)
            self.assertIn("it was made with another key", log)
            saved, log = key_after(None)
            self.assertEqual(saved, KEY)
            self.assertNotIn("another key", log)


class Access(Cluster):
    """Who may share."""

    def setUp(self):
        self.engines = [self.engine("--instant")]

    def start(self, server, scheme="redis", login="", name="127.0.0.1",
              password=None, **cluster):
        """A gateway with that address."""
        environment = {"LBROUTE_TEST_DIGEST": KEY}
        if password:
            environment["LBROUTE_TEST_REDIS"] = password
            cluster["password_env"] = "LBROUTE_TEST_REDIS"
        return self.proxy(
            self.engines, environment=environment,
            router={"digest_key_env": "LBROUTE_TEST_DIGEST"},
            cluster={"redis": f"{scheme}://{login}{name}:{server.port}",
                     **cluster})

    def assert_connects(self, proxy):
        """It does, and has said no secret."""
        wait_for("connected", lambda: proxy.metric(
            "lbroute_cluster_connected") == 1)
        self.assertNotIn(PASSWORD, proxy.output())

    def assert_refused(self, proxy, words):
        """It is, says so, and goes on."""
        wait_for("a line", lambda: words in proxy.output())
        ask(proxy, [asked("Hello")])
        self.assertEqual(proxy.metric("lbroute_cluster_connected"), 0)
        self.assertNotIn(PASSWORD, proxy.output())
        self.assertNotIn(PASSWORD, json.dumps(proxy.status()))

    def test_passwords(self):
        server = self.redis("--requirepass", PASSWORD)
        self.assert_connects(self.start(server, login=f":{PASSWORD}@"))
        self.assert_connects(self.start(server, password=PASSWORD))
        self.assert_refused(self.start(server), "publish: NOAUTH")
        self.assert_refused(self.start(server, password="wrong"),
                            "publish: AUTH is refused: WRONGPASS")

    def test_users(self):
        server = self.redis("--user", "gw", "on", ">" + PASSWORD, "&lbroute",
                            "+publish", "+subscribe", "+ping")
        self.assert_connects(self.start(server, login=f"gw:{PASSWORD}@"))
        self.assert_connects(self.start(server, login="gw@",
                                        password=PASSWORD))
        self.assert_connects(self.start(server, login=f"%67w:{PASSWORD}@"))
        self.assert_refused(self.start(server, login="gw@",
                                       password=PASSWORD, channel="other"),
                            "publish: NOPERM")

    def test_who_may_speak_but_not_listen(self):
        server = self.redis("--user", "gw", "on", ">" + PASSWORD, "&lbroute",
                            "+publish", "+ping")
        proxy = self.start(server, login=f"gw:{PASSWORD}@")
        wait_for("speaking", lambda: "ready to publish" in proxy.output())
        self.assert_refused(proxy, "listen: NOPERM")

    def test_a_password_where_none_is_set(self):
        """The answer must not bring it into the log."""
        server = self.redis("--rename-command", "AUTH", "")
        self.assert_refused(self.start(server, password=PASSWORD),
                            "publish: AUTH is refused: ERR")

    def secure(self, name, clients):
        """A server with that certificate, which asks clients for one or not;
        and where a certificate or key is."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        make_certificates(folder.name)

        def file(name):
            return os.path.join(folder.name, name)
        return self.redis(
            "--port", "0", "--tls-cert-file", file(name + ".pem"),
            "--tls-key-file", file(name + ".key"), "--tls-ca-cert-file",
            file("ca.pem"), "--tls-auth-clients", clients,
            port_option="--tls-port"), file

    def test_tls(self):
        server, file = self.secure("here", "no")
        trust = {"tls": {"ca_file": file("ca.pem")}}
        self.assert_connects(self.start(server, "rediss", **trust))
        self.assert_connects(self.start(server, "rediss", name="localhost",
                                        **trust))
        self.assert_refused(self.start(server, "rediss"),
                            "publish: certificate verify failed")
        self.assert_refused(self.start(server), "publish: ")

    def test_a_certificate_of_another_host(self):
        server, file = self.secure("there", "no")
        self.assert_refused(
            self.start(server, "rediss", tls={"ca_file": file("ca.pem")}),
            "publish: certificate verify failed")

    def test_a_server_that_asks_for_a_certificate(self):
        server, file = self.secure("here", "yes")
        trust = {"ca_file": file("ca.pem")}
        self.assert_connects(self.start(
            server, "rediss", tls={**trust, "certificate": file("here.pem"),
                                   "key": file("here.key")}))
        self.assert_refused(self.start(server, "rediss", tls=trust),
                            "publish: ")


if __name__ == "__main__":
    unittest.main()
