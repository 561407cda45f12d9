# SPDX-License-Identifier: MIT
"""What if: traffic through every strategy, in virtual time.

    table = replay.run("trace.jsonl.gz", strategy=["weighted", mine])
    print(table)

The simulator is that of the program lbroute-replay, and so are the options; see
docs/replay.md. Strategies may be functions.
"""

from __future__ import annotations

import json
import os
import threading
from typing import (Any, Callable, Iterator, Mapping, Optional, Sequence,
                    Union, cast)

from . import _scorer
from ._decision import Candidate
from ._lbroute import ffi as _core
from ._lbroute import lib as _core_lib
from ._scorer import ScoreRequest

try:
    from ._replay import ffi, lib
except ImportError as _missing:  # zlib, liblzma or jansson were not found
    raise ImportError(
        "this build of lbroute has no replay: install zlib, liblzma and "
        "jansson with their headers, then build it again") from _missing

#: A strategy of one's own: which of the candidates, by its index, gets the
#: request. All candidates are eligible.
Strategy = Callable[[ScoreRequest, Sequence[Candidate]], int]
#: A row of a table: the results of one strategy with one seed, under the names
#: that docs/replay.md lists.
Run = Mapping[str, Any]

_NAME_BYTES = _core_lib.LBROUTE_NAME_MAX + 1
_one_at_a_time = threading.Lock()


class ReplayError(ValueError):
    """The replay was asked for something that it cannot do, such as to read a
    broken trace."""


class Table(Sequence[Run]):
    """The results, a row for each strategy and seed. str() is the table that
    the program prints."""

    def __init__(self, text: str, source: str, html: str, notes: str) -> None:
        self._text = text
        self.json = source  #: As the program writes it with --json.
        self.html = html  #: A page with charts, as with --html.
        self.notes = notes.splitlines()  #: What there is to say of the trace.
        self.runs: list[Run] = json.loads(source)["runs"]

    def __getitem__(self, index: Any) -> Any:
        """A row by its index, or the first one of a strategy by its name."""
        if isinstance(index, str):
            for row in self.runs:
                if row["strategy"] == index:
                    return row
            raise KeyError(index)
        return self.runs[index]

    def __len__(self) -> int:
        return len(self.runs)

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """The rows with these columns; "ttft_ms.p99" is a part of one."""
        return [tuple(_cell(run, column) for column in columns)
                for run in self.runs]

    def __str__(self) -> str:
        return self._text


def _cell(run: Run, column: str) -> Any:
    value: Any = run
    for part in column.split("."):
        value = value[part]
    return value


class _Target:
    """A target of the simulated fleet."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        name = ffi.new("char[]", _NAME_BYTES)
        lib.lbrpy_replay_target(handle, name)
        self.name = ffi.string(name).decode()

    def __repr__(self) -> str:
        return f"<Target {self.name!r}>"


class _Fleet:
    """What candidates take for their router."""

    def __init__(self) -> None:
        self._targets = self
        self._known: dict[int, _Target] = {}

    def get(self, handle: int) -> _Target:
        target = self._known.get(handle)
        if target is None:
            target = self._known[handle] = _Target(handle)
        return target


class _Own:
    """A strategy written in Python, as a filter that leaves one candidate."""

    def __init__(self, function: Strategy) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self.error: Optional[BaseException] = None
        self.router = _Fleet()
        self.scorer = _scorer.make(cast(Any, self), self._scores)

    def _scores(self, request: ScoreRequest, candidates: Sequence[Candidate]
                ) -> list[float]:
        scores = [0.0] * len(candidates)
        if self.error is None:
            try:
                scores[self.function(request, candidates)] = 1.0
            except BaseException as error:
                self.error = error
        return scores


def _words(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        word = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            yield word
        elif isinstance(value, Mapping):
            yield from (f"{word}={key}={number!r}"
                        for key, number in value.items())
        elif isinstance(value, (list, tuple)):
            yield f"{word}={','.join(map(str, value))}"
        else:
            yield f"{word}={os.fspath(value) if _is_path(value) else value}"


def _is_path(value: Any) -> bool:
    return isinstance(value, os.PathLike)


def run(trace: Union[str, os.PathLike[str], None] = None, *,
        strategy: Union[str, Strategy, Sequence[Union[str, Strategy]]] = "all",
        **options: Any) -> Table:
    """Replays a trace, or without one generated traffic (`workload=`).

    `strategy` is a name, a function, a list of both, or "all". The other
    options are those of lbroute-replay, with underscores: `targets=8`,
    `load=1.5`, `seed=[1, 2]`, `param={"cache_aware.threshold": 0.3}`,
    `no_sessions=True`. Raises ReplayError, or what a function raised.
    """
    if "json" in options or "html" in options:
        raise TypeError("the table has them: .json, .html")
    chosen = ([strategy] if isinstance(strategy, str) or callable(strategy)
              else list(strategy))
    names = [name for name in chosen if isinstance(name, str)]
    own = [_Own(one) for one in chosen if not isinstance(one, str)]
    words = ["lbroute-replay",
             *_words({"trace": trace, "strategy": names or None, **options})]
    arguments = [ffi.new("char[]", word.encode()) for word in words]
    strategies = ffi.new("lbrpy_strategy[]", len(own))
    keep = [ffi.new("char[]", one.name.encode()) for one in own]
    for place, one, name in zip(strategies, own, keep):
        place.name, place.user = name, one.scorer.key
    report = ffi.new("lbrpy_report *")
    with _one_at_a_time:
        code = lib.lbrpy_replay(
            len(words), ffi.new("char *[]", [*arguments, ffi.NULL]),
            ffi.cast("lbrpy_function",
                     int(_core.cast("uintptr_t", _core_lib.lbrpy_score))),
            strategies, len(own), not names, report)
    try:
        for one in own:
            if one.error is not None:
                raise one.error
        notes = _text(report.messages)
        if code != 0:
            raise ReplayError(notes.strip())
        return Table(_text(report.table), _text(report.json),
                     _text(report.html), notes)
    finally:
        lib.lbrpy_replay_free(report)


def _text(pointer: Any) -> str:
    return "" if pointer == ffi.NULL else str(ffi.string(pointer).decode())
