# SPDX-License-Identifier: MIT
"""What tests of lbroute-replay share: the program, traces for it, its runs."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None


def replay(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True,
                          text=True, check=False)


def request(at_ms, tokens, output=20, **more):
    return json.dumps({"timestamp": at_ms, "input_length": tokens,
                       "output_length": output, **more})


class ReplayCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def trace(self, text, name="trace"):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    def runs(self, *arguments):
        path = self.folder / "out.json"
        done = replay("--json", str(path), *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(path.read_text())["runs"], done, path.read_bytes()

    def assert_usage_error(self, arguments, *words):
        done = replay(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout, "")


def main():
    """Runs the tests of the calling program; its first argument is the
    program under test."""
    global PROGRAM
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main("__main__")
