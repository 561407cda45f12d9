#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Seeds of the target `names`: programs of the form that fuzz_names.c tells.

usage: make_seeds.py          writes corpus/names/
       make_seeds.py --check  compares
"""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent / "corpus" / "names"

(POOL, TARGET, FIND, PRICE, NO_PRICE, ADAPTERS, PICK, DECISION, PARAMETER,
 BLOCKS) = range(10)


def text(content):
    return bytes([len(content)]) + content


def operation(what, content, other=0):
    return bytes([2 * what + other]) + text(content)


def program(prefix, *operations):
    return text(prefix) + b"".join(operations)


FLEET = [operation(POOL, b"chat"), operation(FIND, b"small"),
         operation(TARGET, b"gpu-1"), operation(TARGET, b"gpu-2")]
LONG = 192 * b"n"  # 1,536 bytes

SEEDS = {
    "fleet": program(
        b"X-Lbroute-", *FLEET, operation(FIND, b"gpu-1"),
        operation(PICK, b"client"), operation(PICK, b"session", 1)),
    "strategies": program(
        b"", *[operation(POOL, name) for name in [b"a", b"b", b"c", b"d"]],
        *[operation(TARGET, name) for name in [b"t", b"u", b"v", b"w"]],
        operation(ADAPTERS, b"sql", 1), operation(PICK, b"one"),
        operation(PICK, b"sql")),
    "full": program(
        b"X-", *[operation(POOL, bytes([97 + i])) for i in range(5)],
        *[operation(PRICE, bytes([97 + i])) for i in range(5)]),
    "taken": program(
        b"X-", operation(POOL, b"a"), operation(POOL, b"a"),
        operation(TARGET, b"a"), operation(TARGET, b"a")),
    "prices": program(
        b"X-", operation(PRICE, b"m"), operation(PRICE, b"n"),
        operation(PRICE, b"m"), operation(NO_PRICE, b"m"),
        operation(NO_PRICE, b"m"), operation(NO_PRICE, b"")),
    "adapters": program(
        b"X-", *FLEET, operation(ADAPTERS, b"sql"),
        operation(ADAPTERS, b"code", 1), operation(ADAPTERS, b"line\nbreak")),
    "no_ascii": program(
        b"X-", operation(POOL, "modèle 100 %".encode()),
        operation(TARGET, bytes(range(128, 160))), operation(PICK, b"\0\xff")),
    "controls": program(
        b"X-", operation(POOL, b"a\r\nSet-Cookie: b"),
        operation(TARGET, b"\x7f"), operation(PRICE, b"\t")),
    "empty": program(
        b"", operation(POOL, b""), operation(TARGET, b""),
        operation(FIND, b""), operation(PRICE, b""), operation(ADAPTERS, b""),
        operation(PICK, b""), operation(DECISION, b"")),
    "long": program(
        b"X-", operation(POOL, LONG), operation(TARGET, LONG),
        operation(FIND, LONG), operation(PRICE, LONG), operation(PICK, LONG)),
    "longest": program(
        b"X-", operation(POOL, 191 * b"n"), operation(TARGET, 191 * b"\xff"),
        operation(PICK, b"c")),
    "bad_prefix": program(b"X: y\r\n", *FLEET, operation(PICK, b"c")),
    "long_prefix": program(LONG, *FLEET, operation(PICK, b"c")),
    "decision_ones": program(b"X-", operation(DECISION, LONG)),
    "decision_high": program(b"X-", operation(DECISION, 255 * b"\xff")),
    "decision_low": program(
        b"X-", operation(DECISION, bytes(range(1, 128)) + 65 * b"\x01")),
    "by_name": program(
        b"X-", operation(FIND, b"kv_aware"), operation(POOL, b"a", 1),
        operation(FIND, b"no strategy"), operation(POOL, b"b", 1),
        operation(PARAMETER, b"queue.depth"), operation(PARAMETER, b"queue")),
    "blocks": program(
        b"X-", operation(BLOCKS, b"four"),
        operation(BLOCKS, bytes(range(100))),
        operation(BLOCKS, bytes(range(100)), 1), operation(BLOCKS, LONG)),
    "cut": program(b"X-", *FLEET)[:-3],
}


def main(arguments):
    if arguments == ["--check"]:
        found = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
        if found != SEEDS:
            sys.exit(f"{FOLDER} is not what make_seeds.py writes")
        print(f"{len(found)} seeds")
        return
    if arguments:
        sys.exit(__doc__)
    FOLDER.mkdir(exist_ok=True)
    for name, content in SEEDS.items():
        (FOLDER / name).write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1:])
