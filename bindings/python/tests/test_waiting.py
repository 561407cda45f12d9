# SPDX-License-Identifier: MIT
"""Requests that wait: by polling, and by await, without a thread."""

import asyncio
import gc
import threading
import time

import pytest

import lbroute


@pytest.fixture
def pool(make_pool):
    return make_pool("least_connections", targets=1, limit=1,
                     parameters={"queue.enabled": 1})


@pytest.fixture
def real_pool():
    """With the machine's clock, for timers."""
    router = lbroute.Router(seed=3)
    pool = router.add_pool("pool", "least_connections", {"queue.enabled": 1})
    pool.add_target("a", max_concurrency=1)
    return pool


def is_clean(router):
    stats = router.stats()
    return (stats.open_tickets == stats.waiting == stats.places == 0
            and not router._places and not router._early
            and not router._loops)


def test_poll(router, pool):
    first = pool.pick()
    with pytest.raises(lbroute.Queued) as queued:
        pool.pick(session="s", tag=7)
    place = queued.value.place
    assert queued.value.decision.queue_ahead == 0
    assert place.poll() is None
    first.success()
    with place.poll() as decision:
        assert decision.tag == 7 and decision.place == place.handle
        assert decision.wait_ns == 0
    with pytest.raises(lbroute.NotFoundError):
        place.poll()
    assert is_clean(router)


def test_cancel(router, pool):
    first = pool.pick()
    with pytest.raises(lbroute.Queued) as queued:
        pool.pick()
    assert queued.value.place.cancel() and not queued.value.place.cancel()
    with pytest.raises(lbroute.NotFoundError):
        queued.value.place.poll()
    with pytest.raises(lbroute.Queued) as queued:
        pool.pick()
    first.success()  # its slot has come
    assert queued.value.place.cancel() and not queued.value.place.cancel()
    assert is_clean(router) and router.stats().queue_cancelled == 1
    assert router.stats().settled["cancel"] == 1


def test_a_forgotten_place_is_given_up(router, pool):
    first = pool.pick()
    with pytest.raises(lbroute.Queued) as queued:
        pool.pick()
    del queued
    gc.collect()
    assert router.stats().waiting == 0
    with pytest.raises(lbroute.Queued) as queued:
        pool.pick()
    first.success()  # its turn, but nobody asks
    assert router.stats().open_tickets == 1
    del queued
    gc.collect()
    assert is_clean(router)


def test_it_waits_for_so_long(router, clock, pool):
    pool.parameters["queue.timeout"] = 2
    first = pool.pick()
    with pytest.raises(lbroute.Queued) as queued:
        pool.pick()
    assert router.next_deadline == clock.now + 2 * 10**9
    clock.advance(2)
    with pytest.raises(lbroute.SaturatedError) as over:
        queued.value.place.poll()
    assert over.value.reason == "queue_timeout"
    assert over.value.retry_after is None
    with pytest.raises(lbroute.Queued) as queued:
        pool.pick()
    pool.targets[0].remove()
    clock.advance(2)
    router.tick()
    with pytest.raises(lbroute.PickError):
        queued.value.place.poll()
    first.success()
    assert is_clean(router)


def test_explain_does_not_queue(router, pool):
    with pool.pick():
        explained = pool.explain()
        assert explained.error.name == "LBROUTE_ERR_QUEUED"
    assert router.stats().queued == 0


@pytest.mark.parametrize("make_room", [
    lambda pool: pool.targets[0].update(max_concurrency=2),
    lambda pool: pool.add_target("b"),
    lambda pool: pool.router.add_target("b", pool=pool),
])
def test_what_makes_room_serves(router, pool, make_room):
    first = pool.pick()
    with pytest.raises(lbroute.Queued) as queued:
        pool.pick()
    make_room(pool)
    assert router.stats().queue_served == 1
    assert queued.value.place.poll().success() and first.success()


def test_await(real_pool):
    order = []

    async def work(name):
        async with real_pool.pick_async(client=name) as decision:
            order.append(name)
            await asyncio.sleep(0.001)
            assert decision.target_name == "a"
        order.append("end " + name)

    async def main():
        await asyncio.gather(*map(work, "xyz"))
        await asyncio.sleep(0)
    asyncio.run(main())
    assert order == ["x", "end x", "y", "end y", "z", "end z"]
    router = real_pool.router
    assert is_clean(router) and router.stats().settled["success"] == 3


def test_await_alone_hands_the_decision_over(real_pool):
    async def main():
        decision = await real_pool.pick_async(session="s")
        waiting = asyncio.ensure_future(_awaited(real_pool.pick_async()))
        await asyncio.sleep(0)
        assert not waiting.done()
        decision.failure()
        (await waiting).success()
        await asyncio.sleep(0)
    asyncio.run(main())
    assert is_clean(real_pool.router)


async def _awaited(pending):
    return await pending


def test_a_refusal_is_raised(make_pool, router):
    pool = make_pool(limit=1, targets=1)

    async def main():
        with pytest.raises(lbroute.NoTargetError):
            await pool.pick_async(tier="gold")
        async with pool.pick_async():
            with pytest.raises(lbroute.SaturatedError):
                async with pool.pick_async():
                    pass
    asyncio.run(main())
    assert is_clean(router)


def test_a_cancelled_task_gives_its_place_up(real_pool):
    async def main():
        first = await real_pool.pick_async()
        waiting = asyncio.ensure_future(_awaited(real_pool.pick_async()))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert real_pool.router.stats().queue_cancelled == 1
        # Its turn and its cancellation in one round of the loop.
        waiting = asyncio.ensure_future(_awaited(real_pool.pick_async()))
        await asyncio.sleep(0)
        first.success()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.sleep(0.002)
    asyncio.run(main())
    assert is_clean(real_pool.router)
    assert real_pool.router.stats().settled["cancel"] == 1


def test_a_timer_ends_the_wait(real_pool):
    real_pool.parameters["queue.timeout"] = 0.05

    async def main():
        begin = time.monotonic()
        with real_pool.pick():
            with pytest.raises(lbroute.SaturatedError) as over:
                await real_pool.pick_async()
        assert over.value.reason == "queue_timeout"
        assert 0.045 < time.monotonic() - begin < 2
        await asyncio.sleep(0.002)
    asyncio.run(main())
    assert is_clean(real_pool.router)


def test_a_timer_ends_a_retry_after(real_pool):
    """Room that only time makes, set after the wait began."""
    async def main():
        first = real_pool.pick()
        waiting = asyncio.ensure_future(_awaited(real_pool.pick_async()))
        await asyncio.sleep(0)
        first.overload(retry_after=0.05)
        assert not waiting.done()
        (await asyncio.wait_for(waiting, 5)).success()
        await asyncio.sleep(0.002)
    asyncio.run(main())
    assert is_clean(real_pool.router)


def test_wait_for(real_pool):
    async def main():
        with real_pool.pick():
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(_awaited(real_pool.pick_async()), 0.01)
        await asyncio.sleep(0.002)
    asyncio.run(main())
    assert is_clean(real_pool.router)


def test_settled_in_another_thread(real_pool):
    async def main():
        loop = asyncio.get_running_loop()
        for _ in range(200):
            decision = real_pool.pick()
            settle = loop.run_in_executor(None, decision.success)
            async with real_pool.pick_async():
                pass
            await settle
        await asyncio.sleep(0.002)
    asyncio.run(asyncio.wait_for(main(), 60))
    assert is_clean(real_pool.router)


def test_many_loops_on_one_router(real_pool):
    real_pool.parameters["queue.depth"] = 1000
    done = []

    async def work():
        for _ in range(100):
            async with real_pool.pick_async():
                await asyncio.sleep(0)
            done.append(1)

    async def main():
        await asyncio.gather(*(work() for _ in range(4)))
        await asyncio.sleep(0.002)

    threads = [threading.Thread(target=lambda: asyncio.run(main()))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(done) == 1600
    assert real_pool.router.stats().open_tickets == 0
    assert real_pool.router.stats().waiting == 0


def test_a_closed_loop_wakes_nobody(real_pool):
    first = real_pool.pick()
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(_awaited(real_pool.pick_async()))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    first.success()
    assert real_pool.router.stats().open_tickets == 0
    waiting._log_destroy_pending = False  # that is what it is about
