# SPDX-License-Identifier: MIT
"""The examples in the documents run, from the first to the last of a page."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[3]
PAGES = ["README.md", "docs/python.md"]


@pytest.mark.parametrize("page", PAGES)
def test_examples(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = [(match.start(), match.group(1)) for match in
              re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.M)]
    assert blocks
    names = {}
    for place, block in blocks:
        if "lbroute import replay" in block:
            pytest.importorskip("lbroute.replay")
        line = text.count("\n", 0, place) + 1
        exec(compile("\n" * line + block, str(ROOT / page), "exec"), names)
