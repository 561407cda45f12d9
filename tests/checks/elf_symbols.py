# SPDX-License-Identifier: MIT
"""Reads symbols with nm."""

import subprocess


def parse(output):
    """{name: type letter} from the output of nm, without version suffixes."""
    symbols = {}
    for line in output.splitlines():
        parts = line.split()
        if len(parts) >= 2 and len(parts[-2]) == 1:
            symbols[parts[-1].split("@")[0]] = parts[-2]
    return symbols


def read(nm, options, library):
    run = subprocess.run([nm, *options, library], check=True, text=True,
                         stdout=subprocess.PIPE)
    return parse(run.stdout)
