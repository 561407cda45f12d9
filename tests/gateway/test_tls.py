# SPDX-License-Identifier: MIT
"""TLS on both sides: who is trusted, and how answers end."""
import http.client
import os
import shutil
import signal
import socket
import ssl
import tempfile
import time
import unittest
import urllib.request

from certificates import make_certificates
from harness import Case
from scripted import (Answer, Engine, GOOD, Gateway, LAST_CHUNK, SSE_HEAD,
                      always, answer, chat, chunk, post)

PATH = "/v1/chat/completions"
# Takes whatever certificate is shown.
UNKNOWN = ssl._create_unverified_context()


class SecureEngine(Engine):
    """An engine that speaks TLS."""

    def __init__(self, context, script=None):
        self.context = context
        super().__init__(script)

    def _serve(self, sock):
        try:
            sock = self.context.wrap_socket(sock, server_side=True)
        except OSError:
            sock.close()
            return
        super()._serve(sock)


class Secure(Case):
    """Engines and gateways with certificates."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        make_certificates(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def file(self, name):
        """Path of a certificate or key."""
        return os.path.join(self.folder.name, name)

    def engine(self, name="here", script=None):
        """An engine with that certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file(name + ".pem"),
                                self.file(name + ".key"))
        engine = SecureEngine(context, script)
        self.addCleanup(engine.close)
        return engine

    def gateway(self, url, extra="", trusted=True):
        """A gateway before that target."""
        if trusted:
            extra += f"\ntls: {{ca_file: {self.file('ca.pem')}}}"
        return self.ends_well(Gateway({"a": url}, extra))

    def listening(self, engine):
        """A gateway that itself speaks TLS."""
        return self.gateway(
            f"http://127.0.0.1:{engine.port}",
            f"listen: {{address: 127.0.0.1, port: 0, tls: {{certificate: "
            f"{self.file('here.pem')}, key: {self.file('here.key')}}}}}")

    def plain_engine(self, script=None):
        """An engine without TLS."""
        engine = Engine(script)
        self.addCleanup(engine.close)
        return engine

    def wait_for(self, gateway, name, value):
        """Waits until a metric has that value."""
        end = time.monotonic() + 10
        while gateway.metric(name) != value:
            self.assertLess(time.monotonic(), end, gateway.output())
            time.sleep(0.02)

    def ask(self, gateway):
        """A chat request over a plain connection."""
        with gateway.connect() as sock:
            sock.sendall(post(PATH, chat()))
            return Answer(sock)

    def secure(self, gateway):
        """A connection over TLS."""
        context = ssl.create_default_context(cafile=self.file("ca.pem"))
        # Python hides an end that was not announced, where it can.
        context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0x80)
        return context.wrap_socket(gateway.connect(),
                                   server_hostname="localhost",
                                   suppress_ragged_eofs=False)

    def test_engine_by_name_and_address(self):
        """The certificate holds both."""
        for host in ("localhost", "127.0.0.1"):
            engine = self.engine()
            gateway = self.gateway(f"https://{host}:{engine.port}")
            for _ in range(3):
                found = self.ask(gateway)
                self.assertEqual((found.status, found.body),
                                 (200, GOOD.encode()))
            self.assertEqual(engine.connections, 1)
            head = engine.requests[0][0].lower()
            self.assertIn(f"host: {host}:{engine.port}", head)

    def test_engine_of_another_name(self):
        """Is not spoken to."""
        for host in ("localhost", "127.0.0.1"):
            engine = self.engine("there")
            gateway = self.gateway(f"https://{host}:{engine.port}")
            self.assertEqual(self.ask(gateway).status, 502)
            self.assertEqual(engine.requests, [])

    def test_engine_of_unknown_authority(self):
        """Nor is one that nobody vouches for."""
        engine = self.engine()
        gateway = self.gateway(f"https://localhost:{engine.port}",
                               trusted=False)
        self.assertEqual(self.ask(gateway).status, 502)
        self.assertEqual(engine.requests, [])

    def test_engine_without_tls(self):
        """Nor one that speaks no TLS."""
        engine = self.plain_engine()
        gateway = self.gateway(f"https://localhost:{engine.port}")
        self.assertEqual(self.ask(gateway).status, 502)
        self.assertEqual(engine.requests, [])

    def test_engine_that_is_silent(self):
        """A handshake that never ends counts as no connection."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            gateway = self.gateway(
                f"https://localhost:{silent.getsockname()[1]}",
                "timeouts: {connect: 1}")
            begun = time.monotonic()
            self.assertEqual(self.ask(gateway).status, 502)
            self.assertLess(time.monotonic() - begun, 4)

    def test_closed_idle_connection(self):
        """A connection that the engine closed is replaced."""
        def script(_engine, wire):
            wire.request_noted()
            wire.send(answer(GOOD))
            wire.request()
        engine = self.engine(script=script)
        gateway = self.gateway(f"https://localhost:{engine.port}")
        for _ in range(4):
            self.assertEqual(self.ask(gateway).status, 200)
        self.assertEqual(engine.connections, 4)

    def both_ports(self, engine):
        """A gateway with a certificate of its own on both, here's at first."""
        self.renew("here")
        files = f"certificate: {self.file('own.pem')}, " \
            f"key: {self.file('own.key')}"
        return self.gateway(
            f"http://127.0.0.1:{engine.port}", "\n".join(
                f"{port}: {{address: 127.0.0.1, port: 0, tls: {{{files}}}}}"
                for port in ("listen", "admin")))

    def renew(self, name):
        """Another certificate under the same names."""
        for ending in (".pem", ".key"):
            shutil.copy(self.file(name + ending), self.file("own" + ending))

    def shown(self, port):
        """Whose certificate is shown there."""
        shown = ssl.get_server_certificate(("127.0.0.1", port))
        for name in ("here", "there"):
            with open(self.file(name + ".pem"), encoding="ascii") as file:
                if file.read() == shown:
                    return name
        return None

    def reload(self, gateway):
        """On the operator's port, whoever it is."""
        request = urllib.request.Request(
            f"https://127.0.0.1:{gateway.admin_port}/api/reload", b"{}",
            {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10,
                                    context=UNKNOWN) as found:
            self.assertEqual(found.status, 200)

    def test_certificates_are_renewed(self):
        """On both ports; connections that are open go on."""
        gateway = self.both_ports(self.plain_engine())
        held = http.client.HTTPSConnection("127.0.0.1", gateway.admin_port,
                                           timeout=10, context=UNKNOWN)
        self.addCleanup(held.close)
        for name in ("here", "there"):
            self.renew(name)
            self.reload(gateway)
            self.assertEqual(self.shown(gateway.port), name)
            self.assertEqual(self.shown(gateway.admin_port), name)
            held.request("GET", "/health")
            self.assertEqual(held.getresponse().read()[:1], b"{")

    def test_certificates_that_are_none(self):
        """Leave the old ones in force, and the log says so, as it does of
        those that are given up."""
        engine = self.plain_engine()
        gateway = self.both_ports(engine)
        with open(self.file("own.pem"), "w", encoding="ascii") as file:
            file.write("nothing")
        self.reload(gateway)
        self.assertEqual(gateway.output().count("cannot read the cert"), 2)
        gateway.write({"a": f"http://127.0.0.1:{engine.port}"})
        self.reload(gateway)
        for port in ("listen", "admin"):
            self.assertIn(f"{port}.tls is given up at the next start",
                          gateway.output())
        self.assertEqual(self.shown(gateway.port), "here")
        self.assertEqual(self.shown(gateway.admin_port), "here")

    def test_reload_that_fails(self):
        """Leaves trust as it was. Pools come before others go: twice as many
        as there may be are too many for the router only."""
        def script(_engine, wire):
            wire.request_noted()
            wire.send(answer(GOOD))
        engine = self.engine(script=script)
        target = {"a": f"https://localhost:{engine.port}"}
        gateway = self.gateway(target["a"])
        for name, authority in (("one", "ca.pem"), ("other", "there.pem")):
            gateway.write(target, f"tls: {{ca_file: {self.file(authority)}}}")
            with open(gateway.config, encoding="utf-8") as file:
                text = file.read()
            with open(gateway.config, "w", encoding="utf-8") as file:
                file.write(text.replace("pools:\n", "pools:\n" + "".join(
                    f"  - name: {name}{i}\n" for i in range(600))))
            gateway.signal(signal.SIGHUP)
            self.wait_for(gateway, "lbroute_reloads_total", 1)
        self.wait_for(gateway, "lbroute_reload_failures_total", 1)
        self.assertEqual(self.ask(gateway).status, 200)
        self.assertEqual(engine.connections, 1)

    def test_client(self):
        """Answers, streams and kept connections over TLS."""
        def script(_engine, wire):
            while wire.request_noted():
                wire.send(SSE_HEAD + chunk(b"data: 1\n\n"))
                time.sleep(0.01)
                wire.send(chunk(b"data: [DONE]\n\n") + LAST_CHUNK)
        gateway = self.listening(self.plain_engine(script))
        with self.secure(gateway) as sock:
            for _ in range(3):
                sock.sendall(post(PATH, chat(True)))
                found = Answer(sock)
                self.assertTrue(found.complete)
                self.assertEqual(found.body, b"data: 1\n\ndata: [DONE]\n\n")

    def test_large_answer_to_slow_client(self):
        """Every byte, however slowly it is taken."""
        whole = os.urandom(3000000)
        gateway = self.listening(self.plain_engine(always(answer(whole))))
        with self.secure(gateway) as sock:
            sock.sendall(post(PATH, chat()))
            time.sleep(0.5)
            self.assertEqual(Answer(sock).body, whole)

    def test_end_of_connection(self):
        """A connection that ends well says so; a broken stream does not."""
        def script(_engine, wire):
            wire.request_noted()
            if self.broken:
                wire.send(SSE_HEAD + chunk(b"data: 1\n\n"))
            else:
                wire.send(answer(GOOD))
        gateway = self.listening(self.plain_engine(script))
        for self.broken in (False, True):
            with self.secure(gateway) as sock:
                sock.sendall(post(PATH, chat(self.broken),
                                  "Connection: close\r\n"))
                if self.broken:
                    with self.assertRaises(ssl.SSLError):
                        while sock.recv(1000):
                            pass
                else:
                    self.assertTrue(Answer(sock).complete)
                    self.assertEqual(sock.recv(10), b"")

    def test_no_tls(self):
        """Whoever speaks no TLS is turned away, and others are served."""
        gateway = self.listening(self.plain_engine())
        with gateway.connect() as sock:
            sock.sendall(post(PATH, chat()))
            try:
                self.assertNotIn(b"HTTP/1.1 200", sock.recv(1000))
            except ConnectionError:
                pass
        with self.secure(gateway) as sock:
            sock.sendall(post(PATH, chat()))
            self.assertEqual(Answer(sock).status, 200)

    def test_client_gone(self):
        """A client over TLS that hangs up while the engine thinks."""
        def script(engine, wire):
            wire.request_noted()
            if wire.closed_within(5):
                engine.gone.set()
        engine = self.plain_engine(script)
        gateway = self.listening(engine)
        sock = self.secure(gateway)
        sock.sendall(post(PATH, chat()))
        while not engine.requests:
            time.sleep(0.01)
        sock.close()
        self.assertTrue(engine.gone.wait(3))
        self.assertTrue(gateway.settled())


if __name__ == "__main__":
    unittest.main()
