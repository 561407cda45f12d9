# SPDX-License-Identifier: MIT
"""Not run: what mypy --strict must accept of a program that uses the package,
and, where a line says so, must not."""

from __future__ import annotations

from typing import Optional, Sequence

import lbroute


def score(request: lbroute.ScoreRequest,
          candidates: Sequence[lbroute.Candidate]) -> list[float]:
    return [candidate.load + len(request.session) for candidate in candidates]


def use(router: lbroute.Router) -> Optional[int]:
    pool = router.add_pool("p", "pipeline", {"queue.timeout": 3})
    target = pool.add_target("t", weight=2, user=object())
    pool.add_scorer(score).weight = 2
    with pool.pick(session="s", tokens=[1, 2], exclude=[target]) as decision:
        decision.success(output_tokens=3)
    pool.pick(sesion="s")  # type: ignore[call-arg]
    pool.pick(priority="high")  # type: ignore[arg-type]
    learned: bytes = router.snapshot()
    blocks: int = router.restore(memoryview(learned), elapsed=2.5).kv_blocks
    known: bool = router.restore(learned, now=3).same_key
    router.restore("text")  # type: ignore[arg-type]
    told: int = router.delta_apply(router.delta_export(), elapsed=0.1).prompts
    print(told, router.delta_stats().peers)
    print(blocks, known)
    running: Optional[float] = target.stats().gauges["running"]
    name: str = decision.target.name
    print(running, name, pool.parameters["queue.timeout"] + 1.0)
    try:
        router.pick(model="m", deadline=5)
    except lbroute.SaturatedError as full:
        print(full.retry_after, full.decision.reasons["saturated"] + 1)
    return decision.prefix_matched


async def wait(pool: lbroute.Pool) -> str:
    async with pool.pick_async(client=b"c") as decision:
        print(decision.rule.upper())
    other: lbroute.Decision = await pool.pick_async()
    return other.target_name
