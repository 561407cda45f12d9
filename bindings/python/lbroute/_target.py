# SPDX-License-Identifier: MIT
"""Targets: the servers that can take a request, and what they report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Optional, Union

from . import _structs
from ._codes import Gauge, Latency, text
from ._errors import check, error
from ._kv import KvEvent, batch_of
from ._lbroute import ffi, lib
from ._request import Text, as_bytes, as_name

if TYPE_CHECKING:
    from ._pool import Pool
    from ._router import Router

_ALL_SOURCES = 2**32 - 1
_NO_SEQ = 2**64 - 1


class Target:
    """A server. Made by add_target() of a pool or router; `user` is what that
    was given."""

    __slots__ = ("router", "handle", "name", "user", "__weakref__")

    def __init__(self, router: Router, handle: int, name: str,
                 user: Any) -> None:
        self.router = router
        self.handle = handle
        self.name = name
        self.user = user

    def _now(self, now: Optional[int]) -> int:
        return self.router._clock() if now is None else now

    # Settings.

    def _info(self) -> Any:
        info = _structs.prepared("lbroute_target_info")
        check(lib.lbroute_target_get_info(self.router._c, self.handle, info),
              f"target {self.name!r}")
        return info

    @property
    def pool(self) -> Optional[Pool]:
        """Its pool; None: it has none."""
        return self.router._pools.get(self._info().pool)

    @property
    def weight(self) -> float:
        """As configured; 0 drains. Another one may be assigned."""
        return float(self._info().weight)

    @weight.setter
    def weight(self, weight: float) -> None:
        self.set_weight(weight)

    def set_weight(self, weight: float, *, now: Optional[int] = None) -> None:
        """Changes the weight alone."""
        now = self._now(now)
        check(lib.lbroute_target_set_weight(self.router._c, self.handle,
                                            weight, now), "set_weight")
        self.router._changed(now)

    @property
    def max_concurrency(self) -> int:
        """Most requests in flight at once; 0: no limit."""
        return int(self._info().max_concurrency)

    @property
    def max_input_tokens(self) -> int:
        """Largest input it accepts; 0: no limit."""
        return int(self._info().max_input_tokens)

    @property
    def tier(self) -> str:
        """Its tier."""
        return text(self._info().tier)

    @property
    def model(self) -> str:
        """The model that it serves; empty: any, when asked by pool."""
        return text(self._info().model)

    @property
    def price_key(self) -> str:
        """Key of its price; empty: the model."""
        return text(self._info().price_key)

    @property
    def draining(self) -> bool:
        """Whether it was drained by call."""
        return bool(self._info().draining)

    def update(self, *, pool: Optional[Pool] = None,
               weight: Optional[float] = None,
               max_concurrency: Optional[int] = None,
               max_input_tokens: Optional[int] = None,
               tier: Optional[Text] = None, model: Optional[Text] = None,
               price_key: Optional[Text] = None,
               now: Optional[int] = None) -> None:
        """Changes what is given; requests in flight, health and all that was
        learned are kept."""
        info = self._info()
        options, _keep = _options({
            "name": self.name,
            "pool": info.pool if pool is None else pool.handle,
            "weight": info.weight if weight is None else weight,
            "max_concurrency": (info.max_concurrency if max_concurrency is None
                                else max_concurrency),
            "max_input_tokens": (info.max_input_tokens
                                 if max_input_tokens is None
                                 else max_input_tokens),
            "tier": ffi.string(info.tier) if tier is None else tier,
            "model": ffi.string(info.model) if model is None else model,
            "price_key": (ffi.string(info.price_key) if price_key is None
                          else price_key),
        })
        now = self._now(now)
        check(lib.lbroute_target_update(self.router._c, self.handle, options,
                                        now), f"target {self.name!r}")
        self.router._changed(now)

    def drain(self, draining: bool = True, *, now: Optional[int] = None
              ) -> None:
        """Gives it no new requests, or again some."""
        now = self._now(now)
        check(lib.lbroute_target_drain(self.router._c, self.handle, draining,
                                       now), "drain")
        self.router._changed(now)

    def bench(self, duration: float, *, now: Optional[int] = None) -> None:
        """Benches it for some seconds; 0 ends the bench and its trial."""
        now = self._now(now)
        check(lib.lbroute_target_bench(self.router._c, self.handle,
                                       round(duration * 1e9), now), "bench")
        self.router._changed(now)

    def remove(self) -> None:
        """Removes it and all that it owned. Open tickets can be settled."""
        check(lib.lbroute_target_remove(self.router._c, self.handle),
              f"target {self.name!r}")
        self.router._targets.pop(self.handle, None)
        self.router._changed()

    # Signals.

    def ingest_metrics(self, page: Text, *, now: Optional[int] = None
                       ) -> _structs.Diag:
        """Reads the whole page of its engine's metrics. NoNewsError when that
        holds nothing known."""
        data = as_bytes(page)
        diag = _structs.prepared("lbroute_diag")
        now = self._now(now)
        check(lib.lbroute_ingest_metrics(self.router._c, self.handle, data,
                                         len(data), now, diag), "metrics")
        self.router._changed(now)
        return _structs.Diag(diag)

    def set_gauges(self, *, running: Optional[float] = None,
                   waiting: Optional[float] = None,
                   kv_usage: Optional[float] = None,
                   prefix_queries: Optional[float] = None,
                   prefix_hits: Optional[float] = None,
                   kv_blocks: Optional[float] = None,
                   block_tokens: Optional[float] = None,
                   now: Optional[int] = None) -> None:
        """Reports figures of its engine as of one moment. NaN: unknown."""
        given = {Gauge.RUNNING: running, Gauge.WAITING: waiting,
                 Gauge.KV_USAGE: kv_usage,
                 Gauge.PREFIX_QUERIES: prefix_queries,
                 Gauge.PREFIX_HITS: prefix_hits, Gauge.KV_BLOCKS: kv_blocks,
                 Gauge.BLOCK_TOKENS: block_tokens}
        values = ffi.new("double[]", lib.LBROUTE_GAUGE_COUNT)
        bits = 0
        for gauge, value in given.items():
            if value is not None:
                values[gauge] = value
                bits |= 1 << gauge
        now = self._now(now)
        check(lib.lbroute_set_gauges(self.router._c, self.handle, values,
                                     len(values), bits, now), "set_gauges")
        self.router._changed(now)

    def set_adapters(self, names: Iterable[Text], *,
                     max_adapters: Optional[int] = None,
                     now: Optional[int] = None) -> None:
        """Says which LoRA adapters it holds: these and no others."""
        self._adapters(lib.lbroute_set_adapters, names, max_adapters, now)

    def note_adapters(self, names: Iterable[Text], *,
                      max_adapters: Optional[int] = None,
                      now: Optional[int] = None) -> None:
        """Says which adapters it was seen at work with."""
        self._adapters(lib.lbroute_note_adapters, names, max_adapters, now)

    def _adapters(self, call: Any, names: Iterable[Text],
                  max_adapters: Optional[int], now: Optional[int]) -> None:
        data = [ffi.from_buffer(as_name(name)) for name in names]
        check(call(self.router._c, self.handle,
                   ffi.new("char *[]", data),
                   ffi.new("size_t[]", [len(name) for name in data]),
                   len(data), -1 if max_adapters is None else max_adapters,
                   self._now(now)), "adapters")

    def set_occupancy(self, occupancy: float, *, available: bool = True,
                      now: Optional[int] = None) -> None:
        """Reports how full its offloaded KV cache is, 0 to 1; NaN: unknown."""
        check(lib.lbroute_set_occupancy(self.router._c, self.handle, occupancy,
                                        available, self._now(now)),
              "set_occupancy")

    # KV events.

    def ingest_kv_events(self, payload: Union[bytes, bytearray, memoryview],
                         *, seq: Optional[int] = None, source: int = 0,
                         now: Optional[int] = None) -> _structs.KvResult:
        """Reads a payload of KV events as its engine publishes it; `seq` is the
        number that came with it, `source` the rank. FormatError when it is
        none."""
        data = as_bytes(payload)
        result = _structs.prepared("lbroute_kv_result")
        diag = _structs.prepared("lbroute_diag")
        check(lib.lbroute_ingest_kv_events(
            self.router._c, self.handle, source,
            _NO_SEQ if seq is None else seq, data, len(data), self._now(now),
            result, diag), "kv_events")
        return _structs.KvResult(result, diag)

    def apply_kv_events(self, events: Iterable[KvEvent], *,
                        seq: Optional[int] = None,
                        timestamp: Optional[float] = None, source: int = 0,
                        more: bool = False, continued: bool = False,
                        now: Optional[int] = None) -> _structs.KvResult:
        """Takes over KV events that the host has decoded itself."""
        batch, _keep = batch_of(events, seq, timestamp, more, continued)
        result = _structs.prepared("lbroute_kv_result")
        check(lib.lbroute_kv_apply(self.router._c, self.handle, source, batch,
                                   self._now(now), result), "kv_apply")
        return _structs.KvResult(result)

    def clear_kv(self, source: Optional[int] = None, *,
                 now: Optional[int] = None) -> None:
        """Forgets what a source, or each, said, and takes its next batch for
        the first one."""
        check(lib.lbroute_kv_clear(
            self.router._c, self.handle,
            _ALL_SOURCES if source is None else source, self._now(now)),
            "kv_clear")

    def missing_kv(self, source: int = 0) -> Optional[tuple[int, int]]:
        """The first and the last number of the first hole in a source's
        batches; None: nothing is missing."""
        first, last = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        code = lib.lbroute_kv_missing(self.router._c, self.handle, source,
                                      first, last)
        if code == lib.LBROUTE_ERR_NOT_FOUND:
            return None
        check(code, "kv_missing")
        return first[0], last[0]

    def kv_sources(self, *, now: Optional[int] = None
                   ) -> dict[int, _structs.KvSourceStats]:
        """State and counts of its sources of KV events."""
        source = ffi.new("uint32_t *")
        previous, found = -1, {}
        now = self._now(now)
        while lib.lbroute_kv_source_next(self.router._c, self.handle, previous,
                                         source) == lib.LBROUTE_OK:
            previous = source[0]
            stats = _structs.prepared("lbroute_kv_source_stats")
            if lib.lbroute_get_kv_source_stats(
                    self.router._c, self.handle, previous, now,
                    stats) == lib.LBROUTE_OK:
                found[previous] = _structs.KvSourceStats(stats)
        return found

    # Statistics.

    def stats(self, *, now: Optional[int] = None) -> _structs.TargetStats:
        """Counts and state."""
        stats = _structs.prepared("lbroute_target_stats")
        check(lib.lbroute_get_target_stats(self.router._c, self.handle,
                                           self._now(now), stats),
              "get_target_stats")
        return _structs.TargetStats(stats)

    def latency_model(self, kind: Latency = Latency.FIRST_TOKEN, *,
                      now: Optional[int] = None) -> _structs.LatencyModel:
        """What was learned of its latency."""
        model = _structs.prepared("lbroute_latency_model")
        check(lib.lbroute_get_latency_model(self.router._c, self.handle, kind,
                                            self._now(now), model),
              "get_latency_model")
        return _structs.LatencyModel(model)

    def work_model(self, *, now: Optional[int] = None) -> _structs.WorkModel:
        """What `least_work` goes by at it."""
        model = _structs.prepared("lbroute_work_model")
        check(lib.lbroute_get_work_model(self.router._c, self.handle,
                                         self._now(now), model),
              "get_work_model")
        return _structs.WorkModel(model)

    def clients(self, *, now: Optional[int] = None
                ) -> dict[int, _structs.ClientShare]:
        """Who holds what of its memory of prompts under `kv_aware`, by
        Router.client_digest(); 0: requests without a client."""
        now = self._now(now)
        rows = _structs.rows(
            "lbroute_client_share",
            lambda array, room, count: lib.lbroute_target_clients(
                self.router._c, self.handle, now, array, room, count))
        return {row.client: _structs.ClientShare(row, keep)
                for row, keep in rows}

    def __repr__(self) -> str:
        return f"<Target {self.name!r}>"


def _options(settings: dict[str, Any]) -> tuple[Any, list[Any]]:
    options = _structs.prepared("lbroute_target_options")
    keep = []
    for name, value in settings.items():
        if value is None:
            continue
        if isinstance(value, (int, float)):
            setattr(options, name, value)
            continue
        data = ffi.from_buffer(as_name(value))
        keep.append(data)
        setattr(options, name, data)
        setattr(options, name + "_len", len(data))
    return options, keep


def add_target(router: Router, name: Text, user: Any, now: Optional[int],
               settings: dict[str, Any]) -> Target:
    """Adds a target."""
    options, _keep = _options({"name": name, **settings})
    now = router._clock() if now is None else now
    handle = ffi.new("lbroute_target *")
    code = lib.lbroute_target_add(router._c, options, now, handle)
    if code != lib.LBROUTE_OK:
        raise error(code, f"target {name!r}")
    target = Target(router, int(handle[0]),
                    as_name(name).decode("utf-8", "replace"), user)
    router._targets[target.handle] = target
    router._changed(now)
    return target
