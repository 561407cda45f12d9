# SPDX-License-Identifier: MIT
"""Pools, targets, parameters, prices; and that nothing of C is left out."""

import math

import pytest

import lbroute
from lbroute import _codes, _errors, _structs
from lbroute._lbroute import ffi, lib

SNAPSHOTS = {
    "lbroute_param_info": lbroute.Parameter,
    "lbroute_stats": lbroute.RouterStats,
    "lbroute_pool_stats": lbroute.PoolStats,
    "lbroute_target_stats": lbroute.TargetStats,
    "lbroute_latency_model": lbroute.LatencyModel,
    "lbroute_work_model": lbroute.WorkModel,
    "lbroute_client_share": lbroute.ClientShare,
    "lbroute_share": lbroute.Share,
    "lbroute_kv_source_stats": lbroute.KvSourceStats,
    "lbroute_kv_result": lbroute.KvResult,
    "lbroute_diag": lbroute.Diag,
    "lbroute_scorer_stats": lbroute.ScorerStats,
    "lbroute_candidate": lbroute.Candidate,
    "lbroute_restore_result": lbroute.RestoreResult,
    "lbroute_delta_result": lbroute.DeltaResult,
    "lbroute_delta_stats": lbroute.DeltaStats,
}
#: Fields that say how others are read, or are told by the object itself.
PLUMBING = {"size", "reserved0", "reserved1", "name_len", "pool", "kind"}


@pytest.mark.parametrize("struct", SNAPSHOTS)
def test_every_field_can_be_read(struct):
    fields = {name for name, _ in ffi.typeof(struct).fields} - PLUMBING
    kind = SNAPSHOTS[struct]
    known = set(kind._fields) | {name for name in vars(kind)
                                 if isinstance(vars(kind)[name], property)}
    missing = fields - known - {"kv_blocks"}
    assert not missing
    assert set(kind._fields) <= fields


def test_every_field_of_a_decision_can_be_read():
    fields = {name for name, _ in ffi.typeof("lbroute_decision").fields}
    hidden = {"size", "user", "reserved0", "reserved1", "reserved2",
              "target_name_len", "pool_name_len"}
    assert fields - hidden <= set(dir(lbroute.Decision))


def test_every_field_of_a_request_can_be_given():
    fields = {name for name, _ in ffi.typeof("lbroute_request").fields}
    given = set(lbroute._request._SETTERS)
    parts = {"size", "pool", "reserved0", "lookup_targets", "lookup_tokens",
             "mm_item_count"}
    lengths = {name + "_len" for name in given}
    assert fields - parts - lengths == given - {"lookup"}


@pytest.mark.parametrize("prefix, kind", [
    ("LBROUTE_EVENT_", lbroute.Event),
    ("LBROUTE_GAUGE_", lbroute.Gauge),
    ("LBROUTE_LATENCY_", lbroute.Latency),
    ("LBROUTE_WORK_", lbroute.Work),
    ("LBROUTE_ADMISSION_", lbroute.Admission),
    ("LBROUTE_MEDIUM_", lbroute.Medium),
    ("LBROUTE_KV_SOURCE_", lbroute.KvState),
    ("LBROUTE_KV_REASON_", lbroute.KvReason),
    ("LBROUTE_DIAG_", lbroute.DiagReason),
    ("LBROUTE_CAUSE_", lbroute.Cause),
])
def test_every_constant_has_a_name(prefix, kind):
    values = {name[len(prefix):]: getattr(lib, name) for name in dir(lib)
              if name.startswith(prefix) and not name.endswith("COUNT")}
    assert values == {name: int(member)
                      for name, member in kind.__members__.items()
                      if name in values}
    assert len(values) >= 2


def test_every_error_has_a_class():
    special = {lib.LBROUTE_ERR_NO_TARGET, lib.LBROUTE_ERR_SATURATED,
               lib.LBROUTE_ERR_QUEUED}
    assert set(_errors.NAMES) == set(_errors._CLASSES) | special
    assert _errors.NAMES[lib.LBROUTE_ERR_RANGE] == "LBROUTE_ERR_RANGE"


def test_every_function_is_used():
    """A function that is new in C stands out here."""
    import pathlib
    package = pathlib.Path(lbroute.__file__).parent
    text = "".join(path.read_text(encoding="utf-8")
                   for path in package.glob("*.py"))
    # One gauge alone, and walks and look-ups that Python objects make needless.
    needless = {"lbroute_set_gauge", "lbroute_observe", "lbroute_pool_find",
                "lbroute_pool_next", "lbroute_target_find",
                "lbroute_scorer_next", "lbroute_pick"}
    missing = [name for name in dir(lib)
               if name.startswith("lbroute_") and not name.endswith("_init")
               and name not in text and name not in needless]
    assert missing == []


def test_version():
    version = ffi.string(lib.LBROUTE_VERSION).decode()
    assert lbroute.__version__ == version
    assert version.split(".")[1] == str(lib.LBROUTE_VERSION_MINOR)


def test_strategies_rules_and_reasons():
    assert lbroute.STRATEGIES[0] == "weighted"
    assert "kv_aware" in lbroute.RULES and "saturated" in lbroute.REASONS


def test_pools_and_targets(router):
    pool = router.add_pool("chat", "least_connections",
                           {"queue.timeout": 2.5})
    target = pool.add_target("gpu-0", weight=2, max_concurrency=3,
                             max_input_tokens=100, tier="paid", model="m",
                             price_key="k", user={"url": "http://gpu-0"})
    assert router["chat"] is pool and list(router) == [pool]
    assert router.pools == {"chat": pool}
    assert router.targets == {"gpu-0": target} and pool.targets == [target]
    assert (target.weight, target.max_concurrency, target.max_input_tokens,
            target.tier, target.model, target.price_key, target.pool,
            target.user) == (2.0, 3, 100, "paid", "m", "k", pool,
                             {"url": "http://gpu-0"})
    target.update(weight=3, tier="")
    assert (target.weight, target.max_concurrency, target.tier,
            target.model) == (3.0, 3, "", "m")
    target.weight = 0.5
    assert target.weight == 0.5
    target.drain()
    assert target.draining
    target.drain(False)
    assert not target.draining
    assert pool.strategy == "least_connections"
    pool.strategy = "random"
    assert pool.strategy == "random"
    with pytest.raises(lbroute.BusyError):
        pool.remove()
    target.remove()
    pool.remove()
    assert router.pools == {} and router.targets == {}
    with pytest.raises(lbroute.NotFoundError):
        router["chat"]
    with pytest.raises(lbroute.NotFoundError):
        target.stats()


def test_errors_say_what_to_do(router):
    router.add_pool("chat")
    with pytest.raises(lbroute.ExistsError) as caught:
        router.add_pool("chat")
    assert caught.value.name == "LBROUTE_ERR_EXISTS"
    assert caught.value.code == lib.LBROUTE_ERR_EXISTS
    assert caught.value.advice in str(caught.value)
    with pytest.raises(lbroute.NotFoundError, match="nonsense"):
        router.add_pool("other", "nonsense")
    with pytest.raises(lbroute.BadNameError):
        router.add_pool("")
    with pytest.raises(lbroute.RangeError):
        router["chat"].add_target("t", weight=math.nan)
    with pytest.raises(LookupError):
        router["none"]
    with pytest.raises(lbroute.RangeError):
        lbroute.Router(max_pools=0)
    with pytest.raises(lbroute.InvalidError):
        lbroute.Router(seed=0)


def test_a_refused_parameter_leaves_no_pool(router):
    with pytest.raises(lbroute.RangeError):
        router.add_pool("chat", parameters={"cache_aware.threshold": 7})
    assert router.pools == {}
    router.add_pool("chat")


def test_parameters_are_a_mapping(router):
    pool = router.add_pool("chat")
    table = {row.name: row.default_value for row in lbroute.parameters()}
    assert dict(pool.parameters) == table and len(pool.parameters) == len(table)
    pool.parameters["queue.timeout"] = 3
    assert pool.parameters["queue.timeout"] == 3.0
    del pool.parameters["queue.timeout"]
    assert pool.parameters["queue.timeout"] == table["queue.timeout"]
    for name in ("nonsense", "queue"):
        with pytest.raises(KeyError):
            pool.parameters[name]
        with pytest.raises(KeyError):
            pool.parameters[name] = 1
        with pytest.raises(KeyError):
            del pool.parameters[name]
    with pytest.raises(lbroute.RangeError):
        pool.parameters["queue.timeout"] = -1


def test_prices_are_a_mapping(router):
    router.prices["m"] = lbroute.Price.per_million(0.5, 1.5)
    assert router.prices["m"] == lbroute.Price(500_000, 1_500_000, None)
    tiered = lbroute.Price(1, 2, 3, (lbroute.PriceTier(200_000, 4, 5),))
    router.prices["n"] = tiered
    assert router.prices["n"] == tiered
    assert sorted(router.prices) == ["m", "n"] and len(router.prices) == 2
    del router.prices["m"]
    assert dict(router.prices) == {"n": tiered}
    with pytest.raises(KeyError):
        router.prices["m"]
    with pytest.raises(ValueError):
        router.prices["n"] = lbroute.Price(tiers=(lbroute.PriceTier(1),) * 5)


def test_options_of_a_router():
    router = lbroute.Router(seed=1, ticket_ttl=1.5, header_prefix="X-Gw-",
                            digest_key=b"0123456789abcdef",
                            single_threaded=True, max_tickets=10)
    same = lbroute.Router(seed=2, digest_key=b"0123456789abcdef")
    assert router.client_digest("ann") == same.client_digest(b"ann")
    assert router.estimate() < same.estimate()
    pool = router.add_pool("p")
    pool.add_target("t")
    decision = router.pick(pool, now=0)
    assert decision.headers()["X-Gw-Server"] == "t"
    router.tick(now=1_499_999_999)
    assert router.stats().open_tickets == 1
    router.tick(now=router.next_deadline)
    assert router.stats().open_tickets == 0 and router.stats().expired == 1
    assert decision.success(now=1_500_000_001) is False


def test_stats_read_like_objects(router, make_pool):
    pool = make_pool()
    with pool.pick():
        stats = pool.targets[0].stats()
        assert (stats.picks, stats.in_flight) == (1, 1)
    assert stats.picks == 1  # a copy
    assert stats.gauges["running"] is None
    assert stats.gauge_age_ns["running"] is None
    assert stats.kv_state is lbroute.KvState.NONE
    assert stats.cache_available is None
    assert router.stats().settled["success"] == 1
    assert "picks=1" in repr(router.stats())
    assert pool.stats().mode is lbroute.Admission.MAX_CONCURRENCY
    assert pool.shares()["a"].requests == 1
    assert _structs.RouterStats.__annotations__.keys() == \
        router.stats().as_dict().keys()
    with pytest.raises(AttributeError):
        stats.nonsense
    assert _codes.reason_name(0) is None


def test_adaptive_switch(router):
    assert router.adaptive
    router.adaptive = False
    assert not router.adaptive
