# SPDX-License-Identifier: MIT
"""Programs that were built with the last release run with this library.

check    compares the built library with the description of the last release
         that has the same soname: nothing is gone and nothing has changed.
         What was added since is no difference, and a struct that states its
         size may have grown at its end.
update   writes that description, and the layout of all structs and the values
         of all constants besides: for a release

usage: check_abi.py (check|update) SOURCE_ROOT BUILD_ROOT ABI_FILE LIBRARY
       ABIDW ABIDIFF
(a tool that is not installed is given as an empty string)
"""

import pathlib
import sys

import abi_description
import released_layout
from report import finish

SKIPPED = 77


def problems(released, current, abidiff):
    names = [abi_description.soname(each) for each in (released, current)]
    if names[0] != names[1]:
        return [f"the soname is {names[1]}, the description tells of "
                f"{names[0]}: \"update-abi\" writes it anew"]
    text = abi_description.difference(abidiff, released, current)
    return [text] if text else []


def check(abi_file, current, abidiff):
    if not abi_file.exists():
        finish("abi", [f"no {abi_file.name}: \"update-abi\" writes it"], 1)
    released = abi_description.parse(abi_file.read_text(encoding="utf-8"))
    finish("abi", problems(released, current, abidiff), len(current.findall(
        "elf-function-symbols/elf-symbol")))


def update(abi_file, current, source_root):
    abi_description.write(current, abi_file)
    layout = abi_file.with_suffix(".layout")
    layout.write_text(released_layout.written(source_root), encoding="utf-8")
    print(f"{abi_file} and {layout.name} are written")


def main():
    way, source_root, build_root, abi_file, library, abidw, abidiff = (
        sys.argv[1:])
    if not abidw or not abidiff:
        print("skipped: abidw and abidiff (abigail-tools) are not installed")
        sys.exit(SKIPPED)
    source_root = pathlib.Path(source_root)
    current = abi_description.describe(abidw, library, source_root / "include",
                                       source_root, build_root)
    if way == "check":
        check(pathlib.Path(abi_file), current, abidiff)
    update(pathlib.Path(abi_file), current, source_root)


if __name__ == "__main__":
    main()
