# SPDX-License-Identifier: MIT
"""Structs that the library fills, as objects to read.

A subclass of Snapshot names fields of a C struct and their Python types; the
values are read from the struct when they are asked for. Unknown, in C NaN or
-1, is None.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, Callable, ClassVar, Optional

from . import _codes
from ._codes import Admission, Cause, KvOutcome, KvState, Work
from ._errors import check
from ._lbroute import ffi, lib


def _known_int(value: int) -> Optional[int]:
    return None if value == -1 else value


def _known_float(value: float) -> Optional[float]:
    return None if math.isnan(value) else value


def _known_bool(value: int) -> Optional[bool]:
    return None if value == -1 else bool(value)


def _same(value: Any) -> Any:
    return value


def by_name(names: type[IntEnum], known: Callable[[Any], Any] = _same
            ) -> Callable[[Any], dict[str, Any]]:
    """Reads an array that an enumeration counts through, by names in lower
    case."""
    members = [(member.name.lower(), int(member)) for member in names
               if member >= 0]
    return lambda array: {name: known(array[code]) for name, code in members}


def reasons(array: Any) -> dict[str, int]:
    """Reads counts by reject reason; those that are 0 are left out."""
    return {name: array[code] for code, name in enumerate(_codes.REASONS)
            if code and array[code]}


_READERS: dict[str, Callable[[Any], Any]] = {
    "int": _same,
    "float": _same,
    "bool": bool,
    "str": _codes.text,
    "Optional[int]": _known_int,
    "Optional[float]": _known_float,
    "Optional[bool]": _known_bool,
    "KvState": KvState,
    "KvOutcome": KvOutcome,
    "Cause": Cause,
    "Admission": Admission,
}


class Snapshot:
    """A copy of what the library said; later calls do not change it."""

    __slots__ = ("_c", "_keep")

    #: Fields whose types do not say how they are read.
    _special: ClassVar[dict[str, Callable[[Any], Any]]] = {}
    _fields: ClassVar[dict[str, Callable[[Any], Any]]] = {}

    def __init_subclass__(cls) -> None:
        cls._fields = {
            name: cls._special.get(name) or _READERS[kind]
            for name, kind in cls.__annotations__.items()
            if not name.startswith("_")
        }

    def __init__(self, struct: Any, keep: Any = None) -> None:
        self._c = struct
        self._keep = keep

    def __getattr__(self, name: str) -> Any:
        reader = self._fields.get(name)
        if reader is None:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}")
        return reader(getattr(self._c, name))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def as_dict(self) -> dict[str, Any]:
        """All fields by name."""
        return {name: getattr(self, name) for name in self._fields}

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}"
                           for name, value in self.as_dict().items())
        return f"{type(self).__name__}({fields})"


def prepared(struct: str) -> Any:
    """A new struct with its defaults."""
    pointer = ffi.new(struct + " *")
    getattr(lib, struct + "_init")(pointer, ffi.sizeof(pointer[0]))
    return pointer


def prepared_array(struct: str, count: int) -> Any:
    """An array of structs with their defaults."""
    array = ffi.new(struct + "[]", count)
    init = getattr(lib, struct + "_init")
    size = ffi.sizeof(struct)
    for i in range(count):
        init(array + i, size)
    return array


class Parameter(Snapshot):
    """A parameter that pools have."""

    name: str
    text: str
    default_value: float
    minimum: float
    maximum: float


class RouterStats(Snapshot):
    """Counts of a router."""

    picks: int
    rejections: dict[str, int]
    settled: dict[str, int]
    expired: int
    open_tickets: int
    orphan_tickets: int
    sessions: int
    pools: int
    targets: int
    memory_bytes: int
    allocations: int
    prices: int
    kv_blocks: int
    kv_contents: int
    kv_sources: int
    kv_evicted: int
    waiting: int
    waiting_bytes: int
    places: int
    queued: int
    queue_served: int
    queue_timeouts: int
    queue_cancelled: int
    queue_refused: int

    _special = {"rejections": reasons, "settled": by_name(_codes.Event)}


class PoolStats(Snapshot):
    """Capacity of a pool."""

    mode: Admission
    busy: bool
    mode_changes: int
    arrivals: Optional[float]
    in_flight: int
    limit: int
    waiting: int
    slot_gap_ns: Optional[float]
    queued: int
    queue_served: int
    queue_timeouts: int
    queue_cancelled: int
    queue_refused: int


class TargetStats(Snapshot):
    """Counts and state of a target."""

    picks: int
    settled: dict[str, int]
    expired: int
    in_flight: int
    failures_in_row: int
    benches_in_row: int
    benched: bool
    on_trial: bool
    bench_left_ns: int
    weight: float
    load: float
    others: float
    gauges: dict[str, Optional[float]]
    gauge_age_ns: dict[str, Optional[int]]
    prefix_bytes: int
    prefix_blocks: int
    prefix_evicted: int
    occupancy: Optional[float]
    occupancy_age_ns: Optional[int]
    cache_available: Optional[bool]
    cache_stale: bool
    max_adapters: Optional[int]
    adapters: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    pending_tokens: int
    pending_requests: int
    kv_state: KvState
    kv_blocks: int
    kv_age_ns: Optional[int]
    retry_left_ns: int
    limit: int

    _special = {
        "settled": by_name(_codes.Event),
        "gauges": by_name(_codes.Gauge, _known_float),
        "gauge_age_ns": by_name(_codes.Gauge, _known_int),
    }


class LatencyModel(Snapshot):
    """What was learned of a target's latency."""

    samples: int
    known: bool
    base_ns: Optional[float]
    per_queue_ns: Optional[float]
    per_input_ns: Optional[float]
    residual: Optional[float]
    ewma_ns: Optional[float]
    age_ns: Optional[int]
    queue: float
    least_ns: Optional[float]


class WorkModel(Snapshot):
    """What `least_work` goes by at a target; parts of the two kinds by name:
    first_token, each_token."""

    samples: dict[str, int]
    known: dict[str, bool]
    base_ns: dict[str, Optional[float]]
    per_running_ns: dict[str, Optional[float]]
    per_kilotoken_ns: dict[str, Optional[float]]
    least_ns: dict[str, Optional[float]]
    slowness: dict[str, float]
    measured: dict[str, float]
    evidence: dict[str, float]
    spread: dict[str, Optional[float]]
    output_tokens: Optional[float]
    input_kilotokens: Optional[float]
    gone: Optional[float]
    eviction: float
    sharing_ns: float
    pending_kilotokens: float
    running: float
    late_ns: float

    _special = {
        "samples": by_name(Work),
        "known": by_name(Work, bool),
        "base_ns": by_name(Work, _known_float),
        "per_running_ns": by_name(Work, _known_float),
        "per_kilotoken_ns": by_name(Work, _known_float),
        "least_ns": by_name(Work, _known_float),
        "slowness": by_name(Work),
        "measured": by_name(Work),
        "evidence": by_name(Work),
        "spread": by_name(Work, _known_float),
    }


class ClientShare(Snapshot):
    """What a target remembers on behalf of a client under `kv_aware`."""

    client: int
    blocks: float
    share: float
    evicted: int
    idle_ns: int


class Share(Snapshot):
    """Share of a target in its pool's traffic; `target` is its handle."""

    target: int
    requests: int
    configured: float
    dispatched: Optional[float]
    drift: Optional[float]
    flagged: bool
    causes: Cause


class ScorerStats(Snapshot):
    """Settings and counts of a scorer."""

    name: str
    weight: float
    calls: int
    errors: int
    not_finite: int


class KvSourceStats(Snapshot):
    """State and counts of a source of KV events."""

    state: KvState
    block_size: int
    age_ns: Optional[int]
    next_seq: int
    missing: int
    first_missing: int
    last_missing: int
    blocks: dict[str, int]
    waiting: int
    aside: int
    batches: int
    duplicates: int
    gaps: int
    restarts: int
    clears: int
    stored: int
    removed: int
    evicted: int
    reasons: dict[str, int]

    _special = {
        "blocks": by_name(_codes.Medium),
        "reasons": by_name(_codes.KvReason),
    }


class Diag(Snapshot):
    """What became of a text or a payload."""

    accepted: int
    skipped: int
    broken: int
    offset: Optional[int]
    line: Optional[int]
    reasons: dict[str, int]

    _special = {"reasons": by_name(_codes.DiagReason)}


class KvResult(Snapshot):
    """What became of a batch of KV events; `diag` tells of its payload."""

    outcome: KvOutcome
    state: KvState
    missing: int
    first_missing: int
    last_missing: int
    stored: int
    removed: int
    reasons: dict[str, int]

    _special = {
        "reasons": by_name(_codes.KvReason),
    }

    @property
    def diag(self) -> Optional[Diag]:
        """What became of the payload's events; None: they were not in one."""
        return None if self._keep is None else Diag(self._keep)


class RestoreResult(Snapshot):
    """What a router took over from a snapshot, and what it left out."""

    targets: int
    targets_unknown: int
    targets_kept: int
    sections_skipped: int
    same_key: bool
    prefix_bytes: int
    prefix_bytes_skipped: int
    sessions: int
    sessions_skipped: int
    kv_sources: int
    kv_sources_skipped: int
    kv_blocks: int
    kv_blocks_skipped: int
    prices: int
    prices_skipped: int


class DeltaResult(Snapshot):
    """What a router took over from a delta, and what it left out."""

    origin: int
    sequence: int
    missing: int
    own: bool
    repeated: bool
    overtaken: bool
    same_key: bool
    sections_skipped: int
    targets: int
    targets_unknown: int
    prompts: int
    prompts_skipped: int
    sessions: int
    sessions_skipped: int


class DeltaStats(Snapshot):
    """Counts of deltas between routers."""

    origin: int
    exported: int
    pending: int
    dropped: int
    applied: int
    repeated: int
    peers: int


def parameters() -> list[Parameter]:
    """The parameters that pools have."""
    found: list[Parameter] = []
    while True:
        info = prepared("lbroute_param_info")
        if lib.lbroute_param_get_info(len(found), info) != lib.LBROUTE_OK:
            return found
        found.append(Parameter(info))


def rows(struct: str, read: Callable[[Any, int, Any], int]
         ) -> list[tuple[Any, Any]]:
    """Rows of a list of which the library tells the length: each with the
    array that holds it."""
    count = ffi.new("size_t *")
    check(read(ffi.NULL, 0, count), struct)
    while True:
        room = count[0]
        array = prepared_array(struct, room)
        check(read(array, room, count), struct)
        if count[0] <= room:
            return [(array[i], array) for i in range(count[0])]
