# SPDX-License-Identifier: MIT
"""Prompts in every form that Python has for bytes and numbers."""

import threading
import time
from array import array

import pytest

import lbroute
from lbroute import _request
from lbroute._lbroute import ffi

numpy = pytest.importorskip("numpy")

TEXT = "You are a helpful assistant. " * 40
IDS = list(range(1000, 1064))


@pytest.fixture
def pool(make_pool):
    return make_pool("kv_aware", targets=4)


@pytest.mark.parametrize("make", [
    str, str.encode, lambda text: bytearray(text.encode()),
    lambda text: memoryview(text.encode()),
    lambda text: numpy.frombuffer(text.encode(), dtype="uint8"),
])
@pytest.mark.parametrize("extra", [{}, {"salt": ""}])
def test_equal_texts_match(pool, make, extra):
    with pool.pick(prompt=TEXT, **extra) as first:
        pass
    with pool.pick(prompt=make(TEXT), **extra) as decision:
        assert decision.target is first.target
        assert decision.prefix_matched == decision.prefix_total \
            == len(TEXT) // 256


@pytest.mark.parametrize("make", [
    list, tuple, lambda ids: array("I", ids), lambda ids: array("q", ids),
    lambda ids: range(ids[0], ids[-1] + 1),
    lambda ids: memoryview(array("I", ids)),
    lambda ids: memoryview(array("Q", ids)),
    lambda ids: numpy.array(ids, dtype="uint32"),
    lambda ids: numpy.array(ids, dtype="int32"),
    lambda ids: numpy.array(ids, dtype="int64"),
    lambda ids: numpy.array([ids, ids], dtype="uint32").T[:, 0],
])
def test_equal_ids_match(pool, make):
    with pool.pick(tokens=IDS) as first:
        pass
    with pool.pick(tokens=make(IDS)) as decision:
        assert decision.target is first.target
        assert decision.prefix_matched == decision.prefix_total == 4


@pytest.mark.parametrize("bad", [
    [-1], [2**32], numpy.array([-1]), numpy.array([2**32]),
])
def test_ids_that_do_not_fit(pool, bad):
    with pytest.raises(lbroute.RangeError):
        pool.pick(tokens=bad)


def test_arrays_are_not_copied():
    for values in (numpy.arange(8, dtype="uint32"),
                   numpy.arange(8, dtype="int32")):
        data = _request.as_numbers(values, "uint32_t", "I")
        assert int(ffi.cast("uintptr_t", data)) == values.ctypes.data
    data = _request.as_numbers(values.astype("uint64"), "uint64_t", "Q")
    assert list(data) == list(range(8))
    text = b"x" * 100
    assert _request.as_bytes(text) is text
    writable = bytearray(text)
    address = ffi.cast("char *", _request.as_bytes(writable))
    assert address == ffi.from_buffer(writable)


def test_hash_blocks(pool):
    blocks = lbroute.hash_blocks(IDS, 16)
    assert len(blocks) == 4
    assert blocks == lbroute.hash_blocks(numpy.array(IDS), 16)
    with pool.pick(blocks=blocks) as first:
        pass
    with pool.pick(blocks=list(blocks)) as decision:
        assert decision.target is first.target
        assert decision.prefix_matched == 4
    assert len(lbroute.hash_blocks(TEXT, 256)) == len(TEXT) // 256
    assert len(lbroute.hash_blocks(IDS, 16, symbol_size=8)) == 4
    assert len(lbroute.hash_blocks(b"", 16)) == 0
    with pytest.raises(lbroute.RangeError):
        lbroute.hash_blocks(TEXT, 0)


def test_halves_of_surrogate_pairs(pool):
    with pool.pick(prompt="\ud83d" * 400, session="\udc00") as decision:
        assert decision.prefix_total == 1200 // 256


def test_sessions_and_clients(make_pool):
    pool = make_pool("sticky_session", targets=8)
    with pool.pick(session="s", client="c") as first:
        pass
    for session in ("s", b"s", bytearray(b"s"), memoryview(b"s")):
        with pool.pick(session=session) as decision:
            assert decision.target is first.target
            assert decision.rule == "sticky_session"


def test_adapters_and_salts_part_prompts(pool):
    with pool.pick(prompt=TEXT, adapter="x") as decision:
        assert decision.prefix_matched == 0
    for other in ({"adapter": "y"}, {"salt": b"s"}, {}):
        with pool.pick(prompt=TEXT, **other) as decision:
            assert decision.prefix_matched in (0, None)
    with pool.pick(prompt=TEXT, adapter="x") as decision:
        assert decision.prefix_matched == len(TEXT) // 256


def test_images_part_prompts(make_pool):
    pool = make_pool("precise_cache_aware", targets=2)
    a = pool.targets[0]
    key = lbroute.fold_key(0, "image-1")
    result = a.apply_kv_events(
        [lbroute.KvEvent(lbroute.KvKind.STORED, hashes=[1, 2],
                         tokens=IDS[:32], block_size=16,
                         extra_keys=[0, key])], seq=0)
    assert result.outcome is lbroute.KvOutcome.APPLIED
    with pool.pick(tokens=IDS[:32]) as decision:
        assert decision.kv_blocks["gpu"] == 1
    with pool.pick(tokens=IDS[:32],
                   mm_items=[("image-1", 20, 4)]) as decision:
        assert decision.target is a and decision.kv_blocks["gpu"] == 2
        assert decision.kv_state is lbroute.KvState.FRESH


def test_lookups(make_pool):
    pool = make_pool("lmcache_aware", targets=3)
    a, b, _ = pool.targets
    with pool.pick(tokens=IDS, lookup={b: 64, a: 16}) as decision:
        assert decision.target is b and decision.rule == "lmcache_aware"


def test_long_prompts_are_hashed_without_the_gil(pool):
    """Another thread goes on meanwhile: its longest pause is far below the time
    that the hashing takes."""
    prompt = bytes(200_000_000)

    def attempt():
        done = []

        def work():
            begin = time.perf_counter()
            pool.pick(prompt=prompt).success()
            done.append(time.perf_counter() - begin)

        thread = threading.Thread(target=work)
        thread.start()
        pause, last = 0.0, time.perf_counter()
        while not done:
            now = time.perf_counter()
            pause, last = max(pause, now - last), now
        thread.join()
        return pause < done[0] / 2

    assert any(attempt() for _ in range(10))
