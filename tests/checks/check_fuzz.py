# SPDX-License-Identifier: MIT
"""What belongs to the fuzz targets is there and fits: seeds, dictionaries.

usage: check_fuzz.py FUZZERS.txt SOURCE_ROOT

FUZZERS.txt is what meson writes of the targets: name, most bytes of an input,
folder of seeds, dictionary or nothing; between tabs.
"""

import pathlib
import re
import sys

from report import finish

MOST_BYTES = 32768  # of a target's seeds: they are meant to be small

# As libFuzzer reads it: NAME="BYTES" or "BYTES".
ENTRY = re.compile(
    r'^(\w+=)?"(\\x[0-9a-fA-F]{2}|\\\\|\\"|[ !#-\[\]-~])+"$')


def dictionary_problems(name, text):
    return [f"{name}: line {number} of its dictionary is no entry: {line}"
            for number, line in enumerate(text.splitlines(), 1)
            if line and not line.startswith("#") and not ENTRY.match(line)]


def seed_problems(name, longest, sizes):
    """`sizes` of the seeds, by name."""
    problems = [f"{name}: seed {seed} has {size} bytes, inputs end at {longest}"
                for seed, size in sizes.items() if size > longest]
    if not sizes:
        problems.append(f"{name}: no seeds")
    if sum(sizes.values()) > MOST_BYTES:
        problems.append(f"{name}: seeds of more than {MOST_BYTES} bytes")
    return problems


def nobodys(kind, found, used):
    return [f"{kind} {name} is of no target" for name in sorted(found - used)]


def read_targets(text):
    return [line.split("\t") for line in text.splitlines()
            if line and not line.startswith("#")]


def main():
    folder = pathlib.Path(sys.argv[2]) / "fuzz"
    targets = read_targets(pathlib.Path(sys.argv[1]).read_text())
    problems = []
    used = set()
    for name, longest, seeds, dictionary in targets:
        sizes = {path.name: path.stat().st_size
                 for path in pathlib.Path(seeds).iterdir()}
        problems += seed_problems(name, int(longest), sizes)
        used.add(pathlib.Path(seeds).name)
        if dictionary:
            problems += dictionary_problems(
                name, pathlib.Path(dictionary).read_text())
            used.add(pathlib.Path(dictionary).name)
    sources = {path.stem[len("fuzz_"):] for path in folder.glob("fuzz_*.c")}
    # Without their libraries some targets are left out of a build.
    if sources <= {target[0] for target in targets}:
        found = {path.name for path in (folder / "corpus").iterdir()}
        problems += nobodys("corpus", found, used)
        found = {path.name for path in folder.glob("*.dict")}
        problems += nobodys("dictionary", found, used)
    finish("fuzz targets", problems, len(targets))


if __name__ == "__main__":
    main()
