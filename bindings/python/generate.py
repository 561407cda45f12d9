# SPDX-License-Identifier: MIT
"""Writes the C source of an extension from the headers, by way of cffi.

Nothing is declared twice: cffi reads what stands between the `extern "C"`
guards, as C compilers do, and the compiler checks every struct against it.

usage: generate.py PARSER_FOLDER OUTPUT MODULE HEADER...
"""

import pathlib
import re
import sys

import cffi

sys.path.insert(0, sys.argv[1])
import public_header  # noqa: E402

# Called by the library, written in Python; where its types are known.
CALLBACKS = """
extern "Python" int lbrpy_score(void *user,
                                const lbroute_score_request *request,
                                const lbroute_candidate *candidates,
                                size_t count, double *scores);
"""
CALLING = "lbroute.h"

_CONSTANT = re.compile(r'^#define (LBROUTE_VERSION\w*) (\d+|".*")$',
                       re.MULTILINE)


def declarations(text):
    """What cffi is told of a header."""
    constants = [f"#define {name} {value}\n" if value.isdigit()
                 else f"static const char {name}[];\n"
                 for name, value in _CONSTANT.findall(text)]
    try:
        span = public_header.without_comments(public_header.span(text))
    except ValueError:  # version.h has constants only
        span = ""
    return "".join(constants) + span


def include(path):
    """The line by which C reads a header."""
    path = pathlib.Path(path)
    public = path.parent.name == "lbroute"
    return f"#include <lbroute/{path.name}>\n" if public else (
        f'#include "{path.name}"\n')


def main():
    output, module, *headers = sys.argv[2:]
    builder = cffi.FFI()
    for path in map(pathlib.Path, headers):
        builder.cdef(declarations(path.read_text(encoding="utf-8")))
        if path.name == CALLING:
            builder.cdef(CALLBACKS)
    builder.set_source(module, "".join(map(include, headers)))
    builder.emit_c_code(output)


if __name__ == "__main__":
    main()
