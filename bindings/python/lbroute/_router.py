# SPDX-License-Identifier: MIT
"""The router: pools, targets, picks, and those who wait."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
import weakref
from typing import (TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping,
                    Optional, Union)

from . import _structs
from ._codes import Event
from ._decision import (Candidate, Decision, candidates_of, new_struct,
                        outcome_of)
from ._errors import (Error, NotFoundError, Queued, RangeError, check, error,
                      pick_error)
from ._lbroute import ffi, lib
from ._pool import Pool, add_pool
from ._prices import Prices
from ._request import RequestFields, Text, as_bytes, as_name, fill
from ._target import Target, add_target
from ._waiting import PendingPick, Place

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._scorer import Scorer

_OK = lib.LBROUTE_OK
_QUEUED = lib.LBROUTE_ERR_QUEUED
_pick = lib.lbrpy_pick
_pick_request = lib.lbrpy_pick_request
_TOO_SMALL = lib.LBROUTE_ERR_BUFFER
_NEVER = 2**64 - 1
_LONGEST_S = 2**64 / 1e9
#: Bytes that a delta gets, if it is not told otherwise.
_DELTA_ROOM = 1 << 20
#: A snapshot gets this part of its length more room: other threads go on.
_GROWTH = 16
_uncleared = ffi.new_allocator(should_clear_after_alloc=False)
#: Candidates for which explain() makes room at first.
_CANDIDATES = 64
#: Results of lbroute_next_ready() after which all wait on.
_WAIT_ON = frozenset((lib.LBROUTE_ERR_NOT_FOUND, lib.LBROUTE_ERR_LIMIT,
                      lib.LBROUTE_ERR_NO_MEMORY, lib.LBROUTE_ERR_BUSY))
#: Where nobody can go although the time has come, seconds to the next try.
_RETRY_S = 0.001


class Explanation:
    """What a pick would have answered, with every candidate's verdict.

    `error` is what it would have raised, `decision` has no ticket.
    """

    __slots__ = ("decision", "candidates", "error")

    def __init__(self, decision: Decision, candidates: list[Candidate],
                 failure: Optional[Error]) -> None:
        self.decision = decision
        self.candidates = candidates
        self.error = failure

    def __repr__(self) -> str:
        return (f"<Explanation: {self.decision!r} of "
                f"{len(self.candidates)} candidates>")


class Router:
    """Pools of targets, and all that was learned of them. Any number of threads
    and event loops may use one.

    `clock` gives the time in nanoseconds wherever `now` is not given; with one
    that is not the machine's call tick() for those who wait. `seed` is drawn
    anew if it is not given: routers that share one make the same choices.
    `outcomes` says what exceptions mean that leave a `with` block, besides the
    built-in rules. `ticket_ttl` and `peer_ttl` are in seconds. The others
    are numbers, with the names and defaults of `lbroute_router_options`.
    """

    def __init__(self, *, seed: Optional[int] = None,
                 clock: Callable[[], int] = time.monotonic_ns,
                 outcomes: Optional[Mapping[type[BaseException], Event]] = None,
                 digest_key: Optional[bytes] = None,
                 ticket_ttl: Optional[float] = None,
                 header_prefix: Optional[Text] = None,
                 single_threaded: bool = False,
                 max_pools: Optional[int] = None,
                 max_targets: Optional[int] = None,
                 max_tickets: Optional[int] = None,
                 max_sessions: Optional[int] = None,
                 max_scorers: Optional[int] = None,
                 max_prices: Optional[int] = None,
                 max_kv_blocks: Optional[int] = None,
                 max_kv_sources: Optional[int] = None,
                 max_waiting: Optional[int] = None,
                 max_waiting_bytes: Optional[int] = None,
                 origin: Optional[int] = None,
                 max_delta_bytes: Optional[int] = None,
                 peer_ttl: Optional[float] = None,
                 max_peers: Optional[int] = None) -> None:
        options = _structs.prepared("lbroute_router_options")
        options.seed = seed if seed is not None else 1 + secrets.randbits(63)
        bounds = {
            "max_pools": max_pools, "max_targets": max_targets,
            "max_tickets": max_tickets, "max_sessions": max_sessions,
            "max_scorers": max_scorers, "max_prices": max_prices,
            "max_kv_blocks": max_kv_blocks, "max_kv_sources": max_kv_sources,
            "max_waiting": max_waiting, "max_waiting_bytes": max_waiting_bytes,
            "origin": origin, "max_delta_bytes": max_delta_bytes,
            "max_peers": max_peers,
        }
        for name, bound in bounds.items():
            if bound is not None:
                setattr(options, name, bound)
        options.single_threaded = single_threaded
        if ticket_ttl is not None:
            options.ticket_ttl = round(ticket_ttl * 1e9)
        if peer_ttl is not None:
            options.peer_ttl = round(peer_ttl * 1e9)
        if digest_key is not None:
            options.digest_key = digest_key
        if header_prefix is not None:
            self._prefix = ffi.from_buffer(as_name(header_prefix))
            options.header_prefix = self._prefix
            options.header_prefix_len = len(self._prefix)
        self._options = options
        created = ffi.new("lbroute_router **")
        check(lib.lbroute_router_create(options, created), "router")
        self._c = ffi.gc(created[0], lib.lbroute_router_destroy)
        self._clock = clock
        self._outcomes = dict(outcomes or {})
        self._pools: dict[int, Pool] = {}
        self._targets: dict[int, Target] = {}
        self._scorers: dict[int, Scorer] = {}
        self._lock = threading.RLock()
        # Under the lock: those who wait, by their places, and those whose turn
        # came before the thread that asked knew its place.
        self._places: dict[int, Callable[[], Optional[Place]]] = {}
        self._early: dict[int, tuple[int, Decision]] = {}
        # Event loops in which somebody waits, each with its timer.
        self._loops: dict[asyncio.AbstractEventLoop,
                          Optional[asyncio.TimerHandle]] = {}
        self._alarm = _NEVER

    # Pools and targets.

    def add_pool(self, name: Text, strategy: Text = "weighted",
                 parameters: Optional[Mapping[str, float]] = None) -> Pool:
        """Adds a pool without targets. ExistsError when the name is taken."""
        return add_pool(self, name, strategy, parameters or {})

    def add_target(self, name: Text, *, pool: Optional[Pool] = None,
                   weight: Optional[float] = None,
                   max_concurrency: Optional[int] = None,
                   max_input_tokens: Optional[int] = None,
                   tier: Text = "", model: Text = "", price_key: Text = "",
                   user: Any = None, now: Optional[int] = None) -> Target:
        """Adds a target; without a pool it is reached by its model only. `user`
        is anything, and stays on the target. ExistsError when the name is
        taken."""
        return add_target(
            self, name, user, now,
            {"pool": 0 if pool is None else pool.handle, "weight": weight,
             "max_concurrency": max_concurrency,
             "max_input_tokens": max_input_tokens, "tier": tier,
             "model": model, "price_key": price_key})

    @property
    def pools(self) -> dict[str, Pool]:
        """The pools by name."""
        return {pool.name: pool for pool in list(self._pools.values())}

    @property
    def targets(self) -> dict[str, Target]:
        """The targets of all pools by name."""
        return {target.name: target for target in list(self._targets.values())}

    # Picking.

    def pick(self, pool: Optional[Pool] = None, *,
             model: Optional[Text] = None, session: Optional[Text] = None,
             client: Optional[Text] = None, prompt: Optional[Text] = None,
             input_tokens: Optional[int] = None,
             exclude: Iterable[Target] = (),
             now: Optional[int] = None,
             **fields: Unpack[RequestFields]) -> Decision:
        """Picks the target for a request and takes a slot on it.

        Use the decision in a `with` block, or settle it by its methods. Raises
        NoTargetError, SaturatedError or Queued (all of them PickErrors).
        """
        if now is None:
            now = self._clock()
        handle = 0 if pool is None else pool.handle
        if fields:
            request, keep = fill(handle, {
                "model": model, "session": session, "client": client,
                "prompt": prompt, "input_tokens": input_tokens,
                "exclude": exclude}, fields)
            decision = new_struct()
            code = _pick_request(self._c, request, now, decision)
            del keep
        else:
            prompt = b"" if prompt is None else as_bytes(prompt)
            model = b"" if model is None else as_bytes(model)
            session = b"" if session is None else as_bytes(session)
            client = b"" if client is None else as_bytes(client)
            tried = [target.handle for target in exclude] if exclude else ()
            decision = new_struct()
            code = _pick(self._c, handle, now, model, len(model), session,
                         len(session), client, len(client), prompt, len(prompt),
                         -1 if input_tokens is None else input_tokens, tried,
                         len(tried), decision)
        if code == _OK:
            return Decision(self, decision, True)
        raise self._failed(code, decision, now)

    def pick_async(self, pool: Optional[Pool] = None, *,
                   model: Optional[Text] = None,
                   session: Optional[Text] = None,
                   client: Optional[Text] = None,
                   prompt: Optional[Text] = None,
                   input_tokens: Optional[int] = None,
                   exclude: Iterable[Target] = (),
                   now: Optional[int] = None, **fields: Unpack[RequestFields]
                   ) -> PendingPick:
        """As pick(), to be awaited or entered by `async with`: where the pool
        has a queue it waits for a slot, without a thread. Cancelling the task
        gives the request up."""
        return PendingPick(self, 0 if pool is None else pool.handle, {
            **fields, "model": model, "session": session, "client": client,
            "prompt": prompt, "input_tokens": input_tokens,
            "exclude": exclude, "now": now})

    def explain(self, pool: Optional[Pool] = None, *,
                model: Optional[Text] = None, session: Optional[Text] = None,
                client: Optional[Text] = None, prompt: Optional[Text] = None,
                input_tokens: Optional[int] = None,
                exclude: Iterable[Target] = (),
                now: Optional[int] = None, **fields: Unpack[RequestFields]
                ) -> Explanation:
        """The answer that pick() would give now; changes nothing."""
        request, keep = fill(0 if pool is None else pool.handle, {
            "model": model, "session": session, "client": client,
            "prompt": prompt, "input_tokens": input_tokens,
            "exclude": exclude}, fields)
        if now is None:
            now = self._clock()
        decision = _structs.prepared("lbroute_decision")
        count = ffi.new("size_t *", _CANDIDATES)
        room = 0
        while room < count[0]:
            room = count[0]
            array = _structs.prepared_array("lbroute_candidate", room)
            code = lib.lbroute_explain(self._c, request, now, decision, array,
                                       room, count)
        del keep
        answer = Decision(self, decision, False)
        failure: Optional[Error] = None
        if code == _QUEUED:
            failure = Error("explain", code)
        elif code != _OK:
            failure = pick_error(code, "explain", answer)
            if not hasattr(failure, "decision"):
                raise failure
        return Explanation(answer, candidates_of(self, array, count[0]),
                           failure)

    def _failed(self, code: int, struct: Any, now: int) -> Error:
        decision = Decision(self, struct, False)
        if code != _QUEUED:
            return pick_error(code, "pick", decision)
        place = Place(self, decision.place)
        with self._lock:
            early = self._early.pop(place.handle, None)
            if early is None:
                self._places[place.handle] = weakref.ref(place)
            else:
                place._end(*early)
        self._serve(now)
        return Queued("pick", decision, place)

    def _try(self, pool: int, fields: dict[str, Any]
             ) -> Union[Decision, Error]:
        """A pick that returns its exception."""
        now = fields.pop("now")
        if now is None:
            now = self._clock()
        request, keep = fill(pool, {}, fields)
        decision = new_struct()
        code = _pick_request(self._c, request, now, decision)
        del keep
        if code == _OK:
            return Decision(self, decision, True)
        return self._failed(code, decision, now)

    def _outcome(self, kind: type[BaseException]) -> Event:
        for base in kind.__mro__:
            event = self._outcomes.get(base)
            if event is not None:
                return event
        return outcome_of(kind)

    # Those who wait.

    def _serve(self, now: Optional[int] = None) -> None:
        """Hands out what can go now."""
        now = self._clock() if now is None else now
        with self._lock:
            while self._next(now):
                pass
            self._set_alarm()

    def _next(self, now: int) -> bool:
        struct = _structs.prepared("lbroute_decision")
        code = lib.lbroute_next_ready(self._c, now, struct)
        if code in _WAIT_ON:
            return False
        if not struct.place:
            raise error(code, "next_ready")
        decision = Decision(self, struct, code == _OK)
        reference = self._places.pop(struct.place, None)
        if reference is None:
            self._early[struct.place] = (code, decision)
            return True
        place = reference()
        if place is not None:
            place._end(code, decision)
        return True

    def _give_up(self, place: Place, now: Optional[int]) -> bool:
        with self._lock:
            reference = self._places.pop(place.handle, None)
            if reference is not None:
                now = self._clock() if now is None else now
                code = lib.lbroute_place_cancel(self._c, place.handle, now)
                place._code = code
                self._set_alarm()
                return bool(code == _OK)
            decision, place._decision = place._decision, None
        return decision is not None and decision.cancel(now=now)

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Serves those who wait in an event loop, called from there."""
        with self._lock:
            self._loops.setdefault(loop, None)
        self._set_timer(loop)

    def _set_alarm(self) -> None:
        """After a change: timers that have become too late are set anew, and
        ended where nobody waits."""
        if not self._loops:
            return
        if self._places:
            deadline = lib.lbroute_next_deadline(self._c)
            if deadline >= self._alarm:
                return
            self._alarm = deadline
        running = asyncio._get_running_loop()
        for loop in list(self._loops):
            if loop is running:
                self._set_timer(loop)
                continue
            try:
                loop.call_soon_threadsafe(self._set_timer, loop)
            except RuntimeError:  # closed
                self._loops.pop(loop, None)

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            timer = self._loops.get(loop)
            if timer is not None:
                timer.cancel()
            if not self._places:
                self._loops.pop(loop, None)
                self._alarm = _NEVER
                return
            self._alarm = lib.lbroute_next_deadline(self._c)
            self._loops[loop] = None
            if self._alarm != _NEVER:
                delay = (self._alarm - self._clock()) / 1e9
                self._loops[loop] = loop.call_later(
                    max(delay, _RETRY_S), self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._serve()
        self._set_timer(loop)

    def _changed(self, now: Optional[int] = None) -> None:
        """After a call that may have made room."""
        if self._places:
            self._serve(now)

    def tick(self, now: Optional[int] = None) -> None:
        """Lets time pass: for hosts that idle, and clocks of their own."""
        now = self._clock() if now is None else now
        check(lib.lbroute_tick(self._c, now), "tick")
        self._changed(now)

    @property
    def next_deadline(self) -> Optional[int]:
        """The time at which tick() has something to do; None: never."""
        deadline = lib.lbroute_next_deadline(self._c)
        return None if deadline == _NEVER else int(deadline)

    # What was learned, from one process to the next.

    def snapshot(self, now: Optional[int] = None) -> bytes:
        """What the router has learned, for restore() in another one. It may
        hold parts of prompts: keep it as you keep those."""
        now = self._clock() if now is None else now
        length = ffi.new("size_t *")
        code = lib.lbroute_snapshot(self._c, now, ffi.NULL, 0, length)
        while code == _TOO_SMALL:
            room = length[0] + length[0] // _GROWTH
            buffer = _uncleared("char[]", room)
            code = lib.lbroute_snapshot(self._c, now, buffer, room, length)
        check(code, "snapshot")
        return bytes(ffi.buffer(buffer, length[0]))

    def restore(self, snapshot: Union[bytes, bytearray, memoryview],
                elapsed: float = 0.0, now: Optional[int] = None
                ) -> _structs.RestoreResult:
        """Takes over what a snapshot says of the targets that there are, best
        before the first pick. `elapsed`: how many seconds ago it was made.
        FormatError when it is none, or damaged."""
        if not 0 <= elapsed < _LONGEST_S:
            raise RangeError("restore")
        data = ffi.from_buffer(snapshot)
        now = self._clock() if now is None else now
        result = _structs.prepared("lbroute_restore_result")
        check(lib.lbroute_restore(self._c, data, len(data), now,
                                  round(elapsed * 1e9), result), "restore")
        return _structs.RestoreResult(result)

    # Several routers in front of the same targets.

    def delta_export(self, room: int = _DELTA_ROOM,
                     now: Optional[int] = None) -> bytes:
        """What other routers should know since the last call: the load that
        this one causes, and as many of its prompts and sessions as go into
        `room` bytes. Call it every 5 to 500 ms. It may hold parts of prompts:
        keep it as you keep those."""
        now = self._clock() if now is None else now
        length = ffi.new("size_t *")
        while True:
            buffer = _uncleared("char[]", room)
            code = lib.lbroute_delta_export(self._c, now, buffer, room, length)
            if code != _TOO_SMALL:
                break
            room = length[0]
        check(code, "delta_export")
        return bytes(ffi.buffer(buffer, length[0]))

    def delta_apply(self, delta: Union[bytes, bytearray, memoryview],
                    elapsed: float = 0.0, now: Optional[int] = None
                    ) -> _structs.DeltaResult:
        """Takes over what another router said, in whatever order, and once if
        it comes twice. `elapsed`: how many seconds ago it was written, as far
        as known. FormatError when it is no delta, or damaged."""
        if not 0 <= elapsed < _LONGEST_S:
            raise RangeError("delta_apply")
        data = ffi.from_buffer(delta)
        now = self._clock() if now is None else now
        result = _structs.prepared("lbroute_delta_result")
        check(lib.lbroute_delta_apply(self._c, data, len(data), now,
                                      round(elapsed * 1e9), result),
              "delta_apply")
        return _structs.DeltaResult(result)

    def delta_stats(self, now: Optional[int] = None) -> _structs.DeltaStats:
        """Counts of deltas, written and applied."""
        now = self._clock() if now is None else now
        stats = _structs.prepared("lbroute_delta_stats")
        check(lib.lbroute_get_delta_stats(self._c, now, stats),
              "get_delta_stats")
        return _structs.DeltaStats(stats)

    # The rest.

    @property
    def prices(self) -> Prices:
        """Prices by key, as a mapping to change."""
        return Prices(self)

    @property
    def adaptive(self) -> bool:
        """The switch of all `adaptive` pools; off, they are pipelines."""
        enabled = ffi.new("int *")
        check(lib.lbroute_get_adaptive(self._c, enabled), "get_adaptive")
        return bool(enabled[0])

    @adaptive.setter
    def adaptive(self, enabled: bool) -> None:
        check(lib.lbroute_set_adaptive(self._c, enabled), "set_adaptive")

    def client_digest(self, client: Text) -> int:
        """The keyed digest under which a client appears in reports."""
        data = as_bytes(client)
        digest = ffi.new("uint64_t *")
        check(lib.lbroute_client_digest(self._c, data, len(data), digest),
              "client_digest")
        return int(digest[0])

    def stats(self) -> _structs.RouterStats:
        """The counts of the router."""
        stats = _structs.prepared("lbroute_stats")
        check(lib.lbroute_get_stats(self._c, stats), "get_stats")
        return _structs.RouterStats(stats)

    def estimate(self) -> int:
        """Upper bound of the memory that it may take, in bytes; see
        lbroute_router_estimate()."""
        size = ffi.new("size_t *")
        check(lib.lbroute_router_estimate(self._options, size), "estimate")
        return int(size[0])

    def __getitem__(self, name: str) -> Pool:
        """A pool by name."""
        for pool in list(self._pools.values()):
            if pool.name == name:
                return pool
        raise NotFoundError(f"pool {name!r}")

    def __iter__(self) -> Iterator[Pool]:
        return iter(list(self._pools.values()))

    def __repr__(self) -> str:
        return (f"<Router: {len(self._pools)} pools, "
                f"{len(self._targets)} targets>")
