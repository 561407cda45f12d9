# SPDX-License-Identifier: MIT
"""A headless Chromium, driven through the pipe of its DevTools protocol: JSON
messages with a zero byte after each, on two file descriptors.

    with Browser() as browser:
        page = browser.open("http://127.0.0.1:8001/")
        page.wait("document.querySelectorAll('tr').length > 3")
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome", "chrome"]

FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic",
    "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-default-apps", "--no-default-browser-check", "--mute-audio",
    "--remote-debugging-pipe",
]


def find_browser():
    """Path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.number = 0
        self.bytes = b""
        self.events = []

    def __enter__(self):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        command = " ".join(["exec", '"$@"', f"3<&{to_browser}",
                            f"4>&{from_browser}"])
        # bash alone takes descriptors above 9 in redirections.
        self.process = subprocess.Popen(
            ["bash", "-c", command, "bash", find_browser(), *FLAGS,
             f"--user-data-dir={self.folder.name}", "about:blank"],
            pass_fds=[to_browser, from_browser], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.output)
        os.close(self.input)
        self.folder.cleanup()

    def read(self, deadline):
        """The next message of the browser, or None when the time is over."""
        while b"\0" not in self.bytes:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.input], [], [], left)[0]:
                return None
            piece = os.read(self.input, 1 << 16)
            if not piece:
                raise RuntimeError("the browser is gone")
            self.bytes += piece
        message, self.bytes = self.bytes.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self.read(deadline)
            if answer is None:
                raise TimeoutError(method)
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def open(self, url, width=1280, height=900, dark=False):
        target = self.call("Target.createTarget", url="about:blank",
                           newWindow=True)  # In a tab it would be hidden.
        session = self.call("Target.attachToTarget", flatten=True,
                            targetId=target["targetId"])["sessionId"]
        page = Page(self, session, target["targetId"])
        page.prepare(width, height, dark)
        page.call("Page.navigate", url=url)
        return page


class Page:
    def __init__(self, browser, session, target):
        self.browser = browser
        self.session = session
        self.target = target

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def prepare(self, width, height, dark):
        for domain in ["Page", "Runtime", "Network", "Log"]:
            self.call(domain + ".enable")
        self.resize(width, height)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme",
             "value": "dark" if dark else "light"}])

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=False)

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script,
                           returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]
                               .get("description", script))
        return answer["result"].get("value")

    def wait(self, script, seconds=20):
        """Waits until an expression is true."""
        deadline = time.monotonic() + seconds
        while not self.run(f"Boolean({script})"):
            if time.monotonic() > deadline:
                raise TimeoutError(script)
            time.sleep(0.1)

    def seen(self, method):
        """Parameters of the events of a kind so far."""
        return [event["params"] for event in self.browser.events
                if event.get("method") == method
                and event.get("sessionId") == self.session]

    def complaints(self):
        """All that the page wrote to its console, and what was thrown."""
        return ([entry["entry"]["text"]
                 for entry in self.seen("Log.entryAdded")]
                + [call["args"] for call in
                   self.seen("Runtime.consoleAPICalled")]
                + [fault["exceptionDetails"] for fault in
                   self.seen("Runtime.exceptionThrown")])

    def requested(self):
        """Every address that the page asked for."""
        return [event["request"]["url"]
                for event in self.seen("Network.requestWillBeSent")]
