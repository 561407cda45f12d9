# SPDX-License-Identifier: MIT
"""What engines say reaches the router: metrics, KV events, occupancy, prices;
also after batches that got lost, engines that began anew, and reloads."""
import json
import os
import re
import signal
import tempfile
import time
import unittest

from harness import Case, get_json, wait_for

INTERVALS = {"metrics_interval": 0.1, "occupancy_interval": 0.1}
PROMPT = "A prompt that fills some blocks. " * 40


def vllm_page(running, waiting):
    """A page of metrics."""
    return (f"vllm:num_requests_running{{engine=\"0\"}} {running}\n"
            f"vllm:num_requests_waiting{{engine=\"0\"}} {waiting}\n").encode()


class Signals(Case):
    """A gateway and what it hears."""

    def kv_engine(self, *options):
        """A mock engine that publishes KV events, and how to hear them."""
        engine = self.engine("--speed", "50", "--kv-events", "0", "--kv-replay",
                             "0", *options)
        found = re.findall(r"^kv (?:events|replay) on (\S+)$", engine.output(),
                           re.M)
        return engine, {"events": found[0], "replay": found[1]}

    def of_first(self, proxy, *keys):
        """A figure of the first target."""
        value = proxy.admin("/api/targets")["targets"][0]
        for key in keys:
            value = value[key]
        return value

    def ask(self, proxy, number):
        """A request with a prompt of its own."""
        body = {"model": "mock-model", "max_tokens": 4,
                "messages": [{"role": "user",
                              "content": f"{number} {PROMPT}"}]}
        get_json(proxy.port, "/v1/chat/completions", body)

    def blocks(self, proxy):
        """Blocks that are known, if the target is."""
        kv = self.of_first(proxy, "kv")
        return kv["blocks"] if kv["state"] == "fresh" else None

    def more_blocks(self, proxy, than):
        """Waits until more are known."""
        return wait_for(f"more than {than} blocks",
                        lambda: (self.blocks(proxy) or 0) > than and
                        self.blocks(proxy))

    def test_metrics(self):
        pages = self.pages()
        pages.pages["/base/figures"] = (200, vllm_page(3, 4))
        proxy = self.proxy([{"url": pages.url + "/base",
                             "metrics": "/figures"}], signals=INTERVALS)
        wait_for("a load of 7", lambda: self.of_first(proxy, "load") == 7)
        pages.pages["/base/figures"] = (200, vllm_page(1, 0))
        wait_for("a load of 1", lambda: self.of_first(proxy, "load") == 1)
        self.assertEqual(self.of_first(proxy, "scrape_failures"), 0)

    def test_failed_scrapes_do_not_look_idle(self):
        """No answer, an error, nothing known, one cut short, one too large."""
        def cut(page):
            page.send_response(200)
            page.send_header("Content-Length", "1000")
            page.end_headers()
            page.wfile.write(vllm_page(0, 0))
            page.close_connection = True

        def hang(_page):
            time.sleep(3)

        def drip(page):
            page.send_response(200)
            page.send_header("Content-Length", "1000")
            page.end_headers()
            page.close_connection = True
            try:
                for _ in range(200):
                    page.wfile.write(b"#")
                    time.sleep(0.1)
            except OSError:
                pass

        pages = self.pages()
        pages.pages["/metrics"] = (200, vllm_page(5, 0))
        proxy = self.proxy([{"url": pages.url, "metrics": "/metrics"}],
                           signals=INTERVALS)
        wait_for("a load of 5", lambda: self.of_first(proxy, "load") == 5)
        for answer in ((500, vllm_page(0, 0)), (200, b"<html>"), (200, b""),
                       (200, cut), (200, hang), (200, drip),
                       (200, vllm_page(0, 0) + b"#" * (17 << 20))):
            before = self.of_first(proxy, "scrape_failures")
            pages.pages["/metrics"] = answer
            wait_for(f"failures by {str(answer)[:60]}",
                     lambda: self.of_first(proxy, "scrape_failures") >
                     before + 1)
            self.assertEqual(self.of_first(proxy, "load"), 5)
        pages.pages["/metrics"] = (200, vllm_page(2, 0))
        wait_for("a load of 2", lambda: self.of_first(proxy, "load") == 2)
        lines = [line for line in proxy.output().splitlines()
                 if "metrics" in line]
        self.assertEqual(len(lines), 2, lines)

    def test_scrapes_are_spread(self):
        pages = self.pages()
        pages.pages["/metrics"] = (200, vllm_page(0, 0))
        count, interval = 200, 2
        proxy = self.proxy([{"url": pages.url, "metrics": "/metrics"}
                            for _ in range(count)],
                           signals={"metrics_interval": interval})
        wait_for("two rounds", lambda: len(pages.seen) >= 2 * count, 30)
        start = pages.seen[0][0]
        tenths = [0] * 10
        for when, _path, _headers in pages.seen:
            if when - start < interval:
                tenths[int((when - start) / interval * 10)] += 1
        self.assertLess(max(tenths), count * 0.3, tenths)
        targets = proxy.admin("/api/targets")["targets"]
        self.assertTrue(all(t["scrapes"] for t in targets[:100]))

    def test_api_key(self):
        pages = self.pages()
        pages.pages["/metrics"] = (200, vllm_page(0, 0))
        proxy = self.proxy([{"url": pages.url, "metrics": "/metrics",
                             "api_key_env": "LBROUTE_TEST_KEY"}],
                           environment={"LBROUTE_TEST_KEY": "sesame"},
                           signals=INTERVALS)
        wait_for("a scrape", lambda: pages.seen)
        self.assertEqual(pages.seen[0][2]["Authorization"], "Bearer sesame")
        self.assertNotIn("sesame", proxy.output())
        self.assertNotIn("sesame", json.dumps(proxy.admin("/api/targets")))

    def test_kv_events(self):
        engine, kv = self.kv_engine()
        proxy = self.proxy([{"url": engine.url, "kv_events": [kv]}])
        self.ask(proxy, 1)
        known = self.more_blocks(proxy, 0)
        self.ask(proxy, 1)
        self.ask(proxy, 2)
        self.more_blocks(proxy, known)
        self.assertEqual(self.of_first(proxy, "kv_gaps"), 0)

    def test_lost_batches_are_replayed(self):
        engine, kv = self.kv_engine()
        proxy = self.proxy([{"url": engine.url, "kv_events": [kv]}])
        self.ask(proxy, 1)
        known = self.more_blocks(proxy, 0)
        engine.faults(drop_kv_events=1)
        self.ask(proxy, 2)
        engine.faults()
        self.ask(proxy, 3)
        self.more_blocks(proxy, 2 * known)
        wait_for("a gap", lambda: self.of_first(proxy, "kv_gaps") == 1)
        self.assertEqual(self.of_first(proxy, "kv_replays"), 2)
        self.assertEqual(self.of_first(proxy, "kv", "sources")[0]["missing"],
                         0)

    def test_a_late_gateway_learns_what_was_said(self):
        engine, kv = self.kv_engine()
        first = self.proxy([{"url": engine.url, "kv_events": [kv]}])
        for number in range(3):
            self.ask(first, number)
        known = self.more_blocks(first, 0)
        second = self.proxy([{"url": engine.url, "kv_events": [kv]}])
        wait_for("the same blocks", lambda: self.blocks(second) ==
                 self.blocks(first) and self.blocks(second) >= known)

    def test_engine_restarts(self):
        engine, kv = self.kv_engine()
        engine.options = [
            "--speed", "50", "--kv-events", kv["events"].rsplit(":", 1)[1],
            "--kv-replay", kv["replay"].rsplit(":", 1)[1]]
        proxy = self.proxy([{"url": engine.url, "kv_events": [kv]}])
        for number in range(5):
            self.ask(proxy, number)
        known = self.more_blocks(proxy, 0)
        engine.kill()
        engine.again()
        time.sleep(1)
        self.ask(proxy, 99)
        wait_for("the new engine's blocks",
                 lambda: 0 < (self.blocks(proxy) or 0) < known, 30)

    def test_occupancy(self):
        pages = self.pages()
        workers = "/controller/workers?instance_id=a"
        pages.pages["/cache"] = (200, b'{"occupancy": 0.42}')
        proxy = self.proxy([{"url": pages.url, "occupancy": "/cache"}],
                           signals=INTERVALS)
        wait_for("0.42", lambda: self.of_first(proxy, "occupancy") == 0.42)
        pages.pages["/cache"] = (200, b'{"occupancy": 7}')
        wait_for("a line", lambda: "no occupancy" in proxy.output())
        self.assertEqual(self.of_first(proxy, "occupancy"), 0.42)
        pages.pages[workers] = (200, json.dumps(
            {"workers": [{"key_count": 100}, {"key_count": 90}]}).encode())
        proxy.write([{"url": pages.url, "occupancy": pages.url + workers,
                      "occupancy_capacity": 51200}], signals=INTERVALS)
        proxy.signal(signal.SIGHUP)
        wait_for("a half", lambda: self.of_first(proxy, "occupancy") == 0.5)

    def test_prices(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "prices.json")

            def write(text):
                with open(path, "w", encoding="ascii") as file:
                    file.write(text)

            write('{"mock-model": {"input_cost_per_token": 1.5e-07}}')
            proxy = self.proxy([{"url": "http://127.0.0.1:1"}],
                               prices={"file": path})
            self.assertIsNotNone(self.of_first(proxy, "price"))
            first = self.of_first(proxy, "price")
            write('{"mock-model": {"input_cost_per_token": -1}}')
            proxy.signal(signal.SIGHUP)
            wait_for("a line", lambda: "negative" in proxy.output())
            self.assertEqual(self.of_first(proxy, "price"), first)
            write('{"mock-model": {"input_cost_per_token": 3e-07}}')
            proxy.signal(signal.SIGHUP)
            wait_for("another price",
                     lambda: self.of_first(proxy, "price") != first)

    def test_reload_leaves_others_alone(self):
        """Subscriptions and what came of them outlive a reload; those of
        removed targets end."""
        engine, kv = self.kv_engine()
        pages = self.pages()
        pages.pages["/metrics"] = (200, vllm_page(0, 0))
        stays = {"url": engine.url, "kv_events": [kv]}
        goes = {"url": pages.url, "metrics": "/metrics"}
        proxy = self.proxy([stays, goes], signals=INTERVALS)
        wait_for("a scrape", lambda: pages.seen)
        for number in range(3):  # Some of them go to the engine.
            self.ask_engine(engine, number)
        known = self.more_blocks(proxy, 0)
        proxy.write([stays], signals=INTERVALS)
        proxy.signal(signal.SIGHUP)
        wait_for("one target",
                 lambda: len(proxy.admin("/api/targets")["targets"]) == 1)
        time.sleep(0.5)
        seen = len(pages.seen)
        time.sleep(0.5)
        self.assertEqual(len(pages.seen), seen)
        self.assertGreaterEqual(self.blocks(proxy), known)
        self.assertEqual(self.of_first(proxy, "kv_replays"), 1)
        proxy.write([{"url": engine.url}], signals=INTERVALS)
        proxy.signal(signal.SIGHUP)
        wait_for("no blocks",
                 lambda: self.of_first(proxy, "kv", "blocks") == 0)

    def ask_engine(self, engine, number):
        """Asks the engine itself."""
        get_json(engine.port, "/v1/completions",
                 {"model": "mock-model", "max_tokens": 2,
                  "prompt": f"{number} {PROMPT}"})


if __name__ == "__main__":
    unittest.main()
