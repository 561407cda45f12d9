# SPDX-License-Identifier: MIT
"""Descriptions of a library's ABI, as libabigail writes them.

A description here holds what the public headers declare and nothing that
depends on where the library was built.
"""

import os
import pathlib
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree

DESCRIBE = [
    "--drop-private-types", "--exported-interfaces-only", "--no-comp-dir-path",
    "--no-corpus-path", "--no-show-locs", "--no-parameter-names",
    "--no-elf-needed", "--type-id-style", "hash"]


def parse(text):
    return ElementTree.fromstring(text)


def describe(abidw, library, headers, source_root, build_root):
    """The description of a library that has debug information."""
    run = subprocess.run(
        [abidw, *DESCRIBE, "--headers-dir", headers, library], check=True,
        text=True, stdout=subprocess.PIPE)
    description = parse(run.stdout)
    for unit in description.iter("abi-instr"):
        source = os.path.join(build_root, unit.get("path"))
        unit.set("path", os.path.relpath(source, source_root))
    return description


def write(description, path):
    text = ElementTree.tostring(description, encoding="unicode")
    pathlib.Path(path).write_text(text.rstrip() + "\n", encoding="utf-8")


def soname(description):
    return description.get("soname")


def _structs(description):
    return {struct.get("name"): struct
            for struct in description.iter("class-decl")
            if struct.find("data-member") is not None}


def _begins_with_size(struct):
    return struct.find("data-member/var-decl").get("name") == "size"


def without_growth(released, current):
    """Cuts the structs of `current` to their released length, in place.

    A struct that states its size may grow at its end. What is left after the
    cut must be what was released, to the bit.
    """
    kept = _structs(released)
    for name, struct in _structs(current).items():
        if name not in kept or not _begins_with_size(struct):
            continue
        old_size = int(kept[name].get("size-in-bits"))
        if int(struct.get("size-in-bits")) > old_size:
            _cut(struct, old_size)


def _cut(struct, bits):
    struct.set("size-in-bits", str(bits))
    for member in struct.findall("data-member"):
        if int(member.get("layout-offset-in-bits")) >= bits:
            struct.remove(member)


def difference(abidiff, released, current):
    """What abidiff says against `current`; additions are no difference."""
    without_growth(released, current)
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, description in (("released", released), ("current", current)):
            paths.append(os.path.join(folder, name + ".abi"))
            write(description, paths[-1])
        run = subprocess.run([abidiff, "--no-added-syms", *paths], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return run.stdout if run.returncode else ""
