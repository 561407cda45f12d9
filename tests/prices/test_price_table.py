# SPDX-License-Identifier: MIT
"""tools/prices/price_table.py on small catalogs written by hand.

usage: test_price_table.py PRICE_TABLE
"""

import json
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).parent
PROGRAM = None


def run(*arguments, text=None):
    return subprocess.run([sys.executable, PROGRAM, *arguments],
                          input=None if text is None else text.encode(),
                          capture_output=True, check=False)


def rows(done):
    """{key: cells} of the table."""
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith("# lbroute prices 1"), lines
    return {cells[0]: cells[1:]
            for cells in (line.split("\t") for line in lines[1:])}


def catalog(entry, key="a-model"):
    return '{"%s": %s}' % (key, entry)


class PriceTable(unittest.TestCase):
    def table(self, name, *arguments):
        done = run(str(HERE / name), *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, b"")
        return rows(done)

    def refused(self, entry, *words):
        """The entry is refused in words that name it; the rest is written on
        demand only."""
        text = '{"a-model": %s, "good": {"input_cost_per_token": 1e-6}}' % entry
        done = run("-", "--format", "litellm", text=text)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, b"")
        for word in ("a-model", *words):
            self.assertIn(word, done.stderr.decode())
        done = run("-", "--format", "litellm", "--skip-bad", text=text)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(rows(done), {"good": ["1000000", "-", "-"]})

    def test_litellm(self):
        self.assertEqual(self.table("litellm.json"), {
            "plain": ["150000", "600000", "75000"],
            "free": ["0", "0", "-"],
            "no-output": ["100000", "-", "-"],
            "null-output": ["20000", "-", "-"],
            "long/context": ["1250000", "10000000", "125000",
                             "200000:2500000:15000000:125000"],
            "three-levels": ["75000", "300000", "-",
                             "128000:150000:600000:-",
                             "1000000:300000:300000:-"],
            "ranges": ["50000", "400000", "10000",
                       "32000:200000:1600000:-"],
            "ranges-beside-rates": ["2000000", "3000000", "-",
                                    "32000:5000000:4000000:1000000"],
            "a name with blanks, ümlaut": ["1", "-", "-"],
        })

    def test_models_dev(self):
        self.assertEqual(self.table("models_dev.json"), {
            "someone/small": ["150000", "600000", "75000"],
            "someone/free": ["0", "0", "-"],
            "someone/tiny": ["1", "25", "-"],
            "other/small": ["3000000", "15000000", "300000",
                            "200000:6000000:22500000:600000"],
            "other/levels": ["1000000", "2000000", "-",
                             "128000:2000000:2000000:-",
                             "256000:4000000:8000000:-"],
            "other/both": ["5000000", "30000000", "500000",
                           "272000:10000000:45000000:1000000"],
        })

    def test_only(self):
        self.assertEqual(list(self.table("litellm.json", "--only", "lo*",
                                         "--only", "free")),
                         ["free", "long/context"])

    def test_lines_are_sorted_and_the_same_every_time(self):
        done = [run(str(HERE / "litellm.json")).stdout for _ in range(2)]
        self.assertEqual(done[0], done[1])
        keys = [line.split("\t")[0]
                for line in done[0].decode().splitlines()[1:]]
        self.assertEqual(keys, sorted(keys))

    def test_no_binary_fraction(self):
        """Every decimal of up to twelve places is exact, however written."""
        for pico in (1, 3, 7, 33, 142857, 999999999999, 10 ** 12):
            digits = f"{pico:013d}"
            forms = [f"{digits[:-12]}.{digits[-12:]}", f"{pico}e-12",
                     f"{pico}0E-13", f"0.{pico:018d}e+6"]
            for form in forms:
                text = catalog('{"input_cost_per_token": %s}' % form)
                self.assertEqual(rows(run("-", text=text))["a-model"][0],
                                 str(pico), form)

    def test_finer_prices_are_rounded_to_even(self):
        for value, pico in (("8.33333333333e-08", "83333"), ("2.5e-12", "2"),
                            ("3.5e-12", "4"), ("0.6e-12", "1"),
                            ("1.0000000000004e-06", "1000000")):
            text = catalog('{"input_cost_per_token": %s}' % value)
            self.assertEqual(rows(run("-", text=text))["a-model"][0], pico)

    def test_negative(self):
        self.refused('{"input_cost_per_token": -1}', "input_cost_per_token",
                     "negative")
        self.refused('{"input_cost_per_token": 0, '
                     '"cache_read_input_token_cost": -1e-30}', "cache_read")
        self.refused('{"output_cost_per_token_above_128k_tokens": -2e-6}',
                     "above_128k")

    def test_absurd(self):
        for value in ("1.000000000001", "3", "1e300", "1e999999"):
            self.refused('{"input_cost_per_token": %s}' % value,
                         "more than a dollar")
        for value in ("1e-13", "4e-300"):
            self.refused('{"input_cost_per_token": %s}' % value,
                         "less than half")

    def test_no_numbers(self):
        for value in ('"0.1"', "true", "[]", "{}", '""'):
            self.refused('{"input_cost_per_token": %s}' % value, "no number")
        self.refused("7", "no object")

    def test_too_many_tiers(self):
        tiers = ", ".join(f'"input_cost_per_token_above_{n}k_tokens": 1e-6'
                          for n in range(1, 6))
        self.refused("{%s}" % tiers, "5 tiers")

    def test_bad_ranges(self):
        for level in ("[7]", '[{"range": []}]', '[{"range": [-1, 2]}]',
                      '[{"range": [0.5, 2]}]', '[{"range": ["x"]}]'):
            self.refused('{"tiered_pricing": %s}' % level, "tiered_pricing[0]")

    def test_bad_tiers_of_models_dev(self):
        for level in ({"input": 2, "size": 5}, {"input": 2, "tier": 7},
                      {"input": 2, "tier": {"size": -5}},
                      {"input": 2, "tier": {"type": "hour", "size": 5}}, 7):
            text = json.dumps({"p": {"models": {"m": {"cost": {
                "input": 1, "tiers": [level]}}}}})
            done = run("-", text=text)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b'"p/m": tiers[0]', done.stderr)

    def test_odd_keys(self):
        for key in ("", "#a", "a\\tb", "a\\nb", "k" * 256, "ä" * 128):
            text = catalog('{"input_cost_per_token": 1e-6}', key)
            done = run("-", text=text)
            self.assertEqual(done.returncode, 1, key)
            self.assertIn(b"the key", done.stderr)
        text = catalog('{"input_cost_per_token": 1e-6}', "k" * 255)
        self.assertEqual(list(rows(run("-", text=text))), ["k" * 255])

    def test_no_catalog(self):
        for text in ("", "{", "[]", "7", '{"a": {"input_cost_per_token": NaN}}',
                     '{"a": {"input_cost_per_token": Infinity}}',
                     '{"a": {"models": 7}}', "[" * 100000):
            done = run("-", text=text)
            self.assertEqual(done.returncode, 2, text[:40])
            self.assertIn(b"price_table: -: ", done.stderr)
            self.assertEqual(done.stdout, b"")
        self.assertEqual(run("/nowhere/at/all").returncode, 2)

    def test_an_empty_catalog_is_an_empty_table(self):
        self.assertEqual(rows(run("-", text="{}")), {})


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
