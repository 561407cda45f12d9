#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Batches of KV events as engines encode them, with what an index holds after
each: the source of fixtures.txt.

The structs have the fields, defaults and options of those in the engines, and
are encoded by the library that the engines use. What is expected is written
here by hand, from the meaning of the events.

usage: make_fixtures.py             writes fixtures.txt to standard output
       make_fixtures.py --check F   compares; 77: msgspec is not installed
"""

import sys
from typing import Any, Optional, Union

try:
    import msgspec
except ImportError:
    print("msgspec is not installed")
    sys.exit(77)

HEADER = """\
# SPDX-License-Identifier: MIT
# Written by make_fixtures.py. One fact a line:
#   case NAME
#   batch SEQ OUTCOME ACCEPTED SKIPPED BROKEN PAYLOAD
#   ask ADAPTER SALT IMAGES TOKENS GPU HOST DISK   leading blocks by medium
#   held GPU HOST DISK                             blocks of the source
# TOKENS are FIRST+COUNT[,...], IMAGES are ID@BEGIN+COUNT[,...], - is none.
"""


def array_event(**options):
    return {"array_like": True, "omit_defaults": True, "gc": False, **options}


def map_event(**options):
    return {"omit_defaults": True, "gc": False, **options}


class Batch(msgspec.Struct, **array_event()):
    """Before there were ranks."""
    ts: float
    events: list[Any]


class RankedBatch(msgspec.Struct, **array_event()):
    """vLLM's data_parallel_rank, SGLang's attn_dp_rank."""
    ts: float
    events: list[Any]
    rank: Optional[int] = None


# ---- vLLM 0.8 ----

class Vllm08Stored(msgspec.Struct, **array_event(tag="BlockStored")):
    block_hashes: list[int]
    parent_block_hash: Optional[int]
    token_ids: list[int]
    block_size: int
    lora_id: Optional[int]


class Vllm08Removed(msgspec.Struct, **array_event(tag="BlockRemoved")):
    block_hashes: list[int]


class ArrayCleared(msgspec.Struct, **array_event(tag="AllBlocksCleared")):
    pass


# ---- vLLM 0.10.2: digests, medium ----

Digest = Union[bytes, int]


class Vllm010Stored(msgspec.Struct, **array_event(tag="BlockStored")):
    block_hashes: list[Digest]
    parent_block_hash: Optional[Digest]
    token_ids: list[int]
    block_size: int
    lora_id: Optional[int]
    medium: Optional[str]


class Vllm010Removed(msgspec.Struct, **array_event(tag="BlockRemoved")):
    block_hashes: list[Digest]
    medium: Optional[str]


# ---- vLLM 0.22: names of adapters, extra keys, groups ----

class Vllm022Stored(msgspec.Struct, **array_event(tag="BlockStored")):
    block_hashes: list[Digest]
    parent_block_hash: Optional[Digest]
    token_ids: list[int]
    block_size: int
    lora_id: Optional[int]
    medium: Optional[str]
    lora_name: Optional[str]
    extra_keys: Optional[list[Optional[tuple[Any, ...]]]] = None
    group_idx: Optional[int] = None
    kv_cache_spec_kind: Optional[str] = None
    kv_cache_spec_sliding_window: Optional[int] = None


class Vllm022Removed(msgspec.Struct, **array_event(tag="BlockRemoved")):
    block_hashes: list[Digest]
    medium: Optional[str]
    group_idx: Optional[int] = None


# ---- vLLM 0.24 and later: maps, locality ----

class Vllm024Stored(msgspec.Struct, **map_event(tag="BlockStored")):
    block_hashes: list[Digest]
    parent_block_hash: Optional[Digest]
    token_ids: list[int]
    block_size: int
    lora_id: Optional[int]
    medium: Optional[str]
    lora_name: Optional[str]
    extra_keys: Optional[list[Optional[tuple[Any, ...]]]] = None
    group_idx: Optional[int] = None
    kv_cache_spec_kind: Optional[str] = None
    kv_cache_spec_sliding_window: Optional[int] = None
    locality: Optional[str] = None


class Vllm024Removed(msgspec.Struct, **map_event(tag="BlockRemoved")):
    block_hashes: list[Digest]
    medium: Optional[str]
    group_idx: Optional[int] = None
    locality: Optional[str] = None


class MapCleared(msgspec.Struct, **map_event(tag="AllBlocksCleared")):
    pass


# ---- SGLang ----

class SglangStored(msgspec.Struct, **array_event(tag="BlockStored")):
    block_hashes: list[int]
    parent_block_hash: Optional[int]
    token_ids: list[Any]
    block_size: int
    lora_id: Optional[int]
    medium: Optional[str] = None


class SglangMetadata(msgspec.Struct, **map_event()):
    cache_salt: Optional[str] = None
    session_id: Optional[str] = None


class SglangStoredWithMetadata(msgspec.Struct,
                               **array_event(tag="BlockStored")):
    block_hashes: list[int]
    parent_block_hash: Optional[int]
    token_ids: list[int]
    block_size: int
    lora_id: Optional[int]
    medium: Optional[str]
    metadata: SglangMetadata


class SglangRemoved(msgspec.Struct, **array_event(tag="BlockRemoved")):
    block_hashes: list[int]
    medium: Optional[str] = None


class SglangMapStored(msgspec.Struct, **map_event(tag="BlockStored")):
    block_hashes: list[int]
    parent_block_hash: Optional[int]
    token_ids: list[int]
    block_size: int
    lora_id: Optional[int]
    medium: Optional[str] = None
    cache_salt: Optional[str] = None
    session_id: Optional[str] = None


class SglangMapRemoved(msgspec.Struct, **map_event(tag="BlockRemoved")):
    block_hashes: list[int]
    medium: Optional[str] = None


# ---- the cases ----

class Script:
    """Collects the lines of the cases."""

    def __init__(self):
        self.lines = []
        self.encoder = msgspec.msgpack.Encoder()
        self.seq = 0

    def case(self, name):
        self.lines.append(f"case {name}")
        self.seq = 0

    def batch(self, batch, skipped=0, broken=0, outcome="applied"):
        accepted = len(batch.events) - skipped - broken
        payload = self.encoder.encode(batch).hex()
        self.lines.append(f"batch {self.seq} {outcome} {accepted} {skipped} "
                          f"{broken} {payload}")
        self.seq += 1

    def ask(self, tokens, gpu=0, host=0, disk=0, adapter="-", salt="-",
            images="-"):
        self.lines.append(f"ask {adapter} {salt} {images} {tokens} "
                          f"{gpu} {host} {disk}")

    def held(self, gpu=0, host=0, disk=0):
        self.lines.append(f"held {gpu} {host} {disk}")


def ids(first, count):
    return list(range(first, first + count))


def digest(number, length=32):
    """Any digest: as long as given, another one for each number."""
    return bytes((number * 37 + i * 11) % 256 for i in range(length))


def vllm_08(script):
    script.case("vllm-0.8")
    script.batch(Batch(1.0, [Vllm08Stored([-1, 2 ** 63 - 1], None,
                                          ids(1, 32), 16, None)]))
    script.ask("1+32", gpu=2)
    script.ask("1+16,50+16", gpu=1)
    script.ask("2+32")
    script.batch(Batch(2.0, [Vllm08Stored([-2 ** 63], 2 ** 63 - 1,
                                          ids(33, 16), 16, None),
                             Vllm08Stored([77], None, ids(500, 16), 16, 3)]))
    script.ask("1+48", gpu=3)
    script.ask("500+16")
    script.ask("500+16", gpu=1, adapter="3")
    script.held(gpu=4)
    script.batch(Batch(3.0, [Vllm08Removed([-1])]))
    script.ask("1+48")
    script.held(gpu=3)
    script.batch(Batch(4.0, [ArrayCleared()]))
    script.held()


def vllm_0102(script):
    script.case("vllm-0.10.2")
    first, second, third = digest(1), digest(2, 16), digest(3)
    script.batch(RankedBatch(1.0, [Vllm010Stored(
        [first, second], None, ids(100000, 64), 32, None, "GPU")], 0))
    script.batch(RankedBatch(2.0, [
        Vllm010Stored([third], second, ids(100064, 32), 32, None, "GPU"),
        # The last 8 bytes of a digest name the same block.
        Vllm010Stored([int.from_bytes(first[-8:], "big")], None,
                      ids(100000, 32), 32, None, "CPU")], 0))
    script.ask("100000+96", gpu=3)
    script.held(gpu=3, host=1)
    script.batch(RankedBatch(3.0, [Vllm010Removed([first], "GPU")], 0))
    script.ask("100000+96", gpu=2, host=1)
    # Known blocks, told again without their tokens.
    script.batch(RankedBatch(4.0, [
        Vllm010Stored([second, third], None, [], 0, None, "CPU"),
        Vllm010Removed([second, third], "GPU")], 0))
    script.ask("100000+96", host=3)
    script.batch(RankedBatch(5.0, [Vllm010Removed([second], None)], 0))
    script.ask("100000+96", host=1)
    script.held(host=2)


def vllm_022(script):
    script.case("vllm-0.22")
    script.batch(RankedBatch(1.0, [
        Vllm022Stored([10, 11], None, ids(1, 32), 16, None, "GPU", None,
                      None, 0, "full_attention", None),
        Vllm022Stored([10, 11], None, ids(1, 32), 16, None, "GPU", None,
                      None, 1, "sliding_window", 1024)], 0), skipped=1)
    script.ask("1+32", gpu=2)
    script.held(gpu=2)
    script.batch(RankedBatch(2.0, [
        Vllm022Stored([20, 21], None, ids(1, 32), 16, 5, "GPU", "sql",
                      [("sql",), ("sql",)], 0, "mla_attention", None),
        Vllm022Stored([30, 31], None, ids(1, 32), 16, None, "GPU", None,
                      [("pepper",), None], 0, "full_attention", None),
        Vllm022Stored([40, 41, 42], None, ids(1, 48), 16, None, "GPU", None,
                      [(("cat", 4),), (("cat", -12), ("dog", 6)),
                       (("dog", -10),)], 0, "sink_full_attention", None),
        Vllm022Stored([50], None, ids(900, 16), 16, None, "TAPE", None)], 0),
        skipped=1)
    script.ask("1+32", gpu=2, adapter="sql")
    script.ask("1+32", adapter="other")
    script.ask("1+32", gpu=2, salt="pepper")
    script.ask("1+32", salt="salt")
    script.ask("1+48", gpu=3, images="cat@4+15,dog@22+20")
    script.ask("1+48", gpu=1, images="cat@4+15,cow@22+20")
    script.ask("1+48", images="dog@4+15,cat@22+20")
    script.ask("900+16")
    script.batch(RankedBatch(3.0, [Vllm022Removed([41], "GPU", 0)], 0))
    script.ask("1+48", gpu=1, images="cat@4+15,dog@22+20")
    script.held(gpu=8)


def vllm_024(script):
    script.case("vllm-0.24")
    script.batch(RankedBatch(1.0, [
        Vllm024Stored([2 ** 64 - 1, digest(9)], None, ids(1, 32), 16, None,
                      "GPU", None, group_idx=0,
                      kv_cache_spec_kind="full_attention")], 0))
    script.ask("1+32", gpu=2)
    script.batch(RankedBatch(2.0, [
        Vllm024Stored([3], digest(9), ids(33, 16), 16, None, "FS", None,
                      locality="LOCAL"),
        Vllm024Stored([4], None, ids(600, 16), 16, None, "OBJ", None,
                      locality="REMOTE"),
        Vllm024Removed([3], "FS", locality="REMOTE"),
        Vllm024Stored([5], None, ids(700, 16), 16, 1, "STORAGE", "sql",
                      [("sql", "pepper")]),
        Vllm024Stored([6], None, ids(800, 16), 16, None, "CPU", None,
                      group_idx=2, kv_cache_spec_kind="mamba")], 1),
        skipped=3)
    script.ask("1+48", gpu=2, disk=1)
    script.ask("600+16")
    script.ask("700+16", disk=1, adapter="sql", salt="pepper")
    script.ask("700+16", adapter="sql")
    script.ask("800+16")
    # Both forms in one batch.
    script.batch(RankedBatch(3.0, [
        Vllm010Removed([3], "FS"),
        Vllm024Removed([2 ** 64 - 1], "GPU", 0)], 0))
    script.ask("1+48")
    script.held(gpu=1, disk=1)
    script.batch(RankedBatch(4.0, [MapCleared()], 0))
    script.held()


def sglang_array(script):
    script.case("sglang-array")
    script.batch(RankedBatch(1.0, [ArrayCleared()], 0))
    script.batch(RankedBatch(2.0, [
        SglangStored([-2, 5, 6], None, ids(1, 3), 1, None, "GPU")], 0))
    script.ask("1+3", gpu=3)
    script.batch(RankedBatch(3.0, [
        SglangStored([7, -8], 6, ids(4, 2), 1, None, "GPU"),
        SglangStored([-2, 5], None, ids(1, 2), 1, None, "CPU_PINNED"),
        SglangRemoved([-2, 5], "GPU"),
        # Without a medium, as before it was told.
        SglangStored([90], None, ids(70, 1), 1, None)], 0))
    script.ask("1+5", gpu=3, host=2)
    script.ask("70+1", gpu=1)
    script.held(gpu=4, host=2)
    script.batch(RankedBatch(4.0, [SglangRemoved([7, -8]),
                                   SglangStored([-2], None, [1], 1, None,
                                                "DISK"),
                                   SglangRemoved([-2, 5], "CPU_PINNED"),
                                   SglangStored([5], -2, [2], 1, None,
                                                "EXTERNAL")], 0))
    script.ask("1+5", gpu=1, disk=2)
    # Pairs of tokens, as speculative decoding keeps them.
    script.batch(RankedBatch(5.0, [
        SglangStored([30, 31], None, [[800, 801], [801, 802]], 1, None,
                     "GPU")], 0))
    script.ask("800+2", gpu=2)


def sglang_metadata(script):
    script.case("sglang-metadata")
    script.batch(RankedBatch(1.0, [
        SglangStoredWithMetadata([1, 2], None, ids(1, 4), 2, None, "GPU",
                                 SglangMetadata("pepper")),
        SglangStored([3, 4], None, ids(1, 4), 2, None, "GPU"),
        SglangStoredWithMetadata([5], 2, ids(5, 2), 2, None, "GPU",
                                 SglangMetadata("pepper", "s-1"))], 0))
    script.ask("1+6", gpu=3, salt="pepper")
    script.ask("1+6", gpu=2)
    script.ask("1+6", salt="salt")
    script.batch(RankedBatch(2.0, [
        SglangStoredWithMetadata([6], 4, ids(5, 2), 2, None, "CPU_TIER1",
                                 SglangMetadata(None, "s-2")),
        SglangRemoved([1], "GPU")], 0))
    script.ask("1+6", gpu=2, host=1)
    script.ask("1+6", salt="pepper")


def sglang_map(script):
    script.case("sglang-map")
    script.batch(RankedBatch(1.0, [
        MapCleared(),
        SglangMapStored([-1, -2], None, ids(1, 8), 4, None, "GPU"),
        SglangMapStored([7], -2, ids(9, 4), 4, None, "CPU_PINNED", None,
                        "s-1"),
        SglangMapStored([8], None, ids(1, 4), 4, None, "GPU", "pepper")]))
    script.ask("1+12", gpu=2, host=1)
    script.ask("1+12", gpu=1, salt="pepper")
    script.batch(RankedBatch(2.0, [SglangMapRemoved([-2], "GPU"),
                                   SglangMapRemoved([7])], 3))
    script.ask("1+12", gpu=1)
    script.held(gpu=2)


def text():
    script = Script()
    for case in [vllm_08, vllm_0102, vllm_022, vllm_024, sglang_array,
                 sglang_metadata, sglang_map]:
        case(script)
    return HEADER + "\n".join(script.lines) + "\n"


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        with open(sys.argv[2], encoding="ascii") as file:
            same = file.read() == text()
        print("as written" if same else "not what the generator writes")
        return 0 if same else 1
    sys.stdout.write(text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
