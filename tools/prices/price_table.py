#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns a public price catalog into a table of prices for lbroute.

Reads LiteLLM's model_prices_and_context_window.json (dollars a token) or
models.dev's api.json (dollars per million tokens) and writes one line a model,
as docs/prices.md describes. Prices are decimal numbers from the text of the
file to whole pico-dollars a token: no binary fraction ever comes in between. A
field that is missing stays unknown, 0 stays free. What cannot be right
(negative, absurd, no number) is refused with its model named.

Exit status: 0; 1 when an entry was refused, and nothing was written unless
--skip-bad; 2 for a file that cannot be read.
"""

import argparse
import decimal
import fnmatch
import json
import re
import sys

PICO_PER_DOLLAR = decimal.Decimal(10) ** 12
PICO_PER_DOLLAR_PER_MILLION = decimal.Decimal(10) ** 6
# A dollar for one token, a thousand times what the dearest model asks.
MOST_PICO = 10 ** 12
MOST_TIERS = 4
LONGEST_KEY = 255
MOST_TOKENS = 2 ** 63 - 1
HEADER = "# lbroute prices 1: key, input, output, cached input (pico-USD a " \
         "token), tiers above:input:output:cached\n"

LITELLM_FIELDS = {"input_cost_per_token": "input",
                  "output_cost_per_token": "output",
                  "cache_read_input_token_cost": "cached"}
LITELLM_TIER = re.compile(r"^(%s)_above_(\d+)([km]?)_tokens$" %
                          "|".join(LITELLM_FIELDS))
MODELS_DEV_FIELDS = {"input": "input", "output": "output",
                     "cache_read": "cached"}
MODELS_DEV_TIER = re.compile(r"^context_over_(\d+)([km]?)$")
RATES = ("input", "output", "cached")
# What LiteLLM's file shows its fields with.
LITELLM_SAMPLE = "sample_spec"


class BadPrice(Exception):
    """An entry that cannot be right; the text names the field."""


def number(value, field):
    """A JSON number as a Decimal, or None for null."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, decimal.Decimal)):
        raise BadPrice(f"{field}: {json.dumps(value, default=str)} is no number")
    return decimal.Decimal(value)


def pico(value, unit, field):
    """Whole pico-dollars a token; -1 for unknown. Finer prices are rounded to
    the nearest, halves to even, but never to free."""
    value = number(value, field)
    if value is None:
        return -1
    if value < 0:
        raise BadPrice(f"{field}: {value} is negative")
    if value > 10 ** 9 or value * unit > MOST_PICO:
        raise BadPrice(f"{field}: {value} is more than a dollar a token")
    with decimal.localcontext(decimal.Context(prec=100)):
        whole = int((value * unit).to_integral_value(decimal.ROUND_HALF_EVEN))
    if whole == 0 and value > 0:
        raise BadPrice(f"{field}: {value} is less than half a pico-dollar")
    return whole


def tokens(value, field):
    """A whole number of tokens."""
    value = number(value, field)
    if value is None or value != value.to_integral_value() or \
            not 0 <= value <= MOST_TOKENS:
        raise BadPrice(f"{field}: {value} is no number of tokens")
    return int(value)


def threshold(digits, letter):
    return int(digits) * {"": 1, "k": 1000, "m": 1000000}[letter]


def rates(entry, fields, unit, place=""):
    """{rate: pico} of the fields that an entry has."""
    return {rate: pico(entry[field], unit, place + field)
            for field, rate in fields.items() if entry.get(field) is not None}


def price(plain, tiers):
    """A price of a model's own rates and {threshold: rates}. What a tier does
    not name is as without tiers. One from 0 on is the price of short input."""
    plain = {**dict.fromkeys(RATES, -1), **plain}
    listed = [(above, {**plain, **tiers[above]}) for above in sorted(tiers)]
    result = plain
    if listed and listed[0][0] == 0:
        result = listed.pop(0)[1]
    if len(listed) > MOST_TIERS:
        raise BadPrice(f"{len(listed)} tiers are more than {MOST_TIERS}")
    known = [result] + [tier for _, tier in listed]
    if all(value < 0 for level in known for value in level.values()):
        return None
    return {**result, "tiers": listed}


def litellm_ranges(entry):
    """Tiers as a list of ranges, in any order."""
    levels = {}
    for place, level in enumerate(entry):
        field = f"tiered_pricing[{place}]"
        if not isinstance(level, dict) or \
                not isinstance(level.get("range"), list) or \
                not level["range"]:
            raise BadPrice(f"{field}: no range")
        above = tokens(level["range"][0], field + ".range")
        levels[above] = rates(level, LITELLM_FIELDS, PICO_PER_DOLLAR,
                              field + ".")
    return levels


def litellm_price(entry):
    tiers = {}
    for field in entry:
        match = LITELLM_TIER.match(field)
        if match and entry[field] is not None:
            above = threshold(match[2], match[3])
            tiers.setdefault(above, {})[LITELLM_FIELDS[match[1]]] = pico(
                entry[field], PICO_PER_DOLLAR, field)
    if isinstance(entry.get("tiered_pricing"), list):
        tiers = litellm_ranges(entry["tiered_pricing"])
    return price(rates(entry, LITELLM_FIELDS, PICO_PER_DOLLAR), tiers)


def models_dev_old_tiers(entry):
    """Tiers as fields, which the catalog keeps beside the list for old
    readers, with a threshold that is not always the true one."""
    tiers = {}
    for field, value in entry.items():
        match = MODELS_DEV_TIER.match(field)
        if match and isinstance(value, dict):
            tiers[threshold(match[1], match[2])] = rates(
                value, MODELS_DEV_FIELDS, PICO_PER_DOLLAR_PER_MILLION,
                field + ".")
    return tiers


def models_dev_tiers(levels):
    tiers = {}
    for place, level in enumerate(levels):
        field = f"tiers[{place}]"
        tier = level.get("tier") if isinstance(level, dict) else None
        if not isinstance(tier, dict) or \
                tier.get("type", "context") != "context":
            raise BadPrice(f"{field}: no tier by length of the context")
        above = tokens(tier.get("size"), field + ".tier.size")
        tiers[above] = rates(level, MODELS_DEV_FIELDS,
                             PICO_PER_DOLLAR_PER_MILLION, field + ".")
    return tiers


def models_dev_price(entry):
    levels = entry.get("tiers")
    tiers = models_dev_tiers(levels) if isinstance(levels, list) and levels \
        else models_dev_old_tiers(entry)
    return price(rates(entry, MODELS_DEV_FIELDS, PICO_PER_DOLLAR_PER_MILLION),
                 tiers)


def litellm_entries(catalog):
    for key, entry in catalog.items():
        if key != LITELLM_SAMPLE:
            yield key, litellm_price, entry


def models_dev_entries(catalog):
    for provider, offer in catalog.items():
        models = offer.get("models") if isinstance(offer, dict) else None
        if not isinstance(models, dict):
            raise ValueError(f'"{provider}" has no models')
        for model, entry in models.items():
            cost = entry.get("cost") if isinstance(entry, dict) else entry
            yield f"{provider}/{model}", models_dev_price, cost


def is_models_dev(catalog):
    return any(isinstance(entry, dict) and "models" in entry
               for entry in catalog.values())


def check_key(key):
    if not key or len(key.encode()) > LONGEST_KEY:
        raise BadPrice(f"the key has not 1 to {LONGEST_KEY} bytes")
    if key.startswith("#") or any(ord(char) < 32 or ord(char) == 127
                                  for char in key):
        raise BadPrice("the key has control characters, or # in front")


def read_entry(key, convert, entry):
    """The price of one entry; None where it has none."""
    if entry is None:
        return None
    if not isinstance(entry, dict):
        raise BadPrice("no object")
    result = convert(entry)
    if result is not None:
        check_key(key)
    return result


def convert(text, layout="auto", only=None):
    """({key: price}, [complaint]) of a catalog's text. Raises ValueError for
    a text that is no catalog."""
    def no_constant(word):
        raise ValueError(f"{word} is no number")

    catalog = json.loads(text, parse_float=decimal.Decimal,
                         parse_constant=no_constant)
    if not isinstance(catalog, dict):
        raise ValueError("no JSON object")
    if layout == "auto":
        layout = "models.dev" if is_models_dev(catalog) else "litellm"
    entries = {"models.dev": models_dev_entries,
               "litellm": litellm_entries}[layout]
    prices, complaints = {}, []
    for key, converter, entry in entries(catalog):
        if only and not any(fnmatch.fnmatchcase(key, glob) for glob in only):
            continue
        try:
            found = read_entry(key, converter, entry)
        except BadPrice as problem:
            complaints.append(f"{json.dumps(key)}: {problem}")
            continue
        if found is not None:
            prices[key] = found
    return prices, complaints


def rate_text(value):
    return "-" if value < 0 else str(value)


def line(key, found):
    cells = [key] + [rate_text(found[rate]) for rate in RATES]
    for above, tier in found["tiers"]:
        cells.append(":".join([str(above)] +
                              [rate_text(tier[rate]) for rate in RATES]))
    return "\t".join(cells) + "\n"


def table(prices):
    return HEADER + "".join(line(key, prices[key]) for key in sorted(prices))


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", help="the catalog; - for standard input")
    parser.add_argument("--format", choices=["auto", "litellm", "models.dev"],
                        default="auto", help="default: told by content")
    parser.add_argument("--only", action="append", metavar="GLOB",
                        help="only keys like this; may be repeated")
    parser.add_argument("--skip-bad", action="store_true",
                        help="leave refused entries out and write the rest")
    return parser.parse_args(arguments)


def read_text(path):
    if path == "-":
        return sys.stdin.buffer.read().decode()
    with open(path, encoding="utf-8") as file:
        return file.read()


def main(arguments):
    options = parse_arguments(arguments)
    try:
        prices, complaints = convert(read_text(options.file), options.format,
                                     options.only)
    except (OSError, ValueError, RecursionError) as problem:
        print(f"price_table: {options.file}: {problem}", file=sys.stderr)
        return 2
    for complaint in complaints:
        print(f"price_table: {complaint}", file=sys.stderr)
    if complaints and not options.skip_bad:
        return 1
    sys.stdout.buffer.write(table(prices).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
