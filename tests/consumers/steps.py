# SPDX-License-Identifier: MIT
"""What every consumer's test does: run commands, and end where one fails."""

import os
import shlex
import subprocess
import sys


def run(command, env=None, fails=False):
    """Runs a command in an environment of PATH and `env` alone, shows it, and
    returns its output. Ends unless it fails just as expected."""
    print("$", shlex.join(map(str, command)), flush=True)
    done = subprocess.run(command, text=True,
                          env={"PATH": os.environ["PATH"], **(env or {})},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if bool(done.returncode) != fails:
        print(done.stdout)
        sys.exit(f"{'no failure' if fails else 'failed'}: {command[0]}")
    return done.stdout


def require(condition, what):
    if not condition:
        sys.exit(f"not so: {what}")
