# SPDX-License-Identifier: MIT
"""The admin port over a stage: admin_fixture, and requests to it."""

import http.client
import json
import subprocess
import urllib.parse


class Stage:
    """A running fixture; its statistics stand still at a rate of 0."""

    def __init__(self, program, targets=5, rate=20.0):
        self.process = subprocess.Popen(
            [program, str(targets), str(rate)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = int(line.rsplit(":", 1)[1])
        self.url = f"http://127.0.0.1:{self.port}/"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends it; its exit status tells of leaks under a sanitizer."""
        self.process.stdin.close()
        status = self.process.wait(30)
        self.process.stdout.close()
        return status

    def ask(self, method, path, body=None, headers=None):
        """Status, headers and body of a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def get(self, path):
        status, _, body = self.ask("GET", path)
        if status != 200:
            raise AssertionError(f"{path}: {status} {body}")
        return json.loads(body)

    def post(self, path, value):
        """Status and JSON of a request that changes something."""
        status, _, body = self.ask("POST", path, json.dumps(value),
                                   {"Content-Type": "application/json"})
        return status, json.loads(body)

    def target(self, name):
        return next(target for target in self.get("/api/targets")["targets"]
                    if target["name"] == name)

    def pool(self, name):
        return next(pool for pool in self.get("/api/pools")["pools"]
                    if pool["name"] == name)


def path_of(target):
    return "/api/targets/" + urllib.parse.quote(target, safe="")
