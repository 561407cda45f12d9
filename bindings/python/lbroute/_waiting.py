# SPDX-License-Identifier: MIT
"""Places of requests that wait for a slot, and picks that can be awaited."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generator, Optional

from ._decision import Decision
from ._errors import Error, NotFoundError, Queued, pick_error
from ._lbroute import lib

if TYPE_CHECKING:
    from ._router import Router

_OK = lib.LBROUTE_OK


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Place:
    """Where a request waits. `await` it, or poll() it; whoever drops it gives
    the request up."""

    __slots__ = ("_router", "handle", "_code", "_decision", "_loop", "_future",
                 "__weakref__")

    def __init__(self, router: Router, handle: int) -> None:
        self._router = router
        self.handle = handle
        self._code: Optional[int] = None
        self._decision: Optional[Decision] = None
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._future: Optional[asyncio.Future[None]] = None

    def __del__(self) -> None:
        self.cancel()

    def _end(self, code: int, decision: Decision) -> None:
        """Told by the router, in any thread, under its lock of places."""
        self._code = code
        self._decision = decision
        loop, future = self._loop, self._future
        if loop is None or future is None:
            return
        if asyncio._get_running_loop() is loop:
            _wake(future)
            return
        try:
            loop.call_soon_threadsafe(_wake, future)
        except RuntimeError:  # the loop is closed: nobody will ever come
            decision.cancel()

    def _take(self) -> Decision:
        code, decision = self._code, self._decision
        if decision is None or code is None:
            raise NotFoundError("place")
        self._decision = None
        if code != _OK:
            raise pick_error(code, "place", decision)
        return decision

    def poll(self, *, now: Optional[int] = None) -> Optional[Decision]:
        """The decision, once; None while the request waits.

        Raises SaturatedError when it waited too long, NoTargetError when nobody
        may take it any more, NotFoundError after cancel() and after the
        decision.
        """
        if self._code is None:
            self._router._serve(now)
            if self._code is None:
                return None
        return self._take()

    def cancel(self, *, now: Optional[int] = None) -> bool:
        """Gives the request up. If it has got its slot and nobody has taken the
        decision, that is cancelled. Returns whether there was anything to give
        up."""
        return self._router._give_up(self, now)

    def __await__(self) -> Generator[Any, None, Decision]:
        if self._code is None:
            loop = asyncio.get_running_loop()
            self._future = loop.create_future()
            self._loop = loop
            self._router._watch(loop)
            try:
                # What came before the router knew the loop wakes nobody.
                if self._code is None:
                    yield from self._future.__await__()
            except BaseException:
                self.cancel()
                raise
        return self._take()


class PendingPick:
    """A pick to be awaited, or entered by `async with`, which settles it as
    `with` settles a decision. Nothing happens before."""

    __slots__ = ("_router", "_pool", "_fields", "_decision")

    def __init__(self, router: Router, pool: int, fields: dict[str, Any]
                 ) -> None:
        self._router = router
        self._pool = pool
        self._fields = fields
        self._decision: Optional[Decision] = None

    def __await__(self) -> Generator[Any, None, Decision]:
        answer = self._router._try(self._pool, self._fields)
        if isinstance(answer, Queued):
            return (yield from answer.place.__await__())
        if isinstance(answer, Error):
            raise answer
        return answer

    async def __aenter__(self) -> Decision:
        self._decision = await self
        return self._decision

    async def __aexit__(self, kind: Optional[type[BaseException]],
                        error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        if self._decision is not None:
            self._decision.__exit__(kind, error, trace)
