# SPDX-License-Identifier: MIT
"""Scorers and filters written in Python."""

from __future__ import annotations

import itertools
import weakref
from typing import (TYPE_CHECKING, Any, Callable, Iterable, Optional, Sequence)

from . import _structs
from ._decision import Candidate, candidates_of
from ._errors import check
from ._lbroute import ffi, lib
from ._request import Text, as_name

if TYPE_CHECKING:
    from ._pool import Pool


class ScoreRequest:
    """What a scorer is asked. Its fields can be read during the call only."""

    __slots__ = ("_c", "now", "explaining")

    def __init__(self, struct: Any) -> None:
        self._c = struct.request
        self.now = int(struct.now)
        self.explaining = bool(struct.explaining)

    def _text(self, name: str) -> bytes:
        request = self._request()
        length = getattr(request, name + "_len")
        return bytes(ffi.buffer(getattr(request, name), length)[:]) \
            if length else b""

    def _request(self) -> Any:
        if self._c is None:
            raise ReferenceError("the request of a pick that has ended")
        return self._c

    @property
    def model(self) -> bytes:
        """As in the request, like all that follow."""
        return self._text("model")

    @property
    def tier(self) -> bytes:
        return self._text("tier")

    @property
    def session(self) -> bytes:
        return self._text("session")

    @property
    def client(self) -> bytes:
        return self._text("client")

    @property
    def conversation(self) -> bytes:
        return self._text("conversation")

    @property
    def prompt(self) -> bytes:
        return self._text("prompt")

    @property
    def adapter(self) -> bytes:
        return self._text("adapter")

    @property
    def salt(self) -> bytes:
        return self._text("salt")

    @property
    def tokens(self) -> list[int]:
        request = self._request()
        return list(request.tokens[0:request.tokens_len])

    @property
    def blocks(self) -> list[int]:
        request = self._request()
        return list(request.blocks[0:request.blocks_len])

    @property
    def input_tokens(self) -> Optional[int]:
        value = self._request().input_tokens
        return None if value == -1 else int(value)

    @property
    def output_tokens(self) -> Optional[int]:
        value = self._request().output_tokens
        return None if value == -1 else int(value)

    @property
    def priority(self) -> int:
        return int(self._request().priority)

    @property
    def tag(self) -> int:
        return int(self._request().tag)


#: Scores all candidates of a pick in one call: a number for each, 0 worst to
#: 1 best. An exception takes the scorer out of that pick and goes to
#: sys.unraisablehook().
Score = Callable[[ScoreRequest, Sequence[Candidate]], Iterable[float]]


class Scorer:
    """A scorer or filter of a pool. It stays until it, its pool or its router
    goes."""

    __slots__ = ("pool", "handle", "function", "key", "__weakref__")

    def __init__(self, pool: Pool, function: Score, key: int) -> None:
        self.pool = pool
        self.function = function
        self.handle = 0
        self.key = key

    def stats(self) -> _structs.ScorerStats:
        """Settings and counts."""
        stats = _structs.prepared("lbroute_scorer_stats")
        check(lib.lbroute_get_scorer_stats(self.pool.router._c, self.handle,
                                           stats), "scorer")
        return _structs.ScorerStats(stats)

    @property
    def name(self) -> str:
        """Its name, unique in the pool."""
        return self.stats().name

    @property
    def weight(self) -> float:
        """What its scores are multiplied by; 0 turns it off."""
        return self.stats().weight

    @weight.setter
    def weight(self, weight: float) -> None:
        check(lib.lbroute_scorer_set_weight(self.pool.router._c, self.handle,
                                            weight), "scorer.weight")

    def remove(self) -> None:
        """Removes it. A pick that is under way goes on without it."""
        router = self.pool.router
        check(lib.lbroute_scorer_remove(router._c, self.handle), "scorer")
        router._scorers.pop(self.handle, None)

    def __repr__(self) -> str:
        return f"<Scorer {self.function!r}>"


# C knows scorers by numbers, so that nothing dangles: routers hold them, and a
# number whose scorer is gone finds nothing.
_keys = itertools.count(1)
_known: weakref.WeakValueDictionary[int, Scorer] = (
    weakref.WeakValueDictionary())


@ffi.def_extern(error=1)  # type: ignore[untyped-decorator, unused-ignore]
def lbrpy_score(user: Any, request: Any, candidates: Any, count: int,
                scores: Any) -> int:
    scorer = _known.get(int(ffi.cast("uintptr_t", user)))
    if scorer is None:
        return 1
    copies = ffi.new("lbroute_candidate[]", count)
    ffi.memmove(copies, candidates, ffi.sizeof(copies))
    asked = ScoreRequest(request)
    try:
        given = list(scorer.function(
            asked, candidates_of(scorer.pool.router, copies, count)))
    finally:
        asked._c = None
    if len(given) != count:
        raise ValueError(f"{len(given)} scores for {count} candidates")
    scores[0:count] = [float(score) for score in given]
    return 0


def make(pool: Pool, function: Score) -> Scorer:
    """A scorer that C can call by its key as long as somebody holds it."""
    scorer = Scorer(pool, function, next(_keys))
    _known[scorer.key] = scorer
    return scorer


def add_scorer(pool: Pool, function: Score, name: Optional[Text],
               weight: float, kind: int) -> Scorer:
    """Registers a scorer or filter."""
    scorer = make(pool, function)
    if name is None:
        name = getattr(function, "__name__", type(function).__name__)
    data = ffi.from_buffer(as_name(name))
    options = _structs.prepared("lbroute_scorer_options")
    options.name, options.name_len = data, len(data)
    options.kind, options.weight = kind, weight
    options.score = lib.lbrpy_score
    options.user = ffi.cast("void *", scorer.key)
    handle = ffi.new("lbroute_scorer *")
    check(lib.lbroute_scorer_register(pool.router._c, pool.handle, options,
                                      handle), f"scorer {name!r}")
    scorer.handle = int(handle[0])
    pool.router._scorers[scorer.handle] = scorer
    return scorer
