# SPDX-License-Identifier: MIT
"""KV events that a host has decoded itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Optional, Sequence

from . import _structs
from ._codes import KvKind, Medium
from ._lbroute import ffi, lib
from ._request import Numbers, Text, as_bytes, as_numbers, as_view


@dataclass
class KvEvent:
    """Something that happened in a KV cache, under the names of
    `lbroute_kv_event`; no parent: the blocks begin a prompt."""

    kind: KvKind
    hashes: Sequence[int] = ()
    parent: Optional[int] = None
    tokens: Numbers = ()
    block_size: int = 0
    medium: Medium = Medium.ANY
    group: int = 0
    blocks: Numbers = ()
    adapter: Text = ""
    salt: Text = ""
    extra_keys: Sequence[int] = ()


def fold_key(digest: int, key: Text) -> int:
    """Folds an identifier into the extra key of a block, from 0 on."""
    data = as_bytes(key)
    return int(lib.lbroute_kv_fold_key(digest, data, len(data)))


def _put(struct: Any, event: KvEvent, keep: list[Any]) -> None:
    lib.lbroute_kv_event_init(ffi.addressof(struct), ffi.sizeof(struct))
    struct.kind, struct.medium = event.kind, event.medium
    struct.group, struct.block_size = event.group, event.block_size
    if event.parent is not None:
        struct.parent, struct.has_parent = event.parent, 1
    for name, count, ctype, code in (
            ("hashes", "hash_count", "uint64_t", "Q"),
            ("tokens", "token_count", "uint32_t", "I"),
            ("blocks", "block_count", "uint64_t", "Q"),
            ("extra_keys", "extra_key_count", "uint64_t", "Q")):
        values = getattr(event, name)
        if len(values):
            data = as_numbers(values, ctype, code)
            keep.append(data)
            setattr(struct, name, data)
            setattr(struct, count, len(data))
    for name in ("adapter", "salt"):
        data = as_view(getattr(event, name))
        keep.append(data)
        setattr(struct, name, data)
        setattr(struct, name + "_len", len(data))


def batch_of(events: Iterable[KvEvent], seq: Optional[int],
             timestamp: Optional[float], more: bool, continued: bool
             ) -> tuple[Any, list[Any]]:
    """The struct of a batch, and what must live as long as it is used."""
    given = list(events)
    batch = _structs.prepared("lbroute_kv_batch")
    array = ffi.new("lbroute_kv_event[]", len(given))
    keep = [array]
    for struct, event in zip(array, given):
        _put(struct, event, keep)
    if seq is not None:
        batch.seq = seq
    if timestamp is not None:
        batch.timestamp = timestamp
    batch.events, batch.event_count = array, len(given)
    batch.more, batch.continued = more, continued
    return batch, keep
