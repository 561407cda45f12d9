# SPDX-License-Identifier: MIT
"""Routers that tell each other what they send where."""

import pytest

import lbroute

KEY = b"0123456789abcdef"
NAMES = ["t0", "t1", "t2", "t3"]
PROMPT = "A long story about a harbour and its three cranes. " * 20


def gateway(strategy, **options):
    router = lbroute.Router(clock=lambda: 10**12, digest_key=KEY,
                            max_delta_bytes=1 << 20, **options)
    pool = router.add_pool("p", strategy)
    for name in NAMES:
        pool.add_target(name)
    return router


def test_prompts_are_told():
    here, there = gateway("cache_aware"), gateway("cache_aware")
    decision = here["p"].pick(prompt=PROMPT)
    result = there.delta_apply(here.delta_export())
    assert (result.prompts, result.targets, result.same_key) == (1, 1, True)
    again = there["p"].pick(prompt=PROMPT)
    assert again.target.name == decision.target.name
    assert again.prefix_matched == again.prefix_total


def test_load_is_told_and_ends():
    here = gateway("least_connections")
    there = gateway("least_connections", peer_ttl=2.0)
    with here["p"].pick() as decision:
        there.delta_apply(here.delta_export())
        busy = there.targets[decision.target.name]
        assert busy.stats().load == 1
        assert there.delta_stats().peers == 1
        assert busy.stats(now=10**12 + 2 * 10**9).load == 0
        assert there.delta_stats(now=10**12 + 2 * 10**9).peers == 0
    there.delta_apply(here.delta_export())
    assert busy.stats().load == 0


def test_each_delta_counts_once():
    here, there = gateway("weighted", origin=7), gateway("weighted")
    first, second = here.delta_export(), here.delta_export()
    late = there.delta_apply(second)
    assert (late.origin, late.sequence, late.missing) == (7, 2, 0)
    assert there.delta_apply(first).overtaken
    assert there.delta_apply(first).repeated
    assert here.delta_apply(first).own
    stats = there.delta_stats()
    assert (stats.applied, stats.repeated) == (2, 1)
    assert here.delta_stats().exported == 2


def test_what_does_not_fit_waits():
    here, there = gateway("cache_aware"), gateway("cache_aware")
    for i in range(9):
        here["p"].pick(prompt=f"{i} {PROMPT}").success()
    assert here.delta_stats().pending == 9
    deltas = []
    while here.delta_stats().pending:
        deltas.append(here.delta_export(room=3000))
        assert len(deltas[-1]) <= 3000
    assert len(deltas) > 3
    assert sum(there.delta_apply(delta).prompts for delta in deltas) == 9
    # Less than a single one needs is made more.
    here["p"].pick(prompt="x" + PROMPT).success()
    assert there.delta_apply(here.delta_export(room=10)).prompts == 1


@pytest.mark.parametrize("spoil", [
    lambda delta: b"", lambda delta: delta[:-1], lambda delta: delta + b"x",
    lambda delta: delta[:40] + bytes([delta[40] ^ 1]) + delta[41:]])
def test_damage_is_refused(spoil):
    here, there = gateway("cache_aware"), gateway("cache_aware")
    here["p"].pick(prompt=PROMPT)
    with pytest.raises(lbroute.FormatError) as caught:
        there.delta_apply(spoil(here.delta_export()))
    assert caught.value.call == "delta_apply"
    assert there.delta_stats().applied == 0


def test_bad_numbers():
    with pytest.raises(lbroute.RangeError):
        lbroute.Router(max_delta_bytes=100)
    with pytest.raises(lbroute.RangeError):
        lbroute.Router(max_peers=0)
    router = gateway("weighted")
    with pytest.raises(lbroute.RangeError):
        router.delta_apply(router.delta_export(), elapsed=-1)
