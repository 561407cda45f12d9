# SPDX-License-Identifier: MIT
"""Every check can fail: each is fed a bad example here, and a good one."""

import os
import pathlib
import tempfile
import unittest

import check_docs
import check_exports
import check_files
import check_format
import check_fuzz
import check_headers
import check_layers
import check_purity
import elf_symbols
import public_header
import repository

GUARDED = ('#ifdef __cplusplus\nextern "C" {\n#endif\n%s\n'
           '#ifdef __cplusplus\n}\n#endif\n')
GOOD_HEADER = GUARDED % """
/** A thing. */
typedef struct lbroute_thing {
    size_t size; /**< Size; mind the semicolon. */
    void (*call)(void *user, int number);
    char name[256];
} lbroute_thing;

/** Does it. [pure] */
int lbroute_do(const lbroute_thing *thing,
               int (*with)(int));
"""


class Layers(unittest.TestCase):
    def problems(self, **files):
        return check_layers.problems_in({
            name.replace("__", "/").replace("_dot_", "."): text
            for name, text in files.items()})

    def test_downward_is_fine(self):
        self.assertEqual([], self.problems(
            base__error_dot_h='#include <stdint.h>\n',
            state__pool_dot_h='#include "base/error.h"\n',
            state__pool_dot_c='#include "pool.h"\n'))

    def test_upward_fails(self):
        self.assertEqual(
            ["base/error.h: includes state/pool.h, of a higher layer"],
            self.problems(base__error_dot_h='  # include "state/pool.h"\n',
                          state__pool_dot_h=''))

    def test_models_do_not_know_each_other(self):
        good = {"models__ring_dot_h": "",
                "models__ring_walk_dot_c": '#include "models/ring.h"\n'}
        self.assertEqual([], self.problems(**good))
        self.assertEqual(1, len(self.problems(
            **good, models__health_dot_c='#include "models/ring.h"\n')))

    def test_ingest_uses_the_public_api_only(self):
        self.assertEqual(1, len(self.problems(
            ingest__text_dot_c='#include "state/pool.h"\n'
                               '#include <lbroute/lbroute.h>\n',
            state__pool_dot_h="")))

    def test_names_places_and_system_headers(self):
        for files in ({"base__a_dot_c": "", "state__a_dot_c": ""},
                      {"stray_dot_c": ""},
                      {"elsewhere__a_dot_c": ""},
                      {"base__a_dot_c": "#include <stdio.h>\n"},
                      {"base__a_dot_c": "#include <xxhash.h>\n"},
                      {"base__a_dot_c": "#include MACRO\n"},
                      {"base__a_dot_c": '#include "base/gone.h"\n'}):
            self.assertEqual(1, len(self.problems(**files)), files)


class Symbols(unittest.TestCase):
    def test_nm_output(self):
        self.assertEqual(
            {"malloc": "U", "lbroute_pick": "T", "_ITM_x": "w"},
            elf_symbols.parse("                 U malloc@GLIBC_2.2.5\n"
                              "                 w _ITM_x\n\nhash.c.o:\n"
                              "0000000000001139 T lbroute_pick@@LBROUTE_0.1\n"))

    def test_purity(self):
        self.assertEqual([], check_purity.problems_in(["malloc", "sqrt"]))
        for name in ("clock_gettime", "socket", "printf", "getrandom",
                     "pthread_create", "rand", "exit"):
            self.assertEqual(
                [f"undefined symbol '{name}' is not on the allow list"],
                check_purity.problems_in(["free", name]))

    def test_exports(self):
        names = check_exports.names_in_map(
            "/* x; */ N_1 { global: a; b; local: *; };\n"
            "N_2 { global: c; } N_1;\n")
        self.assertEqual(["a", "b", "c"], names)
        shared = check_exports.shared_problems
        self.assertEqual([], shared(["b", "a"], ["a", "b"], ["a", "b"]))
        self.assertEqual([], shared(["a"], ["a"], None))
        self.assertEqual(1, len(shared(["a"], ["a"], ["a", "leak"])))
        self.assertEqual(1, len(shared(["a"], ["a"], [])))
        self.assertEqual(2, len(shared(["a", "b"], ["a", "c"], ["a", "b"])))
        self.assertEqual(1, len(shared(["a", "b"], ["b", "a"], ["a", "b"])))
        self.assertEqual(1, len(check_exports.static_problems(
            ["lbr_x", "lbroute_y", "z"])))


class Headers(unittest.TestCase):
    def test_reader(self):
        self.assertEqual({"lbroute_thing": ["size", "call", "name"]},
                         public_header.structs(GOOD_HEADER))
        self.assertEqual(["lbroute_do"], public_header.functions(GOOD_HEADER))

    def test_good(self):
        self.assertEqual([], check_headers.plainness_problems(GOOD_HEADER))
        self.assertEqual([], check_headers.comment_problems(GOOD_HEADER))

    def test_not_plain(self):
        for bad in ("#define lbroute_x 1\n", "union { int a; };\n",
                    "struct s { int a : 3; };\n", "int lbroute_f(int, ...);\n",
                    "static inline int lbroute_f(void);\n"):
            self.assertEqual(
                1, len(check_headers.plainness_problems(GUARDED % bad)), bad)
        self.assertEqual(1, len(check_headers.plainness_problems("int a;\n")))

    def test_comments(self):
        for bad in ("int lbroute_f(int a);\n",
                    "/** No class. */\nint lbroute_f(int a);\n",
                    "/** [pure] [any thread] */\nint lbroute_f(int a);\n",
                    "/** Good. [pure] */\nint lbroute_f(int a);\n"
                    "int lbroute_g(int a);\n"):
            self.assertEqual(
                1, len(check_headers.comment_problems(GUARDED % bad)), bad)

    def test_enumerators(self):
        problems = check_headers.enumerator_problems
        self.assertEqual([], problems("enum { /** One. */ LBROUTE_A = 1,\n"
                                      "LBROUTE_B = -2 /**< Two. */ };"))
        self.assertEqual(1, len(problems("enum { LBROUTE_A = 1, /**< One. */\n"
                                         "LBROUTE_B = 2 };")))

    def test_layout(self):
        pins = ("SIZE(lbroute_thing, 8)", "PIN(lbroute_thing, size, 0)",
                "PIN(lbroute_thing, call, 8)", "PIN(lbroute_thing, name, 16)")
        self.assertEqual([], check_headers.layout_problems(GOOD_HEADER,
                                                           "\n".join(pins)))
        for left_out in range(len(pins)):
            rest = "\n".join(pins[:left_out] + pins[left_out + 1:])
            self.assertEqual(
                1, len(check_headers.layout_problems(GOOD_HEADER, rest)))

    def test_compiler(self):
        compiler = [os.environ.get("CC", "cc")]
        with tempfile.TemporaryDirectory() as folder:
            own = pathlib.Path(folder) / "lbroute"
            own.mkdir()
            (own / "good.h").write_text("int lbroute_a(void);\n")
            (own / "bad.h").write_text("uint8_t lbroute_a(void);\n")
            problems = [check_headers.compile_problems(
                name, [folder], compiler, "c99", "c")
                for name in ("good.h", "bad.h")]
        self.assertEqual([0, 1], [len(found) for found in problems])


class Docs(unittest.TestCase):
    FACTS = ("strategy\tweighted\nparameter\ta.b\t1\t0\t2\tText.\n"
             "value\tweighted\nvalue\tsaturated\n")

    def setUp(self):
        self.strategies, self.parameters, self.header_values = (
            check_docs.read_facts(self.FACTS))

    def test_facts(self):
        self.assertEqual(["weighted"], self.strategies)
        self.assertIn("| `a.b` | 1 | 0 | 2 | Text. |\n",
                      check_docs.parameters_page(self.parameters))

    def test_strategies(self):
        problems = check_docs.strategy_problems
        self.assertEqual([], problems("## `weighted`\n", self.strategies))
        self.assertEqual(1, len(problems("# Page\n", self.strategies)))
        self.assertEqual(1, len(problems("## `weighted`\n## `other`\n",
                                         self.strategies)))

    def test_tables(self):
        problems = check_docs.table_problems
        self.assertEqual([], problems("| `a.b` | 1 | 0 | 2 |\n",
                                      self.parameters))
        for row in ("| `a.b` | 2 | 0 | 2 |\n", "| `a.c` | 1 | 0 | 2 |\n",
                    "| `a.b` | 1 | 0 | 3 |\n"):
            self.assertEqual(1, len(problems(row, self.parameters)), row)

    def test_mentions(self):
        problems = check_docs.mention_problems
        self.assertEqual([], problems("`a.b` in `minimal.c`", self.parameters))
        self.assertEqual(1, len(problems("`a.gone`", self.parameters)))

    def test_example(self):
        problems = check_docs.example_problems
        readme = "```c\nint a;\n    int b;\n```\n"
        self.assertEqual([], problems(readme, "x\n  int a;\n  int b;\ny\n"))
        self.assertEqual(1, len(problems(readme, "int a;\n")))
        self.assertEqual(1, len(problems("no example", "int a;\n")))

    def test_header_values(self):
        def problems(page):
            return check_docs.header_problems(page, self.header_values,
                                              self.strategies)
        self.assertEqual([], problems("`saturated`: full"))
        self.assertEqual(1, len(problems("saturated: full")))

    def test_links(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "a.md"
            page.write_text("# A `part`, and (x)\n"
                            "[a](a.md#a-part-and-x) [b](https://b.example/x.md)"
                            " [c](#x)")
            self.assertEqual([], check_docs.link_problems(folder))
            for wrong in ("[gone](gone.md)", "# Part\n[a](a.md#other)",
                          "    # code\n[a](a.md#code)"):
                page.write_text(wrong)
                self.assertEqual(1, len(check_docs.link_problems(folder)),
                                 wrong)

    def test_guides(self):
        with tempfile.TemporaryDirectory() as folder:
            docs = pathlib.Path(folder) / "docs"
            docs.mkdir()
            for page, links, problems in (
                    ("a.md", "[a](a.md)", 0), ("b.md", "[a](a.md)", 1),
                    ("b.md", "[a](a.md) [b](b.md) [b](b.md)", 1)):
                (docs / page).touch()
                (docs / "index.md").write_text(links)
                found = check_docs.guide_problems(pathlib.Path(folder))
                self.assertEqual(problems, len(found), links)

    def test_charts(self):
        with tempfile.TemporaryDirectory() as folder:
            images = pathlib.Path(folder) / "docs" / "images"
            images.mkdir(parents=True)
            chart = images / "rnd.svg"

            def problems(section):
                page = f"## `rnd`\n{section}\n## `other`\n"
                return check_docs.chart_problems(pathlib.Path(folder), page,
                                                 ["rnd"])
            chart.write_bytes(b"x")
            self.assertEqual([], problems("![a](images/rnd.svg)"))
            self.assertEqual([], problems("There is no chart: why"))
            self.assertEqual(1, len(problems("![a](images/other.svg)")))
            chart.write_bytes(b"x" * (check_docs.CHART_BYTES + 1))
            self.assertEqual(1, len(problems("![a](images/rnd.svg)")))


class Files(unittest.TestCase):
    LICENCE = check_files.LICENCE

    def test_licence(self):
        problem = check_files.licence_problem
        for path, text in (("a.c", f"/* {self.LICENCE} */\n"),
                           ("tool", f"#!/bin/sh\n# {self.LICENCE}\n"),
                           ("x.md", "no source")):
            self.assertIsNone(problem(path, text), path)
        for path, text in (("a.c", f"\n/* {self.LICENCE} */\n"),
                           ("src/meson.build", "project()\n"),
                           ("tool", "#!/bin/sh\n"), ("empty.py", "")):
            self.assertIsNotNone(problem(path, text), path)

    def test_text(self):
        problems = check_files.text_problems
        self.assertEqual([], problems("a", "mktemp -d x.XXXXXX\n"
                                           "net/ro" + "ot/x ../ro" + "ot/x todo\n"))
        for bad in ("TO" + "DO: x", "// X" + "XX", "a FIX" + "ME b",
                    "see /ho" + "me/somebody/x", '"/ro' + 'ot/x"'):
            self.assertEqual(1, len(problems("a", bad)), bad)

    def test_walk_leaves_build_output_out(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path in ("src/a.c", "build/b.c", "src/.git", "src/out/meson-private/x",
                         "src/out/c.c", ".git/d.c", "subprojects/x/e.c",
                         "subprojects/packagefiles/f.c"):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text("")
            self.assertEqual(["src/a.c", "subprojects/packagefiles/f.c"],
                             [path for path, _ in repository.files(root)])

    def test_format(self):
        clang_format = os.environ.get("CLANG_FORMAT")
        if not clang_format:
            self.skipTest("no clang-format")
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, text in (("good.c", "int a;\n"), ("bad.c", "int  a ;")):
                paths.append(pathlib.Path(folder) / name)
                paths[-1].write_text(text)
            self.assertEqual(
                1, len(check_format.problems_in(clang_format, paths)))


class Fuzz(unittest.TestCase):
    def test_entries(self):
        self.assertEqual([], check_fuzz.dictionary_problems(
            "t", '# words\n\n"a b"\nname="\\x00\\\\\\""\n'))
        for bad in ['a', '"a', '""', '"\\n"', '"\\x0"', '"a"b"', "'a'"]:
            self.assertEqual(1, len(check_fuzz.dictionary_problems("t", bad)),
                             bad)

    def test_seeds(self):
        self.assertEqual([], check_fuzz.seed_problems("t", 10, {"a": 10}))
        self.assertEqual(1, len(check_fuzz.seed_problems("t", 10, {})))
        self.assertEqual(
            1, len(check_fuzz.seed_problems("t", 10, {"a": 10, "b": 11})))
        self.assertEqual(1, len(check_fuzz.seed_problems(
            "t", 30000, {"a": 20000, "b": 20000})))

    def test_nobodys(self):
        self.assertEqual(["corpus b is of no target"],
                         check_fuzz.nobodys("corpus", {"a", "b"}, {"a"}))

    def test_targets(self):
        self.assertEqual([["a", "1", "s", ""], ["b", "2", "s", "d"]],
                         check_fuzz.read_targets("# x\na\t1\ts\t\nb\t2\ts\td\n"))


if __name__ == "__main__":
    unittest.main()
