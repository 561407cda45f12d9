# SPDX-License-Identifier: MIT
"""Mock engines and a gateway as processes of their own, for tests of the whole.

    engine = case.engine("--instant")            # Mock
    proxy = case.proxy([engine])                 # Proxy
    ...
    proxy.assert_idle()                          # tickets, places, counts: 0

The programs come from the variables LBROUTE_PROXY and LBROUTE_MOCK. All end
with the test, also when it fails, and at the latest with this process.
"""
import ctypes
import http.server
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

PROXY = os.environ.get("LBROUTE_PROXY", "lbroute-proxy")
MOCK = os.environ.get("LBROUTE_MOCK", "lbroute-mock-engine")

# Sanitizers slow programs down, and keep what was freed.
SANITIZED = bool(os.environ.get("LBROUTE_SANITIZED"))
PATIENCE = 3 if SANITIZED else 1

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def die_with_parent():
    """In a child: ends with this process, however that ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def wait_for(what, condition, seconds=10):
    """Waits until a condition holds, and returns its value."""
    end = time.monotonic() + seconds * PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.01)


def get_json(port, path, body=None):
    """An answer of a port as JSON; with a body, to a POST."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", data,
        {"Content-Type": "application/json"} if data else {})
    try:
        with urllib.request.urlopen(request, timeout=10 * PATIENCE) as page:
            return json.load(page)
    except urllib.error.HTTPError as error:
        with error:
            raise AssertionError(f"{path}: {error.code} "
                                 f"{error.read().decode()}") from error


class Program:
    """A program whose output goes to a file."""

    def __init__(self, command, last_line, environment=None):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "output")
        with open(self.path, "wb") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, preexec_fn=die_with_parent,
                env={**os.environ, **(environment or {})})
        try:
            wait_for(f"start of {command[0]}",
                     lambda: re.search(last_line, self.output(), re.M) or
                     self.process.poll() is not None)
            if self.process.poll() is not None:
                raise AssertionError(f"{command[0]} ended:\n{self.output()}")
        except AssertionError:
            self.kill()
            raise

    def output(self):
        """What it has said so far."""
        with open(self.path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def port_of(self, words):
        """The port that it says it listens on."""
        return int(re.search(rf"^{words} .*:(\d+)$", self.output(),
                             re.M).group(1))

    def signal(self, number):
        """Sends it a signal."""
        self.process.send_signal(number)

    def kill(self):
        """Ends it without a word."""
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=20):
        """Lets it end; its exit status, None if it did not."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def clean_up(self):
        """Forgets its output."""
        self.folder.cleanup()

    def rss(self):
        """Its memory now, bytes."""
        with open(f"/proc/{self.process.pid}/statm",
                  encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def descriptors(self):
        """How many descriptors it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Mock(Program):
    """A mock engine."""

    def __init__(self, *options):
        self.options = options
        super().__init__([MOCK, *options], "^ready$")
        self.port = self.port_of("listening on")
        self.control = self.port_of("control on")
        self.url = f"http://127.0.0.1:{self.port}"

    def again(self):
        """The same engine on the same port, after it was killed."""
        self.clean_up()
        options = [*self.options, "--port", str(self.port)]
        Program.__init__(self, [MOCK, *options], "^ready$")
        self.control = self.port_of("control on")

    def state(self):
        """What it has seen."""
        return get_json(self.control, "/mock/state")

    def faults(self, **faults):
        """What goes wrong from now on; without any: nothing."""
        get_json(self.control, "/mock/faults", faults)


class Gateway(Program):
    """The gateway with what its write() makes of the arguments."""

    def __init__(self, *arguments, environment=None, **settings):
        self.config_folder = tempfile.TemporaryDirectory()
        self.config = os.path.join(self.config_folder.name, "proxy.yaml")
        self.write(*arguments, **settings)
        super().__init__([PROXY, "--config", self.config],
                         "^listening on", environment)
        self.port = self.port_of("listening on")
        self.admin_port = self.port_of("admin listening on")
        self.url = f"http://127.0.0.1:{self.port}"

    def clean_up(self):
        super().clean_up()
        self.config_folder.cleanup()

    def page(self, path):
        """A page of the admin port as text."""
        url = f"http://127.0.0.1:{self.admin_port}{path}"
        with urllib.request.urlopen(url, timeout=10 * PATIENCE) as page:
            return page.read().decode()

    def metric(self, name):
        """Sum of a metric over its labels; None: it is not there."""
        values = re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$",
                            self.page("/metrics"), re.M)
        return sum(float(value) for value in values) if values else None


class Proxy(Gateway):
    """The gateway, in front of targets: each a mock, a port, or a dictionary
    of settings."""

    def write(self, targets, pool=None, **settings):
        """Writes the configuration: JSON is YAML."""
        config = {
            "listen": {"port": 0},
            "admin": {"port": 0},
            "pools": [{"name": "chat", "strategy": "least_connections",
                       **(pool or {})}],
            "targets": [self.target(*entry) for entry in enumerate(targets)],
            **settings,
        }
        with open(self.config, "w", encoding="utf-8") as file:
            json.dump(config, file)

    @staticmethod
    def target(number, target):
        """The settings of a target."""
        if isinstance(target, dict):
            given = target
        elif isinstance(target, int):
            given = {"url": f"http://127.0.0.1:{target}"}
        else:
            given = {"url": target.url}
        return {"name": f"engine-{number}", "pool": "chat",
                "model": "mock-model", "metrics": "", "max_concurrency": 0,
                **given}

    def admin(self, path, body=None):
        """What the admin port answers."""
        return get_json(self.admin_port, path, body)

    def status(self):
        """The page of counts."""
        return self.admin("/api/status")

    def is_idle(self):
        """Whether no request, ticket, place or count is open."""
        status = self.status()
        router = status["router"]
        targets = self.admin("/api/targets")["targets"]
        return not (status["open"] or status["waiting"] or
                    router["open_tickets"] or router["waiting"] or
                    any(t["in_flight"] for t in targets))

    def own_descriptors(self):
        """Its descriptors but for connections that it keeps for engines."""
        targets = self.admin("/api/targets")["targets"]
        return self.descriptors() - sum(t["idle_connections"]
                                        for t in targets)

    def assert_idle(self, seconds=10):
        """Nothing is open, or soon will be."""
        wait_for("all counts at 0", self.is_idle, seconds)


class Pages(http.server.ThreadingHTTPServer):
    """A server whose pages are what a test says: path to (status, body), where
    a body may be what to do instead of an answer."""

    daemon_threads = True

    def __init__(self):
        self.pages = {}
        self.seen = []
        super().__init__(("127.0.0.1", 0), Page)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        """Ends it."""
        self.shutdown()
        self.server_close()


class Page(http.server.BaseHTTPRequestHandler):
    """One answer."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        """Nobody reads it."""

    def do_GET(self):
        """Answers with what the test says."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((time.monotonic(), self.path,
                                 dict(self.headers)))
        status, body = self.server.pages.get(self.path, (404, b""))
        if callable(body):
            body(self)
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass

    do_POST = do_GET


class Case(unittest.TestCase):
    """Programs that end with the test; the gateway must end well."""

    def engine(self, *options):
        """A mock engine."""
        mock = Mock(*options)
        self.addCleanup(mock.clean_up)
        self.addCleanup(mock.stop)
        return mock

    def proxy(self, targets, **settings):
        """A gateway."""
        return self.ends_well(Proxy(targets, **settings))

    def pages(self):
        """A server of pages."""
        pages = Pages()
        self.addCleanup(pages.close)
        return pages

    def ends_well(self, program):
        """Ends a program with the test, and then it must say that all was
        well."""
        def stop():
            status = program.stop()
            self.assertEqual(status, 0, f"it ended with {status}:\n"
                             f"{program.output()}")
        self.addCleanup(program.clean_up)
        self.addCleanup(stop)
        return program
