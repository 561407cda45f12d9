# SPDX-License-Identifier: MIT
"""Engines that do what a script says, over raw sockets, and a gateway in
front of them."""
import json
import re
import socket
import threading
import time

import harness


def answer(body, status="200 OK", headers=""):
    """An answer with a length."""
    data = body if isinstance(body, bytes) else body.encode()
    return (f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\n{headers}\r\n").encode() + data


SSE_HEAD = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n")


def chunk(data):
    """One chunk of an answer in chunks."""
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"

GOOD = json.dumps({
    "id": "x", "object": "chat.completion", "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop",
                 "message": {"role": "assistant", "content": "hello"}}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3,
              "total_tokens": 10}})


class Wire:
    """One connection that an engine accepted."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""

    def _more(self):
        data = self.sock.recv(65536)
        self.buffer += data
        return bool(data)

    def request(self):
        """Head and body of the next request; None at the end."""
        while b"\r\n\r\n" not in self.buffer:
            if not self._more():
                return None
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        found = re.search(rb"\r\ncontent-length: *(\d+)", head, re.I)
        length = int(found.group(1)) if found else 0
        while len(self.buffer) < length:
            if not self._more():
                return None
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return head.decode("latin-1"), body

    def send(self, data):
        """Sends bytes."""
        self.sock.sendall(data)

    def closed_within(self, seconds):
        """Whether the other side closes the connection."""
        self.sock.settimeout(seconds)
        try:
            return self.sock.recv(1) == b""
        except ConnectionError:
            return True
        except socket.timeout:
            return False

    def reset(self):
        """Closes with a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             b"\1\0\0\0\0\0\0\0")
        self.sock.close()


def always(data):
    """A script that answers every request with the same bytes."""
    def script(_engine, wire):
        while wire.request_noted():
            wire.send(data)
    return script


class Engine:
    """Runs its script, a function of the engine and a wire, for each
    connection; it may be exchanged at any time."""

    def __init__(self, script=None):
        self.script = script or always(answer(GOOD))
        self.requests = []
        self.connections = 0
        self.gone = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.wires = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            self.wires.append(sock)
            threading.Thread(target=self._serve, args=(sock,),
                             daemon=True).start()

    def _serve(self, sock):
        wire = Wire(sock)

        def noted():
            found = wire.request()
            if found:
                self.requests.append(found)
            return found
        wire.request_noted = noted
        try:
            self.script(self, wire)
        except OSError:
            pass
        finally:
            sock.close()

    def close(self):
        """Ends it, with all its connections."""
        # A thread that waits in accept() keeps the port otherwise.
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        for sock in self.wires:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Gateway(harness.Gateway):
    """The gateway before scripted engines: targets are urls or settings by
    name, and what else is configured is text."""

    def write(self, targets, extra="", pool="", parameters=None):
        """Writes the configuration."""
        listen = "" if "listen:" in extra else \
            "listen: {address: 127.0.0.1, port: 0}"
        admin = "" if "admin:" in extra else \
            "admin: {address: 127.0.0.1, port: 0}"
        lines = [listen, admin, extra, "pools:",
                 "  - name: chat", f"    strategy: {pool or 'round_robin'}"]
        if parameters:
            lines.append("    parameters:")
            lines += [f"      {k}: {v}" for k, v in parameters.items()]
        lines.append("targets:")
        for name, target in targets.items():
            url = target if isinstance(target, str) else None
            settings = {} if url else dict(target)
            settings.setdefault("url", url)
            settings.setdefault("pool", "chat")
            settings.setdefault("model", "m")
            settings.setdefault("metrics", '""')
            lines.append(f"  - name: {name}")
            lines += [f"    {key}: {value}"
                      for key, value in settings.items()]
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def connect(self, timeout=10):
        """A connection to its public port."""
        sock = socket.create_connection(("127.0.0.1", self.port), timeout)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def settled(self, seconds=5):
        """Waits until no ticket, place or request is open; whether it is."""
        end = time.monotonic() + seconds * harness.PATIENCE
        while time.monotonic() < end:
            if (self.metric("lbroute_open_requests") == 0 and
                    self.metric("lbroute_waiting_requests") == 0 and
                    self.metric("lbroute_target_in_flight") == 0):
                return True
            time.sleep(0.05)
        return False


def chat(stream=False, model="m", text="hi", **more):
    """The body of a chat request."""
    body = {"model": model, "messages": [{"role": "user", "content": text}]}
    if stream:
        body["stream"] = True
    body.update(more)
    return json.dumps(body).encode()


def post(path, body, headers="", version="1.1"):
    """A whole request."""
    return (f"POST {path} HTTP/{version}\r\nHost: gateway\r\n"
            f"Content-Type: application/json\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


class Answer:
    """An answer read from a socket."""

    def __init__(self, sock, head_only=False, rest=b""):
        self.raw = rest
        self.sock = sock
        while b"\r\n\r\n" not in self.raw:
            self._more()
        head, self.raw = self.raw.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            self.headers[name.lower()] = value.strip()
        self.complete = True
        self.body = b"" if head_only else self._body()

    def _more(self):
        data = self.sock.recv(65536)
        if not data:
            raise EOFError(self.raw)
        self.raw += data

    def _take(self, count):
        while len(self.raw) < count:
            self._more()
        data, self.raw = self.raw[:count], self.raw[count:]
        return data

    def _chunks(self):
        body = b""
        try:
            while True:
                while b"\r\n" not in self.raw:
                    self._more()
                size, self.raw = self.raw.split(b"\r\n", 1)
                data = self._take(int(size, 16) + 2)[:-2]
                if not data:
                    return body
                body += data
        except (EOFError, ConnectionError):
            self.complete = False
            return body

    def _body(self):
        if self.headers.get("transfer-encoding") == "chunked":
            return self._chunks()
        try:
            if "content-length" in self.headers:
                return self._take(int(self.headers["content-length"]))
            while True:
                self._more()
        except EOFError:
            self.complete = "content-length" not in self.headers
        except ConnectionError:
            self.complete = False
        return self.raw

    def json(self):
        """The body as JSON."""
        return json.loads(self.body)
