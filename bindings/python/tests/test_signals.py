# SPDX-License-Identifier: MIT
"""What engines report."""

import math

import pytest

import lbroute

PAGE = """\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="m"} 3
vllm:num_requests_waiting{model_name="m"} 2
vllm:num_requests_waiting{broken 2
something_else 1
"""


def test_metrics(make_pool):
    target = make_pool().targets[0]
    diag = target.ingest_metrics(PAGE)
    assert (diag.accepted, diag.skipped, diag.broken, diag.line) == (2, 1, 1, 4)
    assert diag.reasons["labels"] == 1
    stats = target.stats()
    assert stats.gauges["running"] == 3.0 and stats.gauges["waiting"] == 2.0
    assert stats.gauge_age_ns["running"] == 0 and stats.load == 5.0
    for page in ("", b"\xff\0", "404 page not found"):
        with pytest.raises(lbroute.NoNewsError):
            target.ingest_metrics(page)
    assert target.stats().load == 5.0


def test_gauges(make_pool):
    target = make_pool().targets[0]
    target.set_gauges(running=1.5, waiting=0, kv_usage=0.25, prefix_queries=10,
                      prefix_hits=5, kv_blocks=100, block_tokens=16)
    assert target.stats().gauges == {
        "running": 1.5, "waiting": 0.0, "kv_usage": 0.25,
        "prefix_queries": 10.0, "prefix_hits": 5.0, "kv_blocks": 100.0,
        "block_tokens": 16.0}
    target.set_gauges(kv_usage=math.nan)
    assert target.stats().gauges["kv_usage"] is None
    with pytest.raises(lbroute.RangeError):
        target.set_gauges(running=-1)
    with pytest.raises(lbroute.InvalidError):
        target.set_gauges()


def test_adapters(make_pool):
    pool = make_pool("lora_aware", targets=3)
    a, b, c = pool.targets
    b.set_adapters(["x", "y"], max_adapters=4)
    c.note_adapters([b"z"])
    assert (b.stats().adapters, b.stats().max_adapters) == (2, 4)
    assert (c.stats().adapters, c.stats().max_adapters) == (1, None)
    with pool.pick(adapter="x") as decision:
        assert decision.target is b and decision.rule == "lora_aware"
    b.set_adapters([])
    assert b.stats().adapters == 0
    with pytest.raises(lbroute.BadNameError):
        a.set_adapters([""])


def test_occupancy(make_pool, clock):
    target = make_pool("lmcache_aware").targets[0]
    target.set_occupancy(0.5)
    assert target.stats().occupancy == 0.5
    assert target.stats().cache_available is True
    clock.advance(11)
    assert target.stats().cache_available is None
    assert target.stats().cache_stale
    target.set_occupancy(math.nan, available=False)
    assert target.stats().cache_available is False


def test_benching(make_pool, clock, router):
    pool = make_pool()
    a, b = pool.targets
    a.bench(10)
    assert a.stats().benched and a.stats().bench_left_ns == 10 * 10**9
    assert {pool.pick().target_name for _ in range(4)} == {"b"}
    b.bench(10)
    with pool.pick() as decision:
        assert decision.bench_ignored
    a.bench(0)
    assert not a.stats().benched


def store(tokens, **fields):
    return lbroute.KvEvent(lbroute.KvKind.STORED, tokens=tokens, block_size=16,
                           **fields)


def test_kv_events(make_pool):
    pool = make_pool("precise_cache_aware", targets=2)
    a, b = pool.targets
    ids = list(range(64))
    result = a.apply_kv_events([store(ids[:32], hashes=[1, 2])], seq=0)
    assert (result.outcome, result.state, result.stored) == (
        lbroute.KvOutcome.APPLIED, lbroute.KvState.FRESH, 2)
    assert result.diag is None
    with pool.pick(tokens=ids) as decision:
        assert decision.target is a
        assert decision.kv_blocks == {"gpu": 2, "host": 0, "disk": 0}
        assert decision.headers()["X-Lbroute-Kv-State"] == "fresh"
    late = store(ids[32:48], hashes=[3], parent=2,
                 medium=lbroute.Medium.HOST)
    result = a.apply_kv_events([late], seq=2)
    assert result.outcome is lbroute.KvOutcome.GAP
    assert a.missing_kv() == (1, 1) and b.missing_kv() is None
    with pool.pick(tokens=ids) as decision:
        assert decision.kv_blocks is None or decision.target is b
    a.apply_kv_events([], seq=1)
    assert a.missing_kv() is None
    source = a.kv_sources()[0]
    assert source.blocks == {"gpu": 2, "host": 1, "disk": 0}
    assert (source.next_seq, source.gaps, source.block_size) == (3, 1, 16)
    a.apply_kv_events([lbroute.KvEvent(lbroute.KvKind.REMOVED, hashes=[2])],
                      seq=3)
    with pool.pick(tokens=ids) as decision:
        assert decision.kv_blocks["gpu"] == 1
    a.clear_kv()
    assert a.kv_sources()[0].clears == 1
    with pytest.raises(lbroute.NotFoundError):
        a.clear_kv(5)


#: A batch by hand: [1.0, [["BlockStored", [1], nil, [0 … 15], 16]]]
PAYLOAD = (b"\x92\xcb\x3f\xf0\0\0\0\0\0\0\x91\x95\xabBlockStored\x91\x01\xc0"
           b"\xdc\x00\x10" + bytes(range(16)) + b"\x10")


def test_kv_payloads(make_pool):
    target = make_pool("precise_cache_aware").targets[0]
    result = target.ingest_kv_events(PAYLOAD, seq=0, source=3)
    assert result.outcome is lbroute.KvOutcome.APPLIED
    assert result.stored == 1 and result.diag.accepted == 1
    assert list(target.kv_sources()) == [3]
    with pytest.raises(lbroute.FormatError):
        target.ingest_kv_events(PAYLOAD[:-1], seq=1, source=3)
    end = target.ingest_kv_events(b"", source=3)
    assert end.outcome is lbroute.KvOutcome.REPLAY_END


def test_latency_is_learned(make_pool, clock):
    pool = make_pool("predicted_latency", targets=1)
    for _ in range(20):
        decision = pool.pick(input_tokens=1000)
        clock.advance(0.5)
        decision.first_token()
        clock.advance(0.5)
        decision.success()
    target, = pool.targets
    model = target.latency_model()
    assert model.known and model.samples == 20
    total = target.latency_model(lbroute.Latency.TOTAL)
    assert total.ewma_ns == pytest.approx(1e9)
    with pool.pick(input_tokens=1000) as decision:
        assert decision.expected_ttft_ns == pytest.approx(0.5e9, rel=0.05)


def test_clients_have_shares(make_pool, router):
    pool = make_pool("kv_aware", targets=1)
    pool.pick(prompt="x" * 1024, client="ann").success()
    shares = pool.targets[0].clients()
    assert shares[router.client_digest("ann")].blocks == 4.0


def test_work_is_learned(make_pool, clock):
    """Of equals none is slower than the others beyond doubt."""
    pool = make_pool("least_work", targets=2)
    for _ in range(40):
        decision = pool.pick(input_tokens=1000)
        clock.advance(1)
        decision.first_token()
        clock.advance(2)
        decision.success(input_tokens=1000, cached_tokens=0, output_tokens=101)
    for target in pool.targets:
        model = target.work_model()
        assert model.samples == {"first_token": 40, "each_token": 40}
        assert model.known == {"first_token": True, "each_token": True}
        assert model.base_ns["each_token"] == pytest.approx(2e7, rel=0.05)
        assert model.slowness == {"first_token": 1, "each_token": 1}
        assert model.output_tokens == pytest.approx(101)
        assert model.late_ns == 0
