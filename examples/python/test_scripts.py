# SPDX-License-Identifier: MIT
"""The scripts beside the gateway run."""

import pathlib
import subprocess
import sys

import pytest

replay = pytest.importorskip("lbroute.replay")
HERE = pathlib.Path(__file__).parent


def run(script, *arguments):
    return subprocess.run([sys.executable, str(HERE / script), *arguments],
                          check=True, capture_output=True, text=True).stdout


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    table = replay.run(workload="agents", targets=2, duration=30, seed=[1, 2])
    source, target = tmp_path / "out.json", tmp_path / "out.png"
    source.write_text(table.json, encoding="utf-8")
    run("plot_replay.py", str(source), str(target))
    assert target.read_bytes().startswith(b"\x89PNG")


def test_own_strategy():
    lines = run("own_strategy.py").strip().splitlines()
    assert [line.split()[0] for line in lines[-3:]] == [
        "weighted", "kv_aware", "at_home_unless_busy"]
