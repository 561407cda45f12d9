# SPDX-License-Identifier: MIT
"""The documents say what the library does.

docs/parameters.md is what the library's own table of parameters prints; it is
written anew with --update. docs/strategies.md has a section for each strategy,
in the library's order, and gives defaults and ranges only as they are.
docs/headers.md explains each value that a header can have. The example in
README.md is the compiled one. Links from page to page lead to a file and to a
heading that is there; docs/index.md lists every page once; every strategy has
a chart.

usage: check_docs.py SOURCE_ROOT FACTS_PROGRAM [--update]
"""

import pathlib
import re
import subprocess
import sys

import repository
from report import finish

_HEAD = """# Parameters of pools

<!-- Written by tests/checks/check_docs.py from the library's own table. -->

Set with `lbroute_pool_set()`, read with `lbroute_pool_get()`, listed by `lbroute_param_get_info()`. A value that is NaN or
outside its range is refused and the old one stays; switches take 0 or 1. A new value is in force from the next pick on and
resets no state.

| parameter | default | minimum | maximum | meaning |
|---|---:|---:|---:|---|
"""


def read_facts(output):
    """(strategies, [(name, default, minimum, maximum, text)], values)."""
    strategies, parameters, header_values = [], [], []
    for line in output.splitlines():
        kind, *values = line.split("\t")
        if kind == "strategy":
            strategies += values
        elif kind == "value":
            header_values += values
        else:
            parameters.append(tuple(values))
    return strategies, parameters, header_values


def parameters_page(parameters):
    rows = [f"| `{name}` | {default} | {minimum} | {maximum} | {text} |\n"
            for name, default, minimum, maximum, text in parameters]
    return _HEAD + "".join(rows)


def strategy_problems(page, strategies):
    """Sections of docs/strategies.md against the library's strategies."""
    sections = re.findall(r"^## `(\w+)`", page, re.MULTILINE)
    if sections == strategies:
        return []
    return [f"strategies.md has sections for {sections}, "
            f"the library has {strategies}"]


def table_problems(page, parameters):
    """Rows '| `parameter` | default | minimum | maximum | …' of a page."""
    known = {name: values for name, *values in parameters}
    problems = []
    for row in re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \|(.*)\|$", page,
                          re.MULTILINE):
        cells = [cell.strip() for cell in row[1].split("|")]
        if row[0] not in known:
            problems.append(f"strategies.md: no parameter '{row[0]}'")
        elif cells[:3] != known[row[0]][:3]:
            problems.append(f"strategies.md: {row[0]} is {cells[:3]} there, "
                            f"{known[row[0]][:3]} in the library")
    return problems


def mention_problems(page, parameters):
    """Parameters named anywhere on a page must exist."""
    known = {name for name, *_ in parameters}
    groups = {name.split(".")[0] for name in known}
    return [f"strategies.md: no parameter '{name}'"
            for name in sorted(set(re.findall(r"`([a-z_]+\.[a-z_]+)`", page)))
            if name.split(".")[0] in groups and name not in known]


def example_problems(readme, example):
    """The README's C block is a run of whole lines of the example."""
    blocks = re.findall(r"^```c\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    if not blocks:
        return ["README.md has no example"]
    lines = "\n".join(line.strip() for line in example.splitlines())
    return ["README.md: an example differs from examples/minimal.c"
            for block in blocks
            if "\n".join(line.strip() for line in block.splitlines())
            not in lines]


def header_problems(page, header_values, strategies):
    """Values of headers that docs/headers.md does not explain."""
    return [f"headers.md does not explain '{value}'"
            for value in header_values
            if value not in strategies and f"`{value}`" not in page]


def anchors(text):
    """Anchors of a page's headings, as its readers on the web make them."""
    text = re.sub(r"^(```.*?^```|    .*?)$", "", text,
                  flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)}


def link_problems(root):
    """Relative links of every Markdown page to files, or to headings of other
    pages, that are not there."""
    problems = []
    for path, full in repository.files(root):
        if not path.endswith(".md"):
            continue
        text = full.read_text(encoding="utf-8")
        for link, anchor in re.findall(r"\]\(([^)#:\s]+)(?:#([^)]*))?\)", text):
            target = full.parent / link
            if not target.exists():
                problems.append(f"{path}: no file '{link}'")
            elif anchor and link.endswith(".md") and anchor not in anchors(
                    target.read_text(encoding="utf-8")):
                problems.append(f"{path}: no heading '{link}#{anchor}'")
    return problems


def guide_problems(root):
    """Pages that the first page does not list, or lists twice: the tree beside
    the pages is made from its links."""
    links = re.findall(r"\]\((\w+\.md)\)",
                       (root / "docs" / "index.md").read_text("utf-8"))
    pages = [path.name for path in sorted((root / "docs").glob("*.md"))]
    return [f"docs/index.md links {links.count(page)} times to {page}"
            for page in pages
            if page != "index.md" and links.count(page) != 1]


CHART_BYTES = 40000


def chart_problems(root, page, strategies):
    """Each section of strategies.md shows its own chart, or says why not."""
    problems = []
    for name in strategies:
        start = page.find(f"## `{name}`")
        section = page[start:page.find("\n## ", start + 1)]
        if f"](images/{name}.svg)" not in section and (
                "There is no chart" not in section):
            problems.append(f"strategies.md shows no chart of {name}")
    for chart in sorted((root / "docs" / "images").glob("*.svg")):
        if chart.stat().st_size > CHART_BYTES:
            problems.append(f"docs/images/{chart.name} is too large")
    return problems


def main():
    root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    run = subprocess.run([program], check=True, text=True, encoding="utf-8",
                         stdout=subprocess.PIPE)
    strategies, parameters, header_values = read_facts(run.stdout)
    page = root / "docs" / "parameters.md"
    if "--update" in sys.argv[3:]:
        page.write_text(parameters_page(parameters), encoding="utf-8")
    problems = []
    if page.read_text(encoding="utf-8") != parameters_page(parameters):
        problems.append("parameters.md is not what the library says; write it "
                        "anew: ninja -C BUILD update-docs")
    text = (root / "docs" / "strategies.md").read_text(encoding="utf-8")
    problems += strategy_problems(text, strategies)
    problems += table_problems(text, parameters)
    problems += mention_problems(text, parameters)
    problems += example_problems(
        (root / "README.md").read_text(encoding="utf-8"),
        (root / "examples" / "minimal.c").read_text(encoding="utf-8"))
    problems += header_problems(
        (root / "docs" / "headers.md").read_text(encoding="utf-8"),
        header_values, strategies)
    problems += link_problems(root)
    problems += guide_problems(root)
    problems += chart_problems(root, text, strategies)
    finish("docs", problems,
           len(strategies) + len(parameters) + len(header_values))


if __name__ == "__main__":
    main()
