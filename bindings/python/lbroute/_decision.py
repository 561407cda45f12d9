# SPDX-License-Identifier: MIT
"""Decisions: where a request goes, and the ticket that settles it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional

from . import _codes
from ._codes import Event, KvState, reason_name, text
from ._errors import NotFoundError, check
from ._lbroute import ffi, lib
from ._structs import Snapshot, reasons

if TYPE_CHECKING:
    from ._pool import Pool
    from ._router import Router
    from ._target import Target

_OK = lib.LBROUTE_OK
_NOT_FOUND = lib.LBROUTE_ERR_NOT_FOUND
_SUCCESS = int(Event.SUCCESS)
_CANCEL = int(Event.CANCEL)
_settle = lib.lbrpy_settle
_new = ffi.new_allocator(should_clear_after_alloc=False)
_POINTER = ffi.typeof("lbroute_decision *")
_TIMEOUTS = (TimeoutError, asyncio.TimeoutError,
             concurrent.futures.TimeoutError)

#: Header names and values are names with an escape or numbers: below this.
_HEADER_BYTES = 1024


def new_struct() -> Any:
    """A decision to be filled. It is not cleared: the callee prepares it."""
    return _new(_POINTER)


def outcome_of(kind: type[BaseException]) -> Event:
    """What an exception says of the request from which it came."""
    if not issubclass(kind, Exception):
        return Event.CANCEL  # CancelledError, GeneratorExit, KeyboardInterrupt
    return Event.TIMEOUT if issubclass(kind, _TIMEOUTS) else Event.FAILURE


def _ns(seconds: Optional[float]) -> int:
    return -1 if seconds is None else round(seconds * 1e9)


def _known(value: float) -> Optional[float]:
    return None if math.isnan(value) else value


def _count(value: int) -> Optional[int]:
    return None if value == -1 else value


class Decision:
    """The answer to a request.

    Its ticket holds a slot on the target until it is settled: by one of the
    methods named after an event, or by leaving a `with` block, which reports a
    success, or what an exception says: a timeout, the client going away, or
    else a failure. A decision that nobody refers to any more is cancelled.
    """

    __slots__ = ("_c", "_router", "_open", "__weakref__")

    def __init__(self, router: Router, struct: Any, is_open: bool) -> None:
        self._c = struct
        self._router = router
        self._open = is_open

    def __del__(self) -> None:
        if self._open:
            self._end(_CANCEL, None)

    # Settling.

    def _end(self, kind: int, now: Optional[int]) -> bool:
        if not self._open:
            return False
        self._open = False
        router = self._router
        code = _settle(router._c, self._c, kind,
                       router._clock() if now is None else now)
        if router._places:
            router._serve(now)
        if code == _OK:
            return True
        if code != _NOT_FOUND:  # it ran out, or its router says why not
            check(code, "observe")
        return False

    def _observe(self, kind: int, now: Optional[int], **measured: int) -> bool:
        if not self._open:
            return False
        self._open = kind == Event.FIRST_TOKEN
        router = self._router
        event = ffi.new("lbroute_event *")
        lib.lbroute_event_init(event, ffi.sizeof("lbroute_event"))
        event.ticket = self._c.ticket
        event.kind = kind
        for name, value in measured.items():
            setattr(event, name, value)
        now = router._clock() if now is None else now
        code = lib.lbroute_observe(router._c, event, now)
        if router._places:
            router._serve(now)
        if code != _NOT_FOUND:
            check(code, "observe")
        return bool(code == _OK)

    def first_token(self, *, latency: Optional[float] = None,
                    now: Optional[int] = None) -> bool:
        """The first token arrived; the ticket stays open. `latency` is what the
        host measured, in seconds; by default it is the time since the pick."""
        return self._observe(Event.FIRST_TOKEN, now, latency_ns=_ns(latency))

    def success(self, *, latency: Optional[float] = None,
                input_tokens: Optional[int] = None,
                cached_tokens: Optional[int] = None,
                output_tokens: Optional[int] = None,
                now: Optional[int] = None) -> bool:
        """Answered in full; the usage is what the engine reported.

        Like all that settle: returns False, and does nothing, when the ticket
        was settled before or has run out.
        """
        if (latency is None and input_tokens is None and cached_tokens is None
                and output_tokens is None):
            return self._end(_SUCCESS, now)
        return self._observe(
            _SUCCESS, now, latency_ns=_ns(latency),
            input_tokens=-1 if input_tokens is None else input_tokens,
            cached_tokens=-1 if cached_tokens is None else cached_tokens,
            output_tokens=-1 if output_tokens is None else output_tokens)

    def failure(self, *, now: Optional[int] = None) -> bool:
        """The target failed; counts towards benching."""
        return self._end(Event.FAILURE, now)

    def overload(self, *, retry_after: Optional[float] = None,
                 now: Optional[int] = None) -> bool:
        """The target said that it is full; `retry_after` in seconds."""
        return self._observe(Event.OVERLOAD, now,
                             retry_after_ns=_ns(retry_after))

    def client_error(self, *, now: Optional[int] = None) -> bool:
        """The request was at fault."""
        return self._end(Event.CLIENT_ERROR, now)

    def cancel(self, *, now: Optional[int] = None) -> bool:
        """The client went away, or the host gave up."""
        return self._end(_CANCEL, now)

    def timeout(self, *, now: Optional[int] = None) -> bool:
        """The target did not answer in time; counts towards benching."""
        return self._end(Event.TIMEOUT, now)

    @property
    def settled(self) -> bool:
        """Whether there is nothing (more) to settle."""
        return not self._open

    def __enter__(self) -> Decision:
        return self

    def __exit__(self, kind: Optional[type[BaseException]],
                 _error: Optional[BaseException],
                 _trace: Optional[TracebackType]) -> None:
        if self._open:
            self._end(_SUCCESS if kind is None
                      else self._router._outcome(kind), None)

    # What was decided.

    @property
    def target(self) -> Target:
        """The target. NotFoundError where none was picked, or it is gone."""
        target = self._router._targets.get(self._c.target)
        if target is None:
            raise NotFoundError("decision.target")
        return target

    @property
    def target_name(self) -> str:
        """Name of the target; empty: none."""
        return text(self._c.target_name)

    @property
    def pool(self) -> Optional[Pool]:
        """The pool whose strategy was asked; None: none, or it is gone."""
        return self._router._pools.get(self._c.pool)

    @property
    def pool_name(self) -> str:
        """Name of that pool; empty: none."""
        return text(self._c.pool_name)

    @property
    def ticket(self) -> int:
        """Handle of the ticket; 0: none."""
        return int(self._c.ticket)

    @property
    def place(self) -> int:
        """Handle of the place where it waits or has waited; 0: it did not."""
        return int(self._c.place)

    @property
    def rule(self) -> str:
        """The rule that really decided."""
        return str(_codes.RULES[self._c.rule])

    @property
    def reason(self) -> Optional[str]:
        """On rejection, the reason that held for most targets."""
        return reason_name(self._c.reason)

    @property
    def reasons(self) -> dict[str, int]:
        """On rejection, the number of targets by reason."""
        return reasons(self._c.reasons)

    @property
    def bench_ignored(self) -> bool:
        """Every candidate was benched, so benching was ignored."""
        return bool(self._c.bench_ignored)

    @property
    def candidates(self) -> int:
        """Targets of the pool or model."""
        return int(self._c.candidates)

    @property
    def eligible(self) -> int:
        """Those that no filter rejected."""
        return int(self._c.eligible)

    @property
    def in_flight(self) -> int:
        """In flight on the target with this request; on rejection the sum over
        the full ones."""
        return int(self._c.in_flight)

    @property
    def max_concurrency(self) -> int:
        """The target's limit, 0: none; on rejection likewise."""
        return int(self._c.max_concurrency)

    @property
    def weight(self) -> float:
        """Effective weight of the target."""
        return float(self._c.weight)

    @property
    def load(self) -> float:
        """Its load before this request."""
        return float(self._c.load)

    @property
    def score(self) -> Optional[float]:
        """What the rule ranked by; None: it does not rank."""
        return _known(self._c.score)

    @property
    def sticky_digest(self) -> Optional[int]:
        """Digest of the session, else of the client; None: neither given."""
        return self._c.sticky_digest or None

    @property
    def wait_ns(self) -> Optional[int]:
        """How long the request has waited; where it got no slot, the expected
        wait; None: unknown."""
        return _count(self._c.wait_ns)

    @property
    def queue_ahead(self) -> int:
        """Where it waits: requests that are expected to go before."""
        return int(self._c.queue_ahead)

    @property
    def prefix_matched(self) -> Optional[int]:
        """Leading part of the prompt known on the target; None: unknown."""
        return _count(self._c.prefix_matched)

    @property
    def prefix_total(self) -> Optional[int]:
        """Of that many bytes or blocks; None: unknown."""
        return _count(self._c.prefix_total)

    @property
    def expected_cost_pusd(self) -> Optional[int]:
        """What it will cost, in pico-dollars; None: unknown."""
        return _count(self._c.expected_cost_pusd)

    @property
    def expected_ttft_ns(self) -> Optional[int]:
        """Expected time to the first token; None: unknown."""
        return _count(self._c.expected_ttft_ns)

    @property
    def expected_total_ns(self) -> Optional[int]:
        """Expected time to the end; None: unknown."""
        return _count(self._c.expected_total_ns)

    @property
    def kv_blocks(self) -> Optional[dict[str, int]]:
        """Leading blocks resident there by KV events, by medium; None:
        unknown, or the rule does not look."""
        blocks = {medium.name.lower(): self._c.kv_blocks[medium]
                  for medium in _codes.Medium if medium >= 0}
        return None if -1 in blocks.values() else blocks

    @property
    def kv_state(self) -> KvState:
        """What the word of the source that says so is worth."""
        return KvState(self._c.kv_state)

    @property
    def tag(self) -> int:
        """The request's."""
        return int(self._c.tag)

    def headers(self) -> dict[str, str]:
        """The response headers that describe it."""
        router = self._router._c
        name = ffi.new("char[]", _HEADER_BYTES)
        value = ffi.new("char[]", _HEADER_BYTES)
        length = ffi.new("size_t *")
        found: dict[str, str] = {}
        while True:
            code = lib.lbroute_decision_header(
                router, self._c, len(found), name, _HEADER_BYTES, length,
                value, _HEADER_BYTES, length)
            if code == _NOT_FOUND:
                return found
            check(code, "decision_header")
            found[text(name)] = text(value)

    def __repr__(self) -> str:
        if not self._c.target:
            return f"<Decision: none, {self.reason or 'waits'}>"
        state = "open" if self._open else "settled"
        return f"<Decision: {self.target_name!r} by {self.rule}, {state}>"


class Candidate(Snapshot):
    """How a target fared in a pick."""

    in_window: bool
    in_flight: int
    max_concurrency: int
    weight: float
    load: float
    relative_load: Optional[float]
    score: Optional[float]
    expected_cost_pusd: Optional[int]
    expected_ttft_ns: Optional[int]
    expected_total_ns: Optional[int]
    kv_state: KvState

    __slots__ = ("_router",)

    def __init__(self, router: Router, struct: Any, keep: Any) -> None:
        super().__init__(struct, keep)
        self._router = router

    @property
    def target(self) -> Target:
        """The candidate. NotFoundError when it is gone."""
        target = self._router._targets.get(self._c.target)
        if target is None:
            raise NotFoundError("candidate.target")
        return target

    @property
    def verdict(self) -> Optional[str]:
        """Why it was not eligible; None: it was."""
        return reason_name(self._c.verdict)


def candidates_of(router: Router, array: Any, count: int) -> list[Candidate]:
    """Candidates of an array that they keep alive."""
    return [Candidate(router, array + i, array) for i in range(count)]
