# SPDX-License-Identifier: MIT
"""A real Redis for tests: keeps nothing, ends with the test."""
import shutil
import socket
import tempfile

from harness import PATIENCE, Program, wait_for

REDIS = shutil.which("redis-server")


def free_port():
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


class Redis(Program):
    """A server with further options, such as ["--requirepass", "secret"]; of
    the port it says `self.port`, on which it can also be started again."""

    def __init__(self, *options, port_option="--port"):
        self.data = tempfile.TemporaryDirectory()
        self.port = free_port()
        self.options = [*options, port_option, str(self.port)]
        self.start()

    def start(self):
        """Starts it."""
        Program.__init__(self, [
            REDIS, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            "--dir", self.data.name, *self.options], "Ready to accept")

    def again(self):
        """The same on the same port, after it was killed."""
        super().clean_up()
        self.start()

    def clean_up(self):
        super().clean_up()
        self.data.cleanup()

    def connect(self, *login):
        """A client, which signs on with these words if any."""
        client = Client(self.port)
        if login:
            client.ask("AUTH", *login)
        return client


class Client:
    """As much of a client as tests need."""

    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port),
                                             10 * PATIENCE)
        self.file = self.sock.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.sock.close()

    def send(self, *words):
        """Sends a command."""
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            data = word.encode() if isinstance(word, str) else word
            parts += [b"$%d\r\n" % len(data), data, b"\r\n"]
        self.sock.sendall(b"".join(parts))

    def read(self):
        """An answer, whatever it is."""
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2]
        if kind == b"-":
            raise AssertionError(line)
        return int(rest) if kind == b":" else rest

    def ask(self, *words):
        """Sends a command; its answer."""
        self.send(*words)
        return self.read()

    def listen(self, channel):
        """Begins to listen on a channel."""
        self.ask("SUBSCRIBE", channel)

    def message(self):
        """The next message that is not empty."""
        while True:
            data = self.read()[2]
            if data:
                return data


def wait_for_listeners(redis, channel, count, *login):
    """Waits until so many listen on a channel."""
    def listening():
        with redis.connect(*login) as client:
            return client.ask("PUBSUB", "NUMSUB", channel)[1] == count
    wait_for(f"{count} who listen", listening)
