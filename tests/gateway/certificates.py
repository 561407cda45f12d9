# SPDX-License-Identifier: MIT
"""Certificates for tests, made by openssl."""
import os
import subprocess


def openssl(folder, *words, text=""):
    """Runs the tool of that name."""
    subprocess.run(["openssl", *words], cwd=folder, check=True,
                   input=text, text=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def make_certificates(folder):
    """An authority, a certificate for this machine and one for another."""
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out",
            "ca.pem", "-subj", "/CN=ca", "-days", "2")
    for name, names in (("here", "DNS:localhost,IP:127.0.0.1"),
                        ("there", "DNS:there.example,IP:127.0.0.2")):
        openssl(folder, "req", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:P-256", "-nodes", "-keyout", name + ".key",
                "-out", name + ".csr", "-subj", "/CN=" + name)
        with open(os.path.join(folder, name + ".ext"), "w",
                  encoding="ascii") as file:
            file.write("subjectAltName=" + names)
        openssl(folder, "x509", "-req", "-in", name + ".csr", "-CA", "ca.pem",
                "-CAkey", "ca.key", "-CAcreateserial", "-out", name + ".pem",
                "-days", "2", "-extfile", name + ".ext")
