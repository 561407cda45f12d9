# SPDX-License-Identifier: MIT
"""The constants of the header, as enumerations and names."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any, Callable, Optional

from ._lbroute import ffi, lib


class Event(IntEnum):
    """What became of a request."""

    FIRST_TOKEN = lib.LBROUTE_EVENT_FIRST_TOKEN
    SUCCESS = lib.LBROUTE_EVENT_SUCCESS
    FAILURE = lib.LBROUTE_EVENT_FAILURE
    OVERLOAD = lib.LBROUTE_EVENT_OVERLOAD
    CLIENT_ERROR = lib.LBROUTE_EVENT_CLIENT_ERROR
    CANCEL = lib.LBROUTE_EVENT_CANCEL
    TIMEOUT = lib.LBROUTE_EVENT_TIMEOUT


class Gauge(IntEnum):
    """What can be reported of an engine."""

    RUNNING = lib.LBROUTE_GAUGE_RUNNING
    WAITING = lib.LBROUTE_GAUGE_WAITING
    KV_USAGE = lib.LBROUTE_GAUGE_KV_USAGE
    PREFIX_QUERIES = lib.LBROUTE_GAUGE_PREFIX_QUERIES
    PREFIX_HITS = lib.LBROUTE_GAUGE_PREFIX_HITS
    KV_BLOCKS = lib.LBROUTE_GAUGE_KV_BLOCKS
    BLOCK_TOKENS = lib.LBROUTE_GAUGE_BLOCK_TOKENS


class Latency(IntEnum):
    """Which latency of a target is meant."""

    FIRST_TOKEN = lib.LBROUTE_LATENCY_FIRST_TOKEN
    TOTAL = lib.LBROUTE_LATENCY_TOTAL


class Work(IntEnum):
    """What a part of a WorkModel is about."""

    FIRST_TOKEN = lib.LBROUTE_WORK_FIRST_TOKEN
    EACH_TOKEN = lib.LBROUTE_WORK_EACH_TOKEN


class Admission(IntEnum):
    """Values of the parameter `admission.mode`."""

    MAX_CONCURRENCY = lib.LBROUTE_ADMISSION_MAX_CONCURRENCY
    SUPERFAST = lib.LBROUTE_ADMISSION_SUPERFAST
    HYBRID = lib.LBROUTE_ADMISSION_HYBRID
    QUEUE_ALL = lib.LBROUTE_ADMISSION_QUEUE_ALL


class Medium(IntEnum):
    """Where a block of a KV cache is kept."""

    ANY = lib.LBROUTE_MEDIUM_ANY
    GPU = lib.LBROUTE_MEDIUM_GPU
    HOST = lib.LBROUTE_MEDIUM_HOST
    DISK = lib.LBROUTE_MEDIUM_DISK


class KvKind(IntEnum):
    """Kinds of KV event."""

    STORED = lib.LBROUTE_KV_STORED
    REMOVED = lib.LBROUTE_KV_REMOVED
    CLEARED = lib.LBROUTE_KV_CLEARED


class KvOutcome(IntEnum):
    """What became of a batch of KV events."""

    APPLIED = lib.LBROUTE_KV_APPLIED
    PARTIAL = lib.LBROUTE_KV_PARTIAL
    DUPLICATE = lib.LBROUTE_KV_DUPLICATE
    GAP = lib.LBROUTE_KV_GAP
    RESTARTED = lib.LBROUTE_KV_RESTARTED
    REPLAY_END = lib.LBROUTE_KV_REPLAY_END


class KvState(IntEnum):
    """What the word of a source of KV events is worth."""

    NONE = lib.LBROUTE_KV_SOURCE_NONE
    FRESH = lib.LBROUTE_KV_SOURCE_FRESH
    GAP = lib.LBROUTE_KV_SOURCE_GAP
    STALE = lib.LBROUTE_KV_SOURCE_STALE
    RESTARTED = lib.LBROUTE_KV_SOURCE_RESTARTED


class KvReason(IntEnum):
    """Why a part of a batch was not taken over as it stands."""

    EVENT = lib.LBROUTE_KV_REASON_EVENT
    TOKENS = lib.LBROUTE_KV_REASON_TOKENS
    WAITING = lib.LBROUTE_KV_REASON_WAITING
    UNKNOWN = lib.LBROUTE_KV_REASON_UNKNOWN
    OWN_PARENT = lib.LBROUTE_KV_REASON_OWN_PARENT
    RENAMED = lib.LBROUTE_KV_REASON_RENAMED
    FULL = lib.LBROUTE_KV_REASON_FULL
    BLOCK_SIZE = lib.LBROUTE_KV_REASON_BLOCK_SIZE


class DiagReason(IntEnum):
    """Why something in a text or payload was not used as it stands."""

    NAME = lib.LBROUTE_DIAG_NAME
    LABELS = lib.LBROUTE_DIAG_LABELS
    VALUE = lib.LBROUTE_DIAG_VALUE
    TIMESTAMP = lib.LBROUTE_DIAG_TIMESTAMP
    NOT_FINITE = lib.LBROUTE_DIAG_NOT_FINITE
    RANGE = lib.LBROUTE_DIAG_RANGE
    REPEATED = lib.LBROUTE_DIAG_REPEATED
    LIMIT = lib.LBROUTE_DIAG_LIMIT
    FORMAT = lib.LBROUTE_DIAG_FORMAT
    EVENT = lib.LBROUTE_DIAG_EVENT
    KIND = lib.LBROUTE_DIAG_KIND
    MEDIUM = lib.LBROUTE_DIAG_MEDIUM
    GROUP = lib.LBROUTE_DIAG_GROUP
    REMOTE = lib.LBROUTE_DIAG_REMOTE


class Cause(IntFlag):
    """What kept a target from its share of the traffic."""

    NONE = 0
    BENCHED = lib.LBROUTE_CAUSE_BENCHED
    FULL = lib.LBROUTE_CAUSE_FULL
    DRAINED = lib.LBROUTE_CAUSE_DRAINED


def text(pointer: Any) -> str:
    """A zero-terminated string of the library."""
    return str(ffi.string(pointer).decode("utf-8", "replace"))


def _names(count: int, name_of: Callable[[int], Any]) -> tuple[str, ...]:
    return tuple(text(name_of(code)) for code in range(count))


def _strategies() -> tuple[str, ...]:
    names: list[str] = []
    while (name := lib.lbroute_strategy_name(len(names))) != ffi.NULL:
        names.append(text(name))
    return tuple(names)


#: Names of reject reasons and rules by their codes, as they stand in headers.
REASONS = _names(lib.LBROUTE_REASON_COUNT, lib.lbroute_reason_name)
RULES = _names(lib.LBROUTE_RULE_COUNT, lib.lbroute_rule_name)

#: Names of the strategies that a pool may have.
STRATEGIES = _strategies()


def reason_name(code: int) -> Optional[str]:
    """Name of a reject reason; None: there is none."""
    return None if code == lib.LBROUTE_REASON_NONE else REASONS[code]
