# SPDX-License-Identifier: MIT
"""Exceptions: one for each result code that is no success."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from ._lbroute import ffi, lib

if TYPE_CHECKING:
    from ._decision import Decision
    from ._waiting import Place

OK: int = lib.LBROUTE_OK
NAMES: dict[int, str] = {
    getattr(lib, name): name
    for name in dir(lib) if name.startswith("LBROUTE_ERR_")
}


class Error(Exception):
    """A call of the library that failed. It changed nothing.

    `code` is the result code, `name` its name in C, `advice` what it means and
    what to do next, `call` what failed.
    """

    code: int = 0

    def __init__(self, call: str, code: Optional[int] = None) -> None:
        if code is not None:
            self.code = code
        self.call = call
        self.name = NAMES.get(self.code, "unknown code")
        self.advice: str = ffi.string(lib.lbroute_strerror(self.code)).decode()
        super().__init__(f"{call}: {self.advice} ({self.name})")


class InvalidError(Error, ValueError):
    """An argument is malformed."""

    code = lib.LBROUTE_ERR_INVALID


class NoMemoryError(Error, MemoryError):
    """There is no memory."""

    code = lib.LBROUTE_ERR_NO_MEMORY


class NotFoundError(Error, LookupError):
    """There is no such object, or it is gone."""

    code = lib.LBROUTE_ERR_NOT_FOUND


class ExistsError(Error):
    """The name is taken."""

    code = lib.LBROUTE_ERR_EXISTS


class LimitError(Error):
    """A bound of the router is reached."""

    code = lib.LBROUTE_ERR_LIMIT


class RangeError(Error, ValueError):
    """A number is NaN or outside its range."""

    code = lib.LBROUTE_ERR_RANGE


class BadNameError(Error, ValueError):
    """A name is empty, too long or holds control characters."""

    code = lib.LBROUTE_ERR_NAME


class TooSmallError(Error):
    """A buffer is too small. The package sizes them itself."""

    code = lib.LBROUTE_ERR_BUFFER


class UnsupportedError(Error):
    """The library lacks a feature."""

    code = lib.LBROUTE_ERR_UNSUPPORTED


class BusyError(Error, RuntimeError):
    """The object is in use; or a scorer picks from its own router."""

    code = lib.LBROUTE_ERR_BUSY


class NoNewsError(Error):
    """A page of metrics holds nothing that the library knows."""

    code = lib.LBROUTE_ERR_NO_NEWS


class FormatError(Error, ValueError):
    """Bytes are not of the format that they should be of."""

    code = lib.LBROUTE_ERR_FORMAT


class PickError(Error):
    """A request got no target. `decision` says why."""

    def __init__(self, call: str, decision: Decision) -> None:
        super().__init__(call)
        self.decision = decision

    @property
    def reason(self) -> Optional[str]:
        """The reason that held for most targets."""
        return self.decision.reason


class NoTargetError(PickError):
    """No target may take the request. Answer its client with an error."""

    code = lib.LBROUTE_ERR_NO_TARGET


class SaturatedError(PickError):
    """Every target that could take the request is full, or it waited for too
    long. `retry_after` is when a slot is expected, in seconds; None while that
    is unknown."""

    code = lib.LBROUTE_ERR_SATURATED

    @property
    def retry_after(self) -> Optional[float]:
        """Seconds until a slot is expected to be free; None: unknown."""
        wait = self.decision.wait_ns
        return None if wait is None or self.decision.place else wait / 1e9


class Queued(PickError):
    """No slot now: the request waits. `place` hands out its decision; without a
    reference to it the request is given up."""

    code = lib.LBROUTE_ERR_QUEUED

    def __init__(self, call: str, decision: Decision, place: Place) -> None:
        super().__init__(call, decision)
        self.place = place


_CLASSES: dict[int, type[Error]] = {
    kind.code: kind
    for kind in (InvalidError, NoMemoryError, NotFoundError, ExistsError,
                 LimitError, RangeError, BadNameError, TooSmallError,
                 UnsupportedError, BusyError, NoNewsError, FormatError)
}
_PICK_CLASSES: dict[int, type[PickError]] = {
    kind.code: kind for kind in (NoTargetError, SaturatedError)
}


def error(code: int, call: str) -> Error:
    """The exception for a result code."""
    kind = _CLASSES.get(code)
    return kind(call) if kind else Error(call, code)


def pick_error(code: int, call: str, decision: Decision) -> Error:
    """The exception for the result of a pick."""
    kind = _PICK_CLASSES.get(code)
    return kind(call, decision) if kind else error(code, call)


def check(code: int, call: str) -> None:
    """Raises unless the result is a success."""
    if code != OK:
        raise error(code, call)
