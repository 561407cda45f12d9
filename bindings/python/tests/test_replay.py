# SPDX-License-Identifier: MIT
"""Replays, of strategies by name and of functions."""

import gzip
import json
import resource

import pytest

replay = pytest.importorskip("lbroute.replay")

SMALL = {"workload": "agents", "targets": 4, "duration": 60}


def shortest(request, candidates):
    return min(range(len(candidates)), key=lambda i: candidates[i].load)


def test_a_table():
    table = replay.run(**SMALL, strategy=["weighted", "least_connections"])
    assert [run["strategy"] for run in table] == ["weighted",
                                                  "least_connections"]
    assert len(table) == 2 and table["weighted"] is table[0]
    assert str(table).splitlines()[1].startswith("strategy")
    assert table.rows("strategy", "ttft_ms.mean")[0] == (
        "weighted", table[0]["ttft_ms"]["mean"])
    assert json.loads(table.json)["runs"] == table.runs
    assert table.html.startswith("<!doctype html>") and not table.notes
    with pytest.raises(KeyError):
        table["random"]


def test_the_same_call_gives_the_same_bytes():
    first = replay.run(**SMALL, strategy=["cache_aware", shortest], seed=3)
    again = replay.run(**SMALL, strategy=["cache_aware", shortest], seed=3)
    assert first.json == again.json


def test_a_function_decides():
    names = set()

    def always_second(request, candidates):
        assert len(candidates) == 3 and request.input_tokens > 0
        names.add(candidates[1].target.name)
        return 1

    table = replay.run(**{**SMALL, "targets": 3}, strategy=always_second)
    run, = table
    assert run["strategy"] == "always_second"
    assert names == {run["per_target"][1]["name"]}
    assert [target["requests"] > 0 for target in run["per_target"]] == [
        False, True, False]
    assert run["per_target"][1]["requests"] == run["requests"]


def test_balancing_beats_piling_up():
    table = replay.run(workload="bursts", targets=4, duration=120,
                       strategy=[shortest, lambda request, candidates: 0])
    balanced, piled = table.rows("busiest_over_mean", "ttft_ms.p99")
    assert balanced[0] < 1.5 and piled[0] == pytest.approx(4)
    assert balanced[1] < piled[1]
    assert table[1]["strategy"] == "<lambda>"


def test_seeds_and_parameters():
    table = replay.run(**SMALL, strategy=["cache_aware", shortest],
                       seed=[1, 2], param={"cache_aware.threshold": 0.25},
                       no_sessions=True)
    assert table.rows("strategy", "seed") == [
        ("cache_aware", 1), ("shortest", 1), ("cache_aware", 2),
        ("shortest", 2)]
    assert "cache_aware.threshold=0.25" in json.dumps(table[0]["options"])


def trace(path, broken=False):
    lines = [json.dumps({"timestamp": i * 100, "input_length": 100,
                         "output_length": 5}) for i in range(50)]
    if broken:
        lines[7] = lines[7][:20]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


def test_traces(tmp_path):
    table = replay.run(trace(tmp_path / "a.gz"), strategy="weighted", targets=2)
    assert table[0]["requests"] == 50
    bad = trace(tmp_path / "bad.gz", broken=True)
    with pytest.raises(replay.ReplayError, match="bad.gz:8:"):
        replay.run(bad, strategy="weighted")
    table = replay.run(bad, strategy="weighted", skip_bad=True)
    assert table[0]["requests"] == 49 and "skipped 1" in table.notes[0]


@pytest.mark.parametrize("options, words", [
    ({"nonsense": 1}, "nonsense"),
    ({"targets": "many"}, "--targets"),
    ({"strategy": "best"}, "unknown strategy"),
    ({"trace": "nowhere.jsonl"}, "No such file"),
    ({"param": {"x.y": 1}}, "unknown parameter"),
    ({"load": -1}, "--load"),
    ({"help": True}, "command line"),
])
def test_what_cannot_be_done(options, words):
    with pytest.raises(replay.ReplayError, match=words):
        replay.run(**options)
    with pytest.raises(TypeError):
        replay.run(json="out.json")


@pytest.mark.parametrize("answer, error", [
    (lambda request, candidates: 1 / 0, ZeroDivisionError),
    (lambda request, candidates: 99, IndexError),
    (lambda request, candidates: None, TypeError),
])
def test_what_a_function_raises_is_raised(answer, error):
    with pytest.raises(error):
        replay.run(**SMALL, strategy=answer)


def test_it_does_not_leak():
    def once():
        replay.run(**SMALL, strategy=["weighted", shortest])
    for _ in range(5):
        once()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(40):
        once()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 4096  # KiB
