# SPDX-License-Identifier: MIT
"""What a pick costs in Python, beside other routers for Python.

usage: bench/python_peers.py VENV

Makes the virtual environment VENV if it is not there, installs lbroute from
this checkout and the peers (pinned below), and measures them in one run, each
call in turn, several rounds, the best of which counts. The peers:

* LiteLLM's Router: `get_available_deployment()` and the callback by which it
  learns of the outcome, as its own strategies are called.
* uhashring: `get_node()` of a ring of 100 points a node. It has no outcome to
  be told of, so it does less.
"""

import os
import pathlib
import platform
import subprocess
import sys
import time
import venv

PEERS = ["litellm==1.80.7", "uhashring==2.4"]
ROOT = pathlib.Path(__file__).parents[1]
TARGETS = 10
ROUNDS = 40
SECONDS = 0.02  # of each round
PROMPT = "You are a helpful assistant. " * 141  # 4 kB
MESSAGES = [{"role": "user", "content": PROMPT}]


def lbroute_calls():
    """(name, call) for lbroute's strategies."""
    import lbroute

    def pool_of(strategy):
        router = lbroute.Router(seed=1)
        pool = router.add_pool("pool", strategy)
        for i in range(TARGETS):
            pool.add_target(f"gpu-{i}", max_concurrency=0)
        return router, pool

    def with_block(strategy, **fields):
        router, pool = pool_of(strategy)
        pick = router.pick

        def call():
            with pick(pool, **fields) as decision:
                decision.target
        return call

    def settled(strategy, **fields):
        router, pool = pool_of(strategy)
        pick = router.pick
        return lambda: pick(pool, **fields).success()

    for strategy in ("weighted", "least_connections", "power_of_two"):
        yield f"{strategy}", settled(strategy)
    yield "least_connections, with block", with_block("least_connections")
    # A field that pick() does not name itself: the struct is filled.
    yield "least_connections, output_tokens", settled(
        "least_connections", output_tokens=100)
    yield "consistent_hash, session", settled("consistent_hash",
                                              session="conversation-17")
    router, pool = pool_of("least_connections")
    tried = pool.targets[:2]
    yield "least_connections, two excluded", lambda: router.pick(
        pool, exclude=tried).success()
    for strategy in ("cache_aware", "kv_aware"):
        yield f"{strategy}, 4 kB prompt", with_block(
            strategy, prompt=PROMPT, session="conversation-17")


def litellm_calls():
    import litellm
    litellm.suppress_debug_info = True
    for strategy in ("simple-shuffle", "least-busy"):
        router = litellm.Router(
            model_list=[{"model_name": "m", "litellm_params": {
                "model": "openai/m", "api_key": "none",
                "api_base": f"http://gpu-{i}"}} for i in range(TARGETS)],
            routing_strategy=strategy)
        logger = getattr(router, "leastbusy_logger", None)

        def call(router=router, logger=logger):
            chosen = router.get_available_deployment(model="m",
                                                     messages=MESSAGES)
            if logger is None:
                return
            told = {"litellm_params": {
                "metadata": {"model_group": "m"},
                "model_info": {"id": chosen["model_info"]["id"]}}}
            logger.log_pre_api_call("m", MESSAGES, told)
            logger.log_success_event(told, None, 0, 0)
        yield f"LiteLLM {strategy}", call


def uhashring_calls():
    from uhashring import HashRing
    ring = HashRing(nodes=[f"gpu-{i}" for i in range(TARGETS)], vnodes=100)
    yield "uhashring", lambda: ring.get_node("conversation-17")


def time_of(call, count):
    clock = time.perf_counter_ns
    begin = clock()
    for _ in range(count):
        call()
    return (clock() - begin) / count


def measure(calls):
    """Best of the rounds, in ns, rounds of all calls taking turns."""
    counts = {}
    for name, call in calls:
        time_of(call, 100)
        counts[name] = max(1, int(SECONDS * 1e9 / time_of(call, 100)))
    best = {name: float("inf") for name, _ in calls}
    for _ in range(ROUNDS):
        for name, call in calls:
            best[name] = min(best[name], time_of(call, counts[name]))
    return best


def report(best):
    pairs = [
        ("least_connections", "LiteLLM least-busy"),
        ("least_connections", "LiteLLM simple-shuffle"),
        ("consistent_hash, session", "uhashring"),
    ]
    print(f"CPython {platform.python_version()}, {TARGETS} targets\n")
    print("| pick and outcome | µs |\n|---|---:|")
    for name, ns in best.items():
        print(f"| {name} | {ns / 1000:.2f} |")
    print()
    for ours, theirs in pairs:
        print(f"{theirs} / {ours}: {best[theirs] / best[ours]:.1f}")


def prepare(folder):
    """The environment, and Python there."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "-q", str(ROOT), *PEERS],
                   check=True)
    return str(python)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).absolute()
    if pathlib.Path(sys.prefix) != folder:
        python = prepare(folder)
        os.execv(python, [python, __file__, str(folder)])
    report(measure([*lbroute_calls(), *litellm_calls(), *uhashring_calls()]))


if __name__ == "__main__":
    main()
