# SPDX-License-Identifier: MIT
"""What a router learned, taken over by another one."""

import array
import threading

import pytest

import lbroute

KEY = b"0123456789abcdef"
TEXT = "You are a helpful assistant. " * 40
NAMES = ["a", "b", "c", "d"]


def fleet(strategy="kv_aware", names=NAMES, key=KEY, **bounds):
    """A router with a pool "pool" of some targets."""
    router = lbroute.Router(seed=7, digest_key=key, clock=lambda: 0, **bounds)
    pool = router.add_pool("pool", strategy)
    for name in names:
        pool.add_target(name)
    return router


def ask(router, prompt, **fields):
    """One request that ends well."""
    with router.pick(router["pool"], prompt=prompt, **fields) as decision:
        return decision


def conversations(router, count=8):
    """Teaches some prompts: where each went."""
    return {f"{turn} {TEXT}": ask(router, f"{turn} {TEXT}").target_name
            for turn in range(count)}


@pytest.mark.parametrize("strategy", ["kv_aware", "cache_aware"])
def test_prompts_go_where_they_went(strategy):
    before, after = fleet(strategy), fleet(strategy, NAMES[::-1])
    homes = conversations(before)
    assert set(homes.values()) == set(NAMES)
    result = after.restore(before.snapshot())
    assert (result.targets, result.targets_unknown, result.targets_kept,
            result.sections_skipped) == (4, 0, 0, 0)
    assert result.same_key is True
    assert result.prefix_bytes > 0 and result.prefix_bytes_skipped == 0
    for prompt, home in homes.items():
        decision = ask(after, prompt)
        assert decision.target_name == home
        assert decision.prefix_matched == decision.prefix_total > 0


def test_prices_and_sessions():
    before, after = fleet("sticky_session"), fleet("sticky_session")
    price = lbroute.Price(1, 2, 3, (lbroute.PriceTier(200_000, 4, 5),))
    before.prices["m"] = price
    before.prices["n"] = lbroute.Price(7)
    after.prices["n"] = lbroute.Price(9)
    home = ask(before, "x", session="s").target_name
    result = after.restore(before.snapshot())
    assert (result.prices, result.prices_skipped, result.sessions,
            result.sessions_skipped) == (1, 1, 1, 0)
    assert dict(after.prices) == {"m": price, "n": lbroute.Price(9)}
    assert ask(after, "x", session="s").target_name == home


def test_nothing_learned_is_a_snapshot():
    assert fleet().snapshot() == fleet(names=NAMES[::-1]).snapshot()
    result = fleet().restore(fleet().snapshot())
    assert (result.targets, result.prefix_bytes) == (4, 0)


@pytest.mark.parametrize("make", [
    bytes, bytearray, memoryview, lambda data: array.array("B", data)])
def test_any_bytes(make):
    router = fleet()
    homes = conversations(router)
    data = router.snapshot()
    assert type(data) is bytes
    assert fleet().restore(make(data)).targets == len(set(homes.values()))


def test_what_is_no_bytes():
    for wrong in ("text", 5, None, [1, 2]):
        with pytest.raises(TypeError):
            fleet().restore(wrong)


def test_damaged_bytes_change_nothing():
    before, after = fleet(), fleet()
    conversations(before)
    before.prices["m"] = lbroute.Price(1)
    data = before.snapshot()
    untouched = after.snapshot()
    # Whose magic is wrong, cut short anywhere, and with a byte changed.
    wrong = [b"", b"no snapshot", data[:-1], data + b"\0",
             *(data[:end] for end in range(0, len(data), 97)),
             *(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
               for at in range(len(data) // 2, len(data), 101))]
    for bad in wrong:
        with pytest.raises(lbroute.FormatError) as caught:
            after.restore(bad)
        assert caught.value.name == "LBROUTE_ERR_FORMAT"
        assert caught.value.call == "restore"
    assert after.snapshot() == untouched and len(after.prices) == 0
    assert after.restore(data).prices == 1


def test_another_key():
    before = fleet("sticky_session")
    ask(before, "x", session="s")
    before.prices["m"] = lbroute.Price(1)
    after = fleet("sticky_session", key=b"another key 0123")
    result = after.restore(before.snapshot())
    assert result.same_key is False
    assert (result.sessions, result.sessions_skipped) == (0, 1)
    assert result.prices == 1  # needs no digests
    assert after.stats().sessions == 0


def test_other_bounds_and_targets():
    before = fleet("sticky_session")
    for turn in range(16):
        ask(before, "x", session=f"s{turn}")
    before.prices.update({name: lbroute.Price(1) for name in "klm"})
    after = fleet("sticky_session", ["a", "b"], max_sessions=2, max_prices=2)
    result = after.restore(before.snapshot())
    assert (result.targets, result.targets_unknown) == (2, 2)
    assert result.sessions == 2 and result.sessions_skipped == 14
    assert (result.prices, result.prices_skipped) == (2, 1)
    assert after.stats().sessions == 2


def test_more_targets_come_later():
    before, after = fleet(), fleet(names=["a"])
    conversations(before)
    data = before.snapshot()
    assert after.restore(data).targets_unknown == 3
    ask(after, "x")
    for name in NAMES[1:]:
        after["pool"].add_target(name)
    result = after.restore(data)
    assert (result.targets, result.targets_kept,
            result.targets_unknown) == (3, 1, 0)


def test_time_that_has_passed():
    before = fleet()
    target = before.targets["a"]
    for _ in range(5):
        before.pick(exclude=[before.targets[name] for name in NAMES[1:]],
                    pool=before["pool"], now=0).failure(now=0)
    left = target.stats().bench_left_ns
    assert left == 30_000_000_000
    data = before.snapshot(now=10_000_000_000)
    after = fleet()
    after.restore(data, elapsed=5.5, now=0)
    assert after.targets["a"].stats().bench_left_ns == 14_500_000_000
    for wrong in (-1, float("nan"), float("inf"), 2e10):
        with pytest.raises(lbroute.RangeError):
            after.restore(data, elapsed=wrong)


def test_kv_events_go_on():
    before, after = fleet("precise_cache_aware"), fleet("precise_cache_aware")
    ids = list(range(64))
    event = lbroute.KvEvent(lbroute.KvKind.STORED, hashes=[1, 2, 3, 4],
                            tokens=ids, block_size=16)
    before.targets["c"].apply_kv_events([event], seq=5)
    result = after.restore(before.snapshot())
    assert (result.kv_sources, result.kv_sources_skipped, result.kv_blocks,
            result.kv_blocks_skipped) == (1, 0, 4, 0)
    decision = ask(after, None, tokens=ids)
    assert (decision.target_name, decision.prefix_matched) == ("c", 4)
    assert after.targets["c"].apply_kv_events([], seq=6).outcome \
        is lbroute.KvOutcome.APPLIED


def test_while_others_pick():
    router = fleet("cache_aware")
    stop = threading.Event()

    def work():
        turn = 0
        while not stop.is_set():
            ask(router, f"{turn} " * 200)
            turn += 1
    thread = threading.Thread(target=work)
    thread.start()
    try:
        snapshots = [router.snapshot()]
        while router.stats().picks < 1000:
            snapshots.append(router.snapshot())
        snapshots.append(router.snapshot())
    finally:
        stop.set()
        thread.join()
    for data in (snapshots[0], snapshots[len(snapshots) // 2], snapshots[-1]):
        fleet("cache_aware").restore(data)
    assert len(snapshots[-1]) > len(snapshots[0])
