# SPDX-License-Identifier: MIT
"""The checks of the ABI can fail, and pass what a minor release may do."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import abi_description
import check_abi
import public_header
import released_layout

ABIDW = shutil.which("abidw")
ABIDIFF = shutil.which("abidiff")

HEADER = """\
#include <stddef.h>
typedef struct thing { size_t size; int a; int b; long c; } thing;
typedef struct flat { int d; } flat;
int use(const thing *thing);
int use_flat(const flat *flat);
int give(int a);
"""
SOURCE = """\
#include "public.h"
struct hidden { int e; };
static struct hidden hidden = {1};
int use(const thing *thing) { return (int)thing->size; }
int use_flat(const flat *flat) { return flat->d; }
int give(int a) { return a + hidden.e; }
"""
ADDED = "int more(const thing *thing)"


def describe(header, source, soname):
    """The description of a library made of these two."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "public.h").write_text(header)
        (root / "source.c").write_text(source)
        library = root / "library.so"
        subprocess.run([os.environ.get("CC", "cc"), "-g", "-shared", "-fPIC",
                        f"-Wl,-soname,{soname}", "-o", "library.so",
                        "source.c"], check=True, cwd=root)
        return abi_description.describe(ABIDW, library, root, root, root)


@unittest.skipUnless(ABIDW and ABIDIFF, "no abigail-tools")
class Abi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.released = describe(HEADER, SOURCE, "library.so.1")

    def problems(self, *replaced, soname="library.so.1"):
        """Problems of a library in whose sources texts were replaced."""
        header, source = HEADER, SOURCE
        for old, new in replaced:
            self.assertIn(old, header + source)
            header, source = header.replace(old, new), source.replace(old, new)
        return check_abi.problems(
            self.released, describe(header, source, soname), ABIDIFF)

    def test_fine(self):
        for replaced in (
                (), (("int e;", "long e; int f;"),),
                (("int give", ADDED + ";\nint give"),
                 (SOURCE[-30:], SOURCE[-30:] + ADDED + " { return 0; }\n")),
                (("long c;", "long c; long more;"),)):
            self.assertEqual([], self.problems(*replaced), replaced)

    def test_bad(self):
        for old, new in (
                ("int give(int a)", "static inline int give(int a)"),
                ("give(int a)", "give(long a)"),
                ("int give", "long give"),
                ("int a; int b;", "int b; int a;"),
                ("size_t size;", "size_t size; long more;"),
                (" int b;", ""),
                ("long c;", ""),
                ("long c;", "double c;"),
                ("long c;", "double c; long more;"),
                ("int d;", "int d; int more;")):
            self.assertEqual(1, len(self.problems((old, new))), (old, new))

    def test_soname(self):
        self.assertEqual(1, len(self.problems(soname="library.so.2")))


class Layout(unittest.TestCase):
    def test_constants(self):
        header = ('#ifdef __cplusplus\nextern "C" {\n#endif\n'
                  "enum { /** One. */ LBROUTE_A = -1,\n"
                  "LBROUTE_A_COUNT = 2 /**< Not = 3. */ };\n"
                  "#ifdef __cplusplus\n}\n#endif\n")
        constants = public_header.constants(header)
        self.assertEqual({"LBROUTE_A": -1, "LBROUTE_A_COUNT": 2}, constants)
        self.assertEqual(
            ["CONSTANT(LBROUTE_A, -1);", "COUNT(LBROUTE_A_COUNT, 2);"],
            released_layout.constant_rows(constants))
        with self.assertRaises(ValueError):
            public_header.constants(header.replace(" = -1", ""))

    def test_structs(self):
        self.assertEqual(
            ["GROWING(a, 16);", "FIELD(a, size, 0);", "FIELD(a, b, 8);",
             "FIXED(c, 8);", "FIELD(c, b, 0);"],
            released_layout.struct_rows(
                "#define SIZE(type, bytes)\nSIZE(a, 16);\nPIN(a, size, 0);\n"
                "PIN(a, b,\n    8);\nSIZE(c, 8);\nPIN(c, b, 0);\n"))

    @unittest.skipIf(sys.maxsize < 2**32, "the rows are of 64-bit platforms")
    def test_rows(self):
        """struct_layout.c takes its own rows and refuses what differs."""
        source = pathlib.Path(__file__).resolve().parent / "struct_layout.c"
        for row, compiles in (
                ("GROWING(lbroute_share, 48);", True),
                ("GROWING(lbroute_share, 64);", False),
                ("FIXED(lbroute_allocator, 24);", True),
                ("FIXED(lbroute_allocator, 16);", False),
                ("FIELD(lbroute_share, target, 16);", False),
                ("FIELD(lbroute_share, gone, 8);", False),
                ("CONSTANT(LBROUTE_OK, 0);", True),
                ("CONSTANT(LBROUTE_OK, 1);", False),
                ("CONSTANT(LBROUTE_GONE, 1);", False),
                ("COUNT(LBROUTE_DIAG_COUNT, 1);", True),
                ("COUNT(LBROUTE_DIAG_COUNT, 1000);", False)):
            self.assertEqual(compiles, self.compiles(source, row), row)

    def compiles(self, source, row):
        with tempfile.TemporaryDirectory() as folder:
            released = pathlib.Path(folder) / "rows"
            released.write_text(row + "\n")
            return subprocess.run(
                [os.environ.get("CC", "cc"), "-std=c11", "-fsyntax-only",
                 f'-DRELEASED_LAYOUT="{released}"',
                 *[f"-I{folder}" for folder in
                   os.environ["LBROUTE_INCLUDE"].split(os.pathsep)],
                 source], stderr=subprocess.DEVNULL).returncode == 0


if __name__ == "__main__":
    unittest.main()
