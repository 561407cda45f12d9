# SPDX-License-Identifier: MIT
"""Pools: targets with one strategy and its parameters."""

from __future__ import annotations

from typing import (TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping,
                    MutableMapping, Optional)

from . import _structs
from ._codes import text
from ._decision import Decision
from ._errors import check, error
from ._lbroute import ffi, lib
from ._request import RequestFields, Text, as_name
from ._scorer import Score, Scorer, add_scorer
from ._waiting import PendingPick

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._router import Explanation, Router
    from ._target import Target


class Parameters(MutableMapping[str, float]):
    """The parameters of a pool by name. All exist always: setting one to its
    default is what deleting it does."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def __getitem__(self, name: str) -> float:
        value = ffi.new("double *")
        code = lib.lbroute_pool_get(self._pool.router._c, self._pool.handle,
                                    name.encode(), value)
        if code == lib.LBROUTE_ERR_NOT_FOUND:
            raise KeyError(name)
        check(code, name)
        return float(value[0])

    def __setitem__(self, name: str, value: float) -> None:
        code = lib.lbroute_pool_set(self._pool.router._c, self._pool.handle,
                                    name.encode(), value)
        if code == lib.LBROUTE_ERR_NOT_FOUND:
            raise KeyError(name)
        check(code, f"{name} = {value}")
        self._pool.router._changed()

    def __delitem__(self, name: str) -> None:
        for parameter in _structs.parameters():
            if parameter.name == name:
                self[name] = parameter.default_value
                return
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (parameter.name for parameter in _structs.parameters())

    def __len__(self) -> int:
        return len(_structs.parameters())

    def __repr__(self) -> str:
        return repr(dict(self))


class Pool:
    """A named set of targets with one strategy. Made by Router.add_pool()."""

    __slots__ = ("router", "handle", "name", "__weakref__")

    def __init__(self, router: Router, handle: int, name: str) -> None:
        self.router = router
        self.handle = handle
        self.name = name

    @property
    def strategy(self) -> str:
        """Name of the strategy; another one may be assigned."""
        info = _structs.prepared("lbroute_pool_info")
        check(lib.lbroute_pool_get_info(self.router._c, self.handle, info),
              "pool")
        return text(info.strategy)

    @strategy.setter
    def strategy(self, name: Text) -> None:
        data = as_name(name)
        check(lib.lbroute_pool_update(self.router._c, self.handle, data,
                                      len(data)), f"strategy {name!r}")
        self.router._changed()

    @property
    def parameters(self) -> Parameters:
        """The parameters by name, as a mapping to change."""
        return Parameters(self)

    def add_target(self, name: Text, *, weight: Optional[float] = None,
                   max_concurrency: Optional[int] = None,
                   max_input_tokens: Optional[int] = None,
                   tier: Text = "", model: Text = "", price_key: Text = "",
                   user: Any = None, now: Optional[int] = None) -> Target:
        """Adds a target to the pool; see Router.add_target()."""
        return self.router.add_target(
            name, pool=self, weight=weight, max_concurrency=max_concurrency,
            max_input_tokens=max_input_tokens, tier=tier, model=model,
            price_key=price_key, user=user, now=now)

    @property
    def targets(self) -> list[Target]:
        """Its targets."""
        handle = ffi.new("lbroute_target *")
        found = []
        while lib.lbroute_target_next(self.router._c, self.handle, handle[0],
                                      handle) == lib.LBROUTE_OK:
            target = self.router._targets.get(handle[0])
            if target is not None:
                found.append(target)
        return found

    def remove(self) -> None:
        """Removes the pool and its scorers. BusyError while it has targets."""
        router = self.router
        check(lib.lbroute_pool_remove(router._c, self.handle), "pool")
        router._pools.pop(self.handle, None)
        for scorer in list(router._scorers.values()):
            if scorer.pool is self:
                router._scorers.pop(scorer.handle, None)

    def pick(self, *, model: Optional[Text] = None,
             session: Optional[Text] = None, client: Optional[Text] = None,
             prompt: Optional[Text] = None,
             input_tokens: Optional[int] = None,
             exclude: Iterable[Target] = (),
             now: Optional[int] = None,
             **fields: Unpack[RequestFields]) -> Decision:
        """Router.pick() among its targets."""
        return self.router.pick(self, model=model, session=session,
                                client=client, prompt=prompt,
                                input_tokens=input_tokens, exclude=exclude,
                                now=now, **fields)

    def pick_async(self, *, model: Optional[Text] = None,
                   session: Optional[Text] = None,
                   client: Optional[Text] = None,
                   prompt: Optional[Text] = None,
                   input_tokens: Optional[int] = None,
                   exclude: Iterable[Target] = (),
                   now: Optional[int] = None,
                   **fields: Unpack[RequestFields]) -> PendingPick:
        """Router.pick_async() among its targets."""
        return self.router.pick_async(
            self, model=model, session=session, client=client,
            prompt=prompt, input_tokens=input_tokens, exclude=exclude,
            now=now, **fields)

    def explain(self, *, model: Optional[Text] = None,
                session: Optional[Text] = None, client: Optional[Text] = None,
                prompt: Optional[Text] = None,
                input_tokens: Optional[int] = None,
                exclude: Iterable[Target] = (),
                now: Optional[int] = None,
                **fields: Unpack[RequestFields]) -> Explanation:
        """Router.explain() among its targets."""
        return self.router.explain(self, model=model, session=session,
                                   client=client, prompt=prompt,
                                   input_tokens=input_tokens, exclude=exclude,
                                   now=now, **fields)

    def add_scorer(self, function: Score, *, name: Optional[Text] = None,
                   weight: float = 1.0) -> Scorer:
        """Adds a scorer, under its own name if not told otherwise. It takes
        part while the strategy is `pipeline`, or `adaptive` acts as one."""
        return add_scorer(self, function, name, weight,
                          lib.LBROUTE_SCORER_SCORER)

    def add_filter(self, function: Score, *, name: Optional[Text] = None
                   ) -> Scorer:
        """Adds a filter: only candidates with a score above 0 stay in."""
        return add_scorer(self, function, name, 1.0, lib.LBROUTE_SCORER_FILTER)

    def scorer(self, *, name: Optional[Text] = None, weight: float = 1.0
               ) -> Callable[[Score], Score]:
        """Decorator form of add_scorer()."""
        def register(function: Score) -> Score:
            self.add_scorer(function, name=name, weight=weight)
            return function
        return register

    def filter(self, *, name: Optional[Text] = None
               ) -> Callable[[Score], Score]:
        """Decorator form of add_filter()."""
        def register(function: Score) -> Score:
            self.add_filter(function, name=name)
            return function
        return register

    @property
    def scorers(self) -> list[Scorer]:
        """Its scorers and filters."""
        return [scorer for scorer in list(self.router._scorers.values())
                if scorer.pool is self]

    def stats(self) -> _structs.PoolStats:
        """Its capacity."""
        stats = _structs.prepared("lbroute_pool_stats")
        check(lib.lbroute_get_pool_stats(self.router._c, self.handle, stats),
              "get_pool_stats")
        return _structs.PoolStats(stats)

    def shares(self, *, now: Optional[int] = None
               ) -> dict[str, _structs.Share]:
        """What each target got of the traffic, by its name."""
        router = self.router
        now = router._clock() if now is None else now
        rows = _structs.rows(
            "lbroute_share",
            lambda array, room, count: lib.lbroute_pool_shares(
                router._c, self.handle, now, array, room, count))
        return {router._targets[row.target].name: _structs.Share(row, keep)
                for row, keep in rows if row.target in router._targets}

    def __repr__(self) -> str:
        return f"<Pool {self.name!r}: {self.strategy}>"


def add_pool(router: Router, name: Text, strategy: Text,
             parameters: Mapping[str, float]) -> Pool:
    """Adds a pool; if a parameter is refused there is none."""
    options = _structs.prepared("lbroute_pool_options")
    names = ffi.from_buffer(as_name(name)), ffi.from_buffer(as_name(strategy))
    options.name, options.strategy = names
    options.name_len, options.strategy_len = map(len, names)
    handle = ffi.new("lbroute_pool *")
    code = lib.lbroute_pool_add(router._c, options, handle)
    if code != lib.LBROUTE_OK:
        raise error(code, f"pool {name!r}, strategy {strategy!r}")
    pool = Pool(router, handle[0], as_name(name).decode("utf-8", "replace"))
    router._pools[pool.handle] = pool
    try:
        pool.parameters.update(parameters)
    except BaseException:
        pool.remove()
        raise
    return pool
