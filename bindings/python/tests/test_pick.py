# SPDX-License-Identifier: MIT
"""Picks, and what settles them."""

import asyncio
import gc

import pytest

import lbroute


def settled(router):
    return {kind: count for kind, count in router.stats().settled.items()
            if count}


def test_pick_and_settle(router, make_pool):
    pool = make_pool()
    decision = router.pick(pool)
    assert decision.target.name == "a" == decision.target_name
    assert (decision.pool, decision.pool_name) == (pool, "pool")
    assert decision.rule == "weighted" and decision.reason is None
    assert decision.ticket and not decision.settled
    assert decision.success() and decision.settled
    assert not decision.success() and not decision.failure()
    assert settled(router) == {"success": 1}
    assert pool.pick().target_name == "b"


@pytest.mark.parametrize("method, arguments", [
    ("success", {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 4,
                 "latency": 0.5}),
    ("success", {}), ("failure", {}), ("overload", {"retry_after": 2.0}),
    ("client_error", {}), ("cancel", {}), ("timeout", {}),
])
def test_every_outcome(router, make_pool, method, arguments):
    make_pool(targets=1)
    decision = router["pool"].pick()
    assert decision.first_token(latency=0.1) and not decision.settled
    assert getattr(decision, method)(**arguments)
    assert decision.settled
    assert settled(router) == {method: 1}
    assert router.stats().open_tickets == 0


def test_usage_is_reported(router, make_pool):
    pool = make_pool(targets=1)
    pool.pick().success(input_tokens=10, cached_tokens=4, output_tokens=5)
    stats = pool.targets[0].stats()
    assert (stats.input_tokens, stats.cached_tokens,
            stats.output_tokens) == (10, 4, 5)


def test_a_bad_measure_is_told_but_settles(router, make_pool):
    make_pool()
    with pytest.raises(lbroute.RangeError):
        router["pool"].pick().success(input_tokens=-7)
    assert settled(router) == {"success": 1}


class HttpTimeout(Exception):
    pass


@pytest.mark.parametrize("error, outcome", [
    (None, "success"),
    (ValueError, "failure"),
    (ConnectionError, "failure"),
    (TimeoutError, "timeout"),
    (asyncio.TimeoutError, "timeout"),
    (HttpTimeout, "timeout"),
    (asyncio.CancelledError, "cancel"),
    (GeneratorExit, "cancel"),
    (KeyboardInterrupt, "cancel"),
    (SystemExit, "cancel"),
])
def test_a_block_settles_on_every_exit(error, outcome):
    router = lbroute.Router(
        outcomes={HttpTimeout: lbroute.Event.TIMEOUT})
    router.add_pool("pool").add_target("a")
    try:
        with router["pool"].pick() as decision:
            assert decision.target_name == "a"
            if error:
                raise error()
    except BaseException as raised:
        assert type(raised) is error
    assert settled(router) == {outcome: 1}


def test_a_return_from_a_block_is_a_success(router, make_pool):
    def work():
        with make_pool().pick():
            return 1
    assert work() == 1 and settled(router) == {"success": 1}


def test_what_was_said_in_a_block_stands(router, make_pool):
    with make_pool().pick() as decision:
        decision.client_error()
    assert settled(router) == {"client_error": 1}


def test_a_forgotten_decision_is_cancelled(router, make_pool):
    decision = make_pool().pick()
    assert router.stats().open_tickets == 1
    del decision
    gc.collect()
    assert settled(router) == {"cancel": 1}


def test_a_router_goes_with_its_last_user(make_pool):
    router = lbroute.Router()
    pool = router.add_pool("pool")
    pool.add_target("a", user=object())
    decision = pool.pick()
    del router, pool
    gc.collect()
    assert decision.target.name == "a" and decision.success()


def test_rejections_have_reasons(router, make_pool):
    pool = make_pool(targets=2, limit=1)
    with pytest.raises(lbroute.NoTargetError) as caught:
        pool.pick(tier="gold")
    assert caught.value.reason == "no_tier"
    assert caught.value.decision.reasons == {"no_tier": 2}
    first, second = pool.pick(), pool.pick()
    with pytest.raises(lbroute.SaturatedError) as full:
        pool.pick()
    assert full.value.decision.reason == "saturated"
    assert full.value.retry_after is None
    assert isinstance(full.value, lbroute.PickError)
    assert (full.value.decision.in_flight,
            full.value.decision.max_concurrency) == (2, 2)
    first.success(), second.success()


def test_retry_after_is_in_seconds(router, clock, make_pool):
    pool = make_pool(targets=1, limit=1)
    decision = pool.pick()
    clock.advance(2)
    decision.success()
    decision = pool.pick()
    with pytest.raises(lbroute.SaturatedError) as full:
        pool.pick()
    assert full.value.retry_after == pytest.approx(2.0)
    decision.overload(retry_after=5)
    with pytest.raises(lbroute.SaturatedError) as full:
        pool.pick()
    assert full.value.retry_after == pytest.approx(5.0)


def test_exclusions(router, make_pool):
    pool = make_pool(targets=3)
    a, b, c = pool.targets
    assert pool.pick(exclude=[a, b]).target is c
    with pytest.raises(lbroute.NoTargetError) as caught:
        pool.pick(exclude=pool.targets)
    assert caught.value.reason == "excluded"


def test_by_model(router):
    router.add_target("a", model="m")
    router.add_target("b", model="n")
    for _ in range(4):
        with router.pick(model="n", session="s") as decision:
            assert decision.target_name == "b" and decision.pool is None
    with pytest.raises(lbroute.InvalidError):
        router.pick()


def test_headers(router, make_pool):
    with make_pool("least_connections").pick(session="s") as decision:
        headers = decision.headers()
    assert headers["X-Lbroute-Server"] == decision.target_name
    assert headers["X-Lbroute-Algorithm"] == "least_connections"
    assert int(headers["X-Lbroute-Sticky"], 16) == decision.sticky_digest


def test_names_beyond_ascii(router):
    pool = router.add_pool("größe")
    pool.add_target("日本", user=1)
    decision = pool.pick()
    assert decision.target_name == "日本" and decision.pool_name == "größe"
    assert decision.headers()["X-Lbroute-Server"].startswith("%e6%97%a5")


def test_tag_and_user(router, make_pool):
    assert make_pool().pick(tag=2**64 - 1).tag == 2**64 - 1


def test_a_field_that_there_is_not(router, make_pool):
    pool = make_pool()
    with pytest.raises(TypeError, match="nonsense"):
        pool.pick(nonsense=1)
    with pytest.raises(OverflowError):
        pool.pick(tag=-1)
    with pytest.raises(lbroute.RangeError):
        pool.pick(priority=99)
    assert router.stats().open_tickets == 0


def test_explain_changes_nothing(router, make_pool):
    pool = make_pool(targets=100)
    for _ in range(3):
        explained = pool.explain(session="s", tier="")
        assert explained.decision.target_name == "a"
        assert not explained.decision.ticket and explained.error is None
    assert len(explained.candidates) == 100
    candidate = explained.candidates[0]
    assert candidate.target.name == "a" and candidate.verdict is None
    assert candidate.expected_ttft_ns is None and candidate.weight == 1.0
    assert router.stats().picks == 0
    refused = pool.explain(tier="gold")
    assert isinstance(refused.error, lbroute.NoTargetError)
    assert refused.candidates[0].verdict == "no_tier"
    with pytest.raises(lbroute.InvalidError):
        router.explain()


def test_cheapest_knows_costs(router, make_pool):
    pool = make_pool("cheapest")
    router.prices["x"] = lbroute.Price.per_million(1.0, 2.0)
    pool.targets[1].update(price_key="x")
    with pool.pick(input_tokens=1000, output_tokens=100) as decision:
        assert decision.target_name == "b"
        assert decision.expected_cost_pusd == 1000 * 10**6 + 100 * 2 * 10**6


def test_overload_teaches_nothing_but_load(router, clock, make_pool):
    pool = make_pool(targets=2)
    with pool.pick() as decision:
        decision.overload(retry_after=10)
    assert {pool.pick().target_name for _ in range(4)} == {"b"}
    clock.advance(10)
    assert "a" in {pool.pick().target_name for _ in range(4)}


def test_a_removed_target_of_a_decision(router, make_pool):
    decision = make_pool().pick()
    decision.target.remove()
    assert decision.target_name == "a"
    with pytest.raises(lbroute.NotFoundError):
        decision.target
    assert decision.success()
