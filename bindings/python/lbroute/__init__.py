# SPDX-License-Identifier: MIT
"""lbroute picks, for every LLM request, the inference server that should handle
it, and learns from how the request went.

    router = lbroute.Router()
    pool = router.add_pool("chat", "cache_aware")
    pool.add_target("gpu-0")
    with pool.pick(prompt=prompt, session=session) as decision:
        send(decision.target_name, ...)

See docs/python.md.
"""

from ._codes import (REASONS, RULES, STRATEGIES, Admission, Cause, DiagReason,
                     Event, Gauge, KvKind, KvOutcome, KvReason, KvState,
                     Latency, Medium, Work, text as _text)
from ._decision import Candidate, Decision
from ._errors import (BadNameError, BusyError, Error, ExistsError, FormatError,
                      InvalidError, LimitError, NoMemoryError, NoNewsError,
                      NotFoundError, NoTargetError, PickError, Queued,
                      RangeError, SaturatedError, TooSmallError,
                      UnsupportedError)
from ._kv import KvEvent, fold_key
from ._lbroute import lib as _lib
from ._pool import Parameters, Pool
from ._prices import Price, Prices, PriceTier
from ._request import Numbers, RequestFields, Text, hash_blocks
from ._router import Explanation, Router
from ._scorer import Score, Scorer, ScoreRequest
from ._structs import (ClientShare, DeltaResult, DeltaStats, Diag, KvResult, KvSourceStats,
                       LatencyModel, Parameter, PoolStats, RestoreResult,
                       RouterStats, ScorerStats, Share, TargetStats,
                       WorkModel, parameters)
from ._target import Target
from ._waiting import PendingPick, Place

__version__ = _text(_lib.lbroute_version())

__all__ = [
    "Admission", "BadNameError", "BusyError", "Candidate", "Cause",
    "ClientShare", "Decision", "DeltaResult", "DeltaStats", "Diag", "DiagReason", "Error", "Event",
    "ExistsError", "Explanation", "FormatError", "Gauge", "InvalidError",
    "KvEvent", "KvKind", "KvOutcome", "KvReason", "KvResult", "KvSourceStats",
    "KvState", "Latency", "LatencyModel", "LimitError", "Medium",
    "NoMemoryError", "NoNewsError", "NoTargetError", "NotFoundError",
    "Numbers", "Parameter", "Parameters", "PendingPick", "PickError", "Place",
    "Pool", "PoolStats", "Price", "PriceTier", "Prices", "Queued", "REASONS",
    "RULES", "RangeError", "RequestFields", "RestoreResult", "Router",
    "RouterStats", "STRATEGIES", "SaturatedError", "Score", "ScoreRequest", "Scorer",
    "ScorerStats", "Share", "Target", "TargetStats", "Text", "TooSmallError",
    "UnsupportedError", "Work", "WorkModel", "fold_key", "hash_blocks", "parameters",
]
