# SPDX-License-Identifier: MIT
"""Prices of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator, MutableMapping, Optional

from . import _structs
from ._errors import check
from ._lbroute import ffi, lib
from ._request import as_name

if TYPE_CHECKING:
    from ._router import Router

_KEY_BYTES = lib.LBROUTE_NAME_MAX + 1


def _put(rate: Optional[int]) -> int:
    return -1 if rate is None else rate


def _get(rate: int) -> Optional[int]:
    return None if rate == -1 else rate


def _pico(dollars: Optional[float]) -> Optional[int]:
    return None if dollars is None else round(dollars * 1e6)


@dataclass(frozen=True)
class PriceTier:
    """Rates of requests with more input than `above_tokens`."""

    above_tokens: int
    input: Optional[int] = None
    output: Optional[int] = None
    cached_input: Optional[int] = None


@dataclass(frozen=True)
class Price:
    """What a token costs in whole pico-dollars (a dollar per million tokens is
    1,000,000); None: unknown."""

    input: Optional[int] = None
    output: Optional[int] = None
    cached_input: Optional[int] = None
    tiers: tuple[PriceTier, ...] = ()

    @classmethod
    def per_million(cls, input: Optional[float] = None,
                    output: Optional[float] = None,
                    cached_input: Optional[float] = None) -> Price:
        """Of dollars per million tokens, as price lists say it."""
        return cls(_pico(input), _pico(output), _pico(cached_input))


def _put_rates(struct: Any, rates: Any) -> None:
    struct.input = _put(rates.input)
    struct.output = _put(rates.output)
    struct.cached_input = _put(rates.cached_input)


def _rates(struct: Any) -> tuple[Optional[int], Optional[int], Optional[int]]:
    return (_get(struct.input), _get(struct.output), _get(struct.cached_input))


class Prices(MutableMapping[str, Price]):
    """The prices of a router by key, by default the model of a target."""

    def __init__(self, router: Router) -> None:
        self._router = router

    def __setitem__(self, key: str, price: Price) -> None:
        struct = _structs.prepared("lbroute_price")
        _put_rates(struct, price)
        if len(price.tiers) > len(struct.tiers):
            raise ValueError(f"more than {len(struct.tiers)} tiers")
        struct.tier_count = len(price.tiers)
        for place, tier in zip(struct.tiers, price.tiers):
            place.above_tokens = tier.above_tokens
            _put_rates(place, tier)
        name = as_name(key)
        check(lib.lbroute_set_price(self._router._c, name, len(name), struct),
              f"price of {key!r}")

    def __getitem__(self, key: str) -> Price:
        struct = _structs.prepared("lbroute_price")
        name = as_name(key)
        code = lib.lbroute_get_price(self._router._c, name, len(name), struct)
        if code == lib.LBROUTE_ERR_NOT_FOUND:
            raise KeyError(key)
        check(code, f"price of {key!r}")
        return Price(*_rates(struct), tuple(
            PriceTier(tier.above_tokens, *_rates(tier))
            for tier in struct.tiers[0:struct.tier_count]))

    def __delitem__(self, key: str) -> None:
        name = as_name(key)
        code = lib.lbroute_remove_price(self._router._c, name, len(name))
        if code == lib.LBROUTE_ERR_NOT_FOUND:
            raise KeyError(key)
        check(code, f"price of {key!r}")

    def __iter__(self) -> Iterator[str]:
        place = ffi.new("uint64_t *")
        key = ffi.new("char[]", _KEY_BYTES)
        length = ffi.new("size_t *")
        while lib.lbroute_price_next(self._router._c, place[0], place, key,
                                     _KEY_BYTES, length) == lib.LBROUTE_OK:
            yield ffi.buffer(key, length[0])[:].decode("utf-8", "replace")

    def __len__(self) -> int:
        return self._router.stats().prices
