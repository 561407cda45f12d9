# SPDX-License-Identifier: MIT
"""Requests: what a host knows of one, as the struct that C reads.

Text and ids are handed over where they lie as long as they are bytes or a
contiguous buffer of the right item size; only str and lists are copied.
"""

from __future__ import annotations

from array import array
from typing import (TYPE_CHECKING, Any, Callable, Iterable, Mapping, Sequence,
                    TypedDict, Union, cast)

from ._errors import RangeError, check
from ._lbroute import ffi, lib

if TYPE_CHECKING:
    from ._target import Target

_POINTER = ffi.typeof("lbroute_request *")
_SIZE = ffi.sizeof("lbroute_request")
_init = lib.lbroute_request_init

#: Text: str is taken as UTF-8, anything else as the bytes that it holds.
Text = Union[str, bytes, bytearray, memoryview]
#: Numbers: a list, an array, or anything with a buffer, such as of NumPy.
Numbers = Union[Sequence[int], memoryview, Any]


class RequestFields(TypedDict, total=False):
    """What a request may say besides model, session, client, prompt, length and
    targets not to use, under the names of `lbroute_request`."""

    #: Exact tier.
    tier: Text
    #: What tells this conversation from others.
    conversation: Text
    #: The prompt as token ids of the model's tokenizer.
    tokens: Numbers
    #: The prompt as hashes of its complete blocks; see hash_blocks().
    blocks: Numbers
    #: LoRA adapter.
    adapter: Text
    #: Cache salt.
    salt: Text
    #: Leading tokens that a cache controller found, by target.
    lookup: Mapping[Target, int]
    #: Expected length of the answer.
    output_tokens: int
    #: How much of the input the engine will find in its cache.
    cached_tokens: int
    #: Images and the like: identifier, first token, number of tokens.
    mm_items: Iterable[tuple[Text, int, int]]
    #: Who goes first of those that wait, -8 to 7.
    priority: int
    #: Time by which it must have got its slot, as `now`.
    deadline: int
    #: A number of the host's own, returned with the decision.
    tag: int


def utf8(text: str) -> bytes:
    """The bytes of a text. JSON may hold halves of surrogate pairs; what
    matters is that equal texts give equal bytes."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def as_bytes(value: Text) -> Any:
    """Bytes of a text, or a view of them where they are."""
    kind = type(value)
    if kind is bytes:
        return value
    if isinstance(value, str):
        return utf8(value)
    return ffi.from_buffer(value)


def as_view(value: Text) -> Any:
    """A view of the bytes of a text, for the fields of structs."""
    return ffi.from_buffer(utf8(value) if isinstance(value, str) else value)


def as_name(value: Text) -> bytes:
    """Bytes of a name, a copy."""
    return utf8(value) if isinstance(value, str) else bytes(value)


def _fits(view: memoryview, size: int) -> bool:
    return (view.itemsize == size and view.c_contiguous
            and view.format in ("I", "i", "L", "l", "Q", "q"))


def as_numbers(values: Numbers, ctype: str, code: str) -> Any:
    """An array of numbers for C, without a copy where there is a buffer of
    them."""
    size = ffi.sizeof(ctype)
    try:
        view = memoryview(cast(Any, values))
    except TypeError:
        return ffi.from_buffer(ctype + "[]", _listed(values, code))
    if _fits(view, size):
        return ffi.from_buffer(ctype + "[]", values)
    if hasattr(values, "astype"):
        return ffi.from_buffer(ctype + "[]", _narrowed(values, size))
    return ffi.from_buffer(ctype + "[]", _listed(view.tolist(), code))


def _listed(values: Iterable[int], code: str) -> array[int]:
    try:
        return array(code, values)
    except OverflowError:
        raise RangeError("numbers") from None


def _narrowed(values: Any, size: int) -> Any:
    narrow = values.astype(f"u{size}", order="C")
    if not (narrow == values).all():
        raise RangeError("numbers")
    return narrow


Keep = list[Any]
_Setter = Callable[[Any, Any, Keep], None]


def _text(name: str) -> _Setter:
    name_len = name + "_len"

    def put(request: Any, value: Text, keep: Keep) -> None:
        data = as_view(value)
        keep.append(data)
        setattr(request, name, data)
        setattr(request, name_len, len(data))
    return put


def _numbers(name: str, ctype: str, code: str) -> _Setter:
    def put(request: Any, value: Numbers, keep: Keep) -> None:
        data = as_numbers(value, ctype, code)
        keep.append(data)
        setattr(request, name, data)
        setattr(request, name + "_len", len(data))
    return put


def _number(name: str) -> _Setter:
    def put(request: Any, value: int, _keep: Keep) -> None:
        setattr(request, name, value)
    return put


def _exclude(request: Any, value: Iterable[Target], keep: Keep) -> None:
    handles = [target.handle for target in value]
    if not handles:
        return
    data = ffi.new("lbroute_target[]", handles)
    keep.append(data)
    request.exclude = data
    request.exclude_len = len(handles)


def _lookup(request: Any, value: Mapping[Target, int], keep: Keep) -> None:
    targets = ffi.new("lbroute_target[]", [target.handle for target in value])
    tokens = ffi.new("uint64_t[]", list(value.values()))
    keep += [targets, tokens]
    request.lookup_targets = targets
    request.lookup_tokens = tokens
    request.lookup_len = len(targets)


def _mm_items(request: Any, value: Iterable[tuple[Text, int, int]],
              keep: Keep) -> None:
    given = list(value)
    items = ffi.new("lbroute_mm_item[]", len(given))
    keep.append(items)
    for item, (identifier, begin, count) in zip(items, given):
        _text("id")(item, identifier, keep)
        item.begin = begin
        item.count = count
    request.mm_items = items
    request.mm_item_count = len(given)


_SETTERS: dict[str, _Setter] = {
    **{name: _text(name) for name in (
        "model", "tier", "session", "client", "conversation", "prompt",
        "adapter", "salt")},
    **{name: _number(name) for name in (
        "input_tokens", "output_tokens", "cached_tokens", "priority",
        "deadline", "tag")},
    "tokens": _numbers("tokens", "uint32_t", "I"),
    "blocks": _numbers("blocks", "uint64_t", "Q"),
    "exclude": _exclude,
    "lookup": _lookup,
    "mm_items": _mm_items,
}


def fill(pool: int, usual: Mapping[str, Any], fields: Mapping[str, Any]
         ) -> tuple[Any, Keep]:
    """The struct of a request, and what must live as long as it is used.
    `usual` are the fields that a pick names, `fields` the others."""
    request = ffi.new(_POINTER)
    _init(request, _SIZE)
    request.pool = pool
    keep: Keep = []
    for name, value in usual.items():
        if value is not None:
            _SETTERS[name](request, value, keep)
    for name, value in fields.items():
        if value is None:
            continue
        put = _SETTERS.get(name)
        if put is None:
            raise TypeError(f"a request has no field {name!r}")
        put(request, value, keep)
    return request, keep


def hash_blocks(symbols: Union[Text, Numbers], block_size: int,
                symbol_size: int = 0) -> array[int]:
    """Hashes a prompt by blocks, for the field `blocks` of a request.

    `symbols` is text, or token ids; `block_size` counts symbols in a block
    (usually 256 bytes of text or 16 token ids). `symbol_size` is 1 for text and
    4 for ids, if not told otherwise (8: ids of 64 bits).
    """
    if isinstance(symbols, (str, bytes)):
        data, symbol_size = as_view(symbols), symbol_size or 1
    elif symbol_size == 8:
        data = as_numbers(symbols, "uint64_t", "Q")
    else:
        data, symbol_size = as_numbers(symbols, "uint32_t", "I"), 4
    count = ffi.sizeof(data) // symbol_size
    blocks = array("Q", bytes(8 * (count // max(block_size, 1))))
    check(lib.lbroute_hash_blocks(
        data, count, symbol_size, block_size,
        ffi.from_buffer("uint64_t[]", blocks), len(blocks),
        ffi.new("size_t *")), "hash_blocks")
    return blocks
