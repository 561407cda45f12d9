# SPDX-License-Identifier: MIT
"""The library does no I/O: its undefined symbols prove it.

Whatever the shared library takes from outside must be on the list below.

usage: check_purity.py NM SHARED_LIBRARY
"""

import re
import sys

import elf_symbols
from report import finish

ALLOWED = {
    "memory": {"malloc", "calloc", "realloc", "free"},
    "strings": {
        "memchr", "memcmp", "memcpy", "memmove", "memset", "strchr", "strcmp",
        "strlen", "strncmp", "bcmp",
    },
    # Exactly rounded, so the same on every platform.
    "math, exact": {
        "ceil", "copysign", "fabs", "floor", "fma", "fmax", "fmin", "frexp",
        "ldexp", "llrint", "llround", "lrint", "lround", "modf", "nextafter",
        "rint", "round", "scalbn", "sqrt", "trunc",
    },
    "lock": {
        "pthread_mutex_init", "pthread_mutex_destroy", "pthread_mutex_lock",
        "pthread_mutex_trylock", "pthread_mutex_unlock",
    },
    "compiler": {
        "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable",
        "__cxa_finalize", "__gmon_start__",
        "__stack_chk_fail", "__tls_get_addr", "_GLOBAL_OFFSET_TABLE_",
    },
    # What a packager's _FORTIFY_SOURCE makes of the above.
    "fortified": {"__memcpy_chk", "__memmove_chk", "__memset_chk"},
}


def problems_in(symbols):
    """Problems of a collection of undefined symbol names."""
    allowed = set().union(*ALLOWED.values())
    return [f"undefined symbol '{name}' is not on the allow list"
            for name in sorted(symbols)
            if re.sub(r"^__isoc\d+_", "", name) not in allowed]


def main():
    nm, library = sys.argv[1:3]
    symbols = elf_symbols.read(nm, ["-D", "--undefined-only"], library)
    finish("purity", problems_in(symbols), len(symbols))


if __name__ == "__main__":
    main()
