# SPDX-License-Identifier: MIT
"""What engines say of themselves, for the gateway: pages of metrics, and KV
events where an engine publishes them (needs pyzmq)."""

import asyncio
import contextlib

import httpx
import lbroute

SCRAPE_S = 1.0
REPLAY_S = 5.0
END = 2**64 - 1


async def scrape(target, client):
    """Reads an engine's metrics for ever. A failed scrape is no news."""
    while True:
        with contextlib.suppress(httpx.HTTPError, lbroute.NoNewsError):
            page = await client.get(target.user["url"] + "/metrics",
                                    timeout=SCRAPE_S)
            target.ingest_metrics(page.content)
        await asyncio.sleep(SCRAPE_S)


def take(target, number, payload):
    """Hands a payload over. What is broken counts as missing."""
    with contextlib.suppress(lbroute.FormatError):
        target.ingest_kv_events(payload, seq=int.from_bytes(number, "big"))


async def subscribe(target):
    """Reads an engine's KV events for ever."""
    import zmq.asyncio
    context = zmq.asyncio.Context.instance()
    with context.socket(zmq.SUB) as events:
        events.subscribe(b"")
        events.connect(target.user["kv"])
        while True:
            _topic, number, payload = await events.recv_multipart()
            take(target, number, payload)
            missing = target.missing_kv()
            if missing and "replay" in target.user:
                with context.socket(zmq.DEALER) as socket:
                    socket.linger = 0
                    socket.connect(target.user["replay"])
                    await replay(target, socket, missing[0])
            if target.missing_kv():  # the engine has them no more
                target.clear_kv()


async def replay(target, socket, first):
    """Asks for what was missed, and reads until the engine says that is all."""
    await socket.send_multipart([b"", first.to_bytes(8, "big")])
    number = b""
    while (int.from_bytes(number, "big") != END
           and await socket.poll(REPLAY_S * 1000)):
        *_, number, payload = await socket.recv_multipart()
        take(target, number, payload)
