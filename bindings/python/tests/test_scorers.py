# SPDX-License-Identifier: MIT
"""Scorers and filters written in Python."""

import gc
import sys
import weakref

import pytest

import lbroute


@pytest.fixture
def pool(make_pool):
    return make_pool("pipeline", targets=4)


@pytest.fixture
def unraisable(monkeypatch):
    caught = []
    monkeypatch.setattr(sys, "unraisablehook",
                        lambda told: caught.append(told.exc_value))
    return caught


def test_scores_decide(pool):
    @pool.scorer(weight=100)
    def prefers_c(request, candidates):
        return [candidate.target.name == "c" for candidate in candidates]

    for _ in range(3):
        with pool.pick() as decision:
            assert decision.target_name == "c"
    scorer, = pool.scorers
    assert (scorer.name, scorer.weight) == ("prefers_c", 100.0)
    assert scorer.stats().calls == 3
    scorer.weight = 0
    names = set()
    for _ in range(20):
        with pool.pick() as decision:
            names.add(decision.target_name)
    assert len(names) > 1 and scorer.stats().calls == 3
    scorer.remove()
    assert pool.scorers == []


def test_filters_decide(pool):
    @pool.filter(name="only-b")
    def keep(request, candidates):
        return (1 if candidate.target.name == "b" else 0
                for candidate in candidates)

    with pool.pick() as decision:
        assert decision.target_name == "b" and decision.eligible == 1
    pool.targets[1].remove()
    with pytest.raises(lbroute.NoTargetError) as caught:
        pool.pick()
    assert caught.value.reason == "filtered"


def test_what_a_scorer_is_told(pool, clock):
    seen = []

    def look(request, candidates):
        seen.append((request, list(candidates), request.now,
                     request.explaining, request.session, request.prompt,
                     request.client, request.tokens, request.blocks,
                     request.input_tokens, request.output_tokens,
                     request.tag, request.priority, request.adapter,
                     request.model, request.tier, request.conversation,
                     request.salt))
        return [1] * len(candidates)

    pool.add_scorer(look)
    pool.explain(session="s", prompt="text")
    pool.pick(tokens=[1, 2], client=b"\0c", tag=3, adapter="lora",
              output_tokens=4).success()
    assert seen[0][2:7] == (clock.now, True, b"s", b"text", b"")
    assert seen[1][3:] == (False, b"", b"", b"\0c", [1, 2], [], None, 4, 3, 0,
                           b"lora", b"", b"", b"", b"")
    with pytest.raises(ReferenceError):
        seen[0][0].session
    assert [candidate.weight for candidate in seen[0][1]] == [1.0] * 4
    assert seen[0][1][0].score is None  # not yet known


@pytest.mark.parametrize("broken, error", [
    (lambda request, candidates: 1 / 0, ZeroDivisionError),
    (lambda request, candidates: [1.0], ValueError),
    (lambda request, candidates: ["x"] * len(candidates), ValueError),
    (lambda request, candidates: None, TypeError),
])
def test_a_broken_scorer_is_left_out(pool, unraisable, broken, error):
    scorer = pool.add_scorer(broken, name="broken")
    pool.pick().success()
    assert [type(caught) for caught in unraisable] == [error]
    assert scorer.stats().errors == 1


def test_nan_is_no_score(pool):
    scorer = pool.add_scorer(
        lambda request, candidates: [float("nan")] * len(candidates),
        name="nan")
    pool.pick().success()
    assert scorer.stats().not_finite == 1


def test_calls_from_inside(pool, router, unraisable):
    def picks(request, candidates):
        candidates[0].target.stats()
        first.success()
        with pytest.raises(lbroute.BusyError):
            pool.pick()
        scorer.remove()
        return [1] * len(candidates)

    first = pool.pick()
    scorer = pool.add_scorer(picks)
    pool.pick().success()
    assert not unraisable and pool.scorers == []
    assert router.stats().open_tickets == 0


def test_names_are_unique(pool):
    pool.add_scorer(lambda *_: [], name="x")
    with pytest.raises(lbroute.ExistsError):
        pool.add_filter(lambda *_: [], name="x")
    assert len(pool.scorers) == 1


def test_scorers_go_with_their_pool_and_router(router):
    class Scores:
        def __call__(self, request, candidates):
            return [1] * len(candidates)

    other = lbroute.Router()
    goes = weakref.ref(Scores()), weakref.ref(Scores())
    held = [Scores(), Scores()]
    goes = [weakref.ref(scores) for scores in held]
    empty = router.add_pool("empty", "pipeline")
    empty.add_scorer(held[0])
    other.add_pool("other", "pipeline").add_scorer(held[1])
    held.clear()
    gc.collect()
    assert all(reference() for reference in goes)
    empty.remove()
    del other
    gc.collect()
    assert not any(reference() for reference in goes)
