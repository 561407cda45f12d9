# SPDX-License-Identifier: MIT
"""What the tests share: a clock that stands still, and small fleets."""

import pytest

import lbroute

SECOND = 1_000_000_000


class Clock:
    """Time that moves when it is told to."""

    def __init__(self):
        self.now = SECOND

    def __call__(self):
        return self.now

    def advance(self, seconds):
        self.now += round(seconds * SECOND)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def router(clock):
    return lbroute.Router(seed=7, clock=clock)


@pytest.fixture
def make_pool(router):
    """make_pool(strategy, targets, limit, parameters): a pool of a, b, c …, and
    with more than 26 targets numbers."""
    def make(strategy="weighted", targets=2, limit=32, parameters=None,
             on=router):
        pool = on.add_pool("pool", strategy, parameters)
        for i in range(targets):
            name = chr(ord("a") + i) if i < 26 else str(i)
            pool.add_target(name, max_concurrency=limit)
        return pool
    return make
