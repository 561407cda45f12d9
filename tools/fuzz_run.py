# SPDX-License-Identifier: MIT
"""Runs the fuzzers of a build for a time that is counted on the processor.

usage: fuzz_run.py BUILD MINUTES [TARGET...]

The second half of tools/fuzz, which tells what it does and checks MINUTES.
"""

import math
import os
import pathlib
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

SLICE = 60  # seconds of a clock; the processor's are counted after each
SLOW = 60  # seconds that an input may take

COVERAGE = re.compile(r"^#(\d+)\s.*\bcov: (\d+)", re.MULTILINE)
ARTIFACT = re.compile(r"Test unit written to (.+)$", re.MULTILINE)


@dataclass
class Fuzzer:
    name: str
    longest: str
    seeds: str
    dictionary: str
    build: pathlib.Path

    @property
    def program(self):
        return self.build / "fuzz" / f"fuzzer-{self.name}"

    def folder(self, kind):
        """build/KIND/NAME, made if it is missing."""
        place = self.build / kind / self.name
        place.mkdir(parents=True, exist_ok=True)
        return place

    def command(self, seconds):
        options = [f"-max_len={self.longest}", f"-max_total_time={seconds}",
                   f"-timeout={SLOW}",
                   f"-artifact_prefix={self.folder('findings')}/"]
        if self.dictionary:
            options.append(f"-dict={self.dictionary}")
        # New inputs go to the first folder.
        return [self.program, *options, self.folder("found"), self.seeds]


@dataclass
class Outcome:
    name: str
    executions: int = 0
    coverage: int = 0
    seconds: float = 0.0  # of the processor
    failed: bool = False
    findings: list = field(default_factory=list)

    def add(self, seconds, status, output):
        self.seconds += seconds
        seen = COVERAGE.findall(output)
        if seen:
            self.executions += int(seen[-1][0])
            self.coverage = max(self.coverage, int(seen[-1][1]))
        self.findings += ARTIFACT.findall(output)
        # A slice that got nowhere would be followed by others for ever.
        self.failed = status != 0 or seconds == 0

    def line(self):
        return (f"{self.name:14} {self.executions:12,} executions"
                f" {self.coverage:6,} edges {self.seconds:8.0f} s"
                f" {len(self.findings):2} findings"
                f"  {'FAILED' if self.failed else 'ok'}")


def read_fuzzers(build):
    """What meson wrote down of the fuzzers it builds, by name."""
    table = build / "fuzz" / "fuzzers.txt"
    rows = [line.split("\t") for line in table.read_text().splitlines()
            if line and not line.startswith("#")]
    return {row[0]: Fuzzer(*row, build) for row in rows}


def run_slice(fuzzer, seconds, log):
    """Seconds on the processor, exit status and output of one run."""
    begin = log.tell()
    process = subprocess.Popen(fuzzer.command(seconds), stdout=log, stderr=log)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    log.seek(begin)
    output = log.read().decode(errors="replace")
    return usage.ru_utime + usage.ru_stime, process.returncode, output


def fuzz(fuzzer, seconds):
    outcome = Outcome(fuzzer.name)
    logs = fuzzer.build / "logs"
    logs.mkdir(exist_ok=True)
    with open(logs / f"{fuzzer.name}.log", "w+b") as log:
        while outcome.seconds < seconds and not outcome.failed:
            rest = math.ceil(seconds - outcome.seconds)
            outcome.add(*run_slice(fuzzer, min(rest, SLICE), log))
    print(outcome.line(), flush=True)
    return outcome


def tell(outcome, fuzzer):
    if not outcome.findings:
        print(f"{fuzzer.name} failed without an input: see"
              f" {fuzzer.build}/logs/{fuzzer.name}.log")
    for path in outcome.findings:
        print(f"{fuzzer.name}: {path}\n"
              f"  replay: {shlex.join([str(fuzzer.program), path])}")


def main(build, minutes, *names):
    fuzzers = read_fuzzers(pathlib.Path(build))
    unknown = [name for name in names if name not in fuzzers]
    if unknown:
        sys.exit(f"fuzz: no target {', '.join(unknown)};"
                 f" there are {', '.join(sorted(fuzzers))}")
    chosen = [fuzzers[name] for name in names or fuzzers]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda one: fuzz(one, 60 * float(minutes)), chosen))
    for outcome, fuzzer in zip(outcomes, chosen):
        if outcome.failed:
            tell(outcome, fuzzer)
    failed = sum(outcome.failed for outcome in outcomes)
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
