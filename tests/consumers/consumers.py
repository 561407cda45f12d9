# SPDX-License-Identifier: MIT
"""Builds and runs programs against lbroute, as its users would.

installed    the library installed into a prefix, shared and static, found
             through pkg-config and CMake by C and C++ programs, and loaded by
             Python's ctypes
subproject   a meson project with lbroute among its subprojects, with the
             system's xxHash and with that of its wrap

All are built in folders with a space in their names, and in an environment that
holds PATH alone.

usage: consumers.py (installed|subproject) SOURCE_ROOT MESON VERSION
       -- CC... -- CXX...
"""

import pathlib
import shlex
import sys
import tempfile

import installed
import subproject
from steps import require


class Context:
    """What the consumers are built of and with."""

    def __init__(self, source, meson, version, cc, cxx):
        self.source = pathlib.Path(source)
        self.meson, self.version, self.python = meson, version, sys.executable
        self.cc, self.cxx = cc, cxx
        self.compilers = {"CC": shlex.join(cc), "CXX": shlex.join(cxx)}


def main():
    arguments = sys.argv[1:]
    last = len(arguments) - 1 - arguments[::-1].index("--")
    way, source, meson, version, dashes, *cc = arguments[:last]
    require(dashes == "--" and cc, "usage as above")
    context = Context(source, meson, version, cc, arguments[last + 1:])
    with tempfile.TemporaryDirectory(prefix="lbroute consumer ") as folder:
        {"installed": installed, "subproject": subproject}[way].test(
            context, pathlib.Path(folder))
    print(f"{way}: all consumers built and ran")


if __name__ == "__main__":
    main()
