# SPDX-License-Identifier: MIT
"""A million picks that end in every way there is, at random: nothing leaks."""

import asyncio
import gc
import os
import random
import resource
import sys
import threading

import lbroute

PICKS = int(os.environ.get("LBROUTE_PYTHON_PICKS", "1000000"))
#: Decisions that are kept for a while: now and then more than there are slots.
HELD = 30
PROMPTS = [f"prompt {i} " * 60 for i in range(20)]
ERRORS = [ValueError, TimeoutError, KeyboardInterrupt, asyncio.CancelledError,
          GeneratorExit]


def make_router(limit=8, strategy="pipeline"):
    router = lbroute.Router(seed=5)
    pool = router.add_pool("pool", strategy,
                           {"queue.enabled": 1, "queue.timeout": 30,
                            "cache_aware.budget": 65536,
                            "health.bench_after": 0})
    for name in "abcd":
        pool.add_target(name, max_concurrency=limit)
    return pool


def check_clean(router, picks):
    gc.collect()
    router.tick()
    stats = router.stats()
    assert stats.open_tickets == stats.waiting == stats.places == 0
    assert not router._places and not router._early and not router._loops
    settled = sum(count for kind, count in stats.settled.items()
                  if kind != "first_token")
    assert settled == stats.picks >= picks
    assert stats.expired == 0
    assert all(target.stats().in_flight == 0
               for target in router["pool"].targets)


class Holder:
    """Part of a cycle, so that only the collector frees its decision."""

    def __init__(self, decision):
        self.decision = decision
        self.me = self


class Chaos:
    """One thread's requests, each of which ends somehow."""

    def __init__(self, pool, seed):
        self.pool = pool
        self.random = random.Random(seed)
        self.held = []

    def request(self):
        draw = self.random.random
        fields = {"session": f"s{int(draw() * 50)}"}
        if draw() < 0.3:
            fields["prompt"] = self.random.choice(PROMPTS)
        if draw() < 0.1:
            fields["tokens"] = [1, 2, 3] * 16
        if draw() < 0.05:
            fields["exclude"] = self.pool.targets[:2]
        return fields

    def settle(self, decision):
        ways = [decision.success, decision.failure, decision.cancel,
                decision.timeout, decision.client_error, decision.overload,
                lambda: decision.success(output_tokens=5)]
        if self.random.random() < 0.2:
            decision.first_token()
        self.random.choice(ways)()

    def fail_inside(self, decision):
        error = self.random.choice(ERRORS)
        try:
            with decision:
                raise error
        except BaseException as raised:
            assert type(raised) is error

    def end(self, decision):
        draw = self.random.random()
        if draw < 0.4:
            with decision:
                pass
        elif draw < 0.6:
            self.settle(decision)
        elif draw < 0.8:
            self.fail_inside(decision)
        elif draw < 0.9:
            pass  # forgotten
        elif draw < 0.902:
            Holder(decision)
        else:
            self.held.append(decision)
            if len(self.held) > HELD:
                self.held.pop(self.random.randrange(HELD))

    def wait(self, queued):
        draw = self.random.random()
        if draw < 0.3:
            queued.place.cancel()
            return
        if self.held and draw < 0.8:
            self.held.pop()
        try:
            decision = queued.place.poll()
        except lbroute.PickError:
            return
        if decision is not None:
            self.end(decision)

    def run(self, picks):
        for i in range(picks):
            try:
                self.end(self.pool.pick(**self.request()))
            except lbroute.Queued as queued:
                self.wait(queued)
            except lbroute.PickError:
                self.held.clear()
            if i % 5000 == 4999:
                gc.collect()
        self.held.clear()


def test_a_million_picks_in_one_thread():
    pool = make_router()
    chaos = Chaos(pool, 1)
    chaos.run(PICKS // 10)  # warm
    gc.collect()
    memory = pool.router.stats().memory_bytes
    blocks = sys.getallocatedblocks()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    chaos.run(PICKS)
    gc.collect()
    assert pool.router.stats().memory_bytes <= memory * 1.05
    assert sys.getallocatedblocks() - blocks < 500
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    assert grown < 8 * 1024  # KiB
    check_clean(pool.router, PICKS)
    stats = pool.router.stats()
    assert stats.queue_served and stats.queue_cancelled


def test_threads():
    pool = make_router(limit=2)
    errors = []

    def work(seed):
        try:
            Chaos(pool, seed).run(PICKS // 40)
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=work, args=(seed,))
               for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    check_clean(pool.router, 1)


def test_tasks_that_are_cancelled():
    """Twice as many tasks as slots, in a router whose queue they fill."""
    pool = make_router(limit=2)
    pool.parameters["queue.timeout"] = 0.02
    draw = random.Random(9)

    async def one():
        error = draw.choice([None, None, *ERRORS[:2]])
        try:
            async with pool.pick_async(client=f"c{draw.randrange(5)}"):
                for _ in range(draw.randrange(3)):
                    await asyncio.sleep(0)
                if error:
                    raise error
        except lbroute.PickError:
            pass
        except (ValueError, TimeoutError):
            pass

    async def main():
        for _ in range(max(1, PICKS // 2000)):
            tasks = [asyncio.ensure_future(one()) for _ in range(16)]
            for _ in range(draw.randrange(4)):
                await asyncio.sleep(0)
            for task in draw.sample(tasks, draw.randrange(8)):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.05)

    asyncio.run(main())
    check_clean(pool.router, 1)
