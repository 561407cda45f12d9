# SPDX-License-Identifier: MIT
"""An inference gateway: OpenAI's interface in front of engines that have it,
too (vLLM, SGLang …), on Starlette, httpx and lbroute.

    python gateway.py --port 8000 --strategy kv_aware \
        http://gpu-0:8000 http://gpu-1:8000,kv=tcp://gpu-1:5557

It streams, tries another engine while the client has not seen a byte, waits
where all are full, explains itself in headers, and listens to the engines'
metrics and KV events (`kv=`, and `replay=` where missed ones can be asked for).
"""

import argparse
import asyncio
import contextlib
import json
import math

import httpx
import lbroute
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import signals

RETRIES = 2
HOP_BY_HOP = {"connection", "content-length", "host", "keep-alive",
              "transfer-encoding", "upgrade"}


def end_to_end(headers):
    return {k: v for k, v in headers.items() if k not in HOP_BY_HOP}


def usage_in(tail):
    """The usage at the end of an answer, as success() takes it."""
    for line in reversed(tail.splitlines()):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            usage = json.loads(line.removeprefix(b"data: "))["usage"]
            details = usage.get("prompt_tokens_details") or {}
            return {"input_tokens": usage["prompt_tokens"],
                    "output_tokens": usage.get("completion_tokens"),
                    "cached_tokens": details.get("cached_tokens")}
    return {}


class Relay(StreamingResponse):
    """An answer on its way. Holds the engine's connection and the decision, and
    lets go of both however it ends."""

    def __init__(self, stack, decision, answer, first, chunks, headers):
        self.stack, self.decision, self.answer = stack, decision, answer
        super().__init__(self.relay(first, chunks), answer.status_code, headers)

    async def relay(self, tail, chunks):
        if "event-stream" in self.answer.headers.get("content-type", ""):
            self.decision.first_token()
        yield tail
        async for chunk in chunks:
            tail = (tail + chunk)[-65536:]
            yield chunk
        self.decision.success(**usage_in(tail))

    async def __call__(self, scope, receive, send):
        async with self.stack:
            await super().__call__(scope, receive, send)
            self.decision.cancel()  # unless it was answered in full


class Gateway:
    def __init__(self, engines, strategy, parameters):
        self.router = lbroute.Router(outcomes={
            httpx.TimeoutException: lbroute.Event.TIMEOUT,
            ClientDisconnect: lbroute.Event.CANCEL})
        self.pool = self.router.add_pool("engines", strategy, parameters)
        for engine in engines:
            url, *more = engine.split(",")
            self.pool.add_target(url.split("//")[1], user={
                "url": url, **dict(part.split("=", 1) for part in more)})
        self.client = httpx.AsyncClient(
            timeout=httpx.Timeout(600, connect=5),
            limits=httpx.Limits(max_connections=None))

    async def describe(self, request, body):
        """What the router should know. The text begins as what the engine sees
        does: tools, then the messages in order."""
        fields = {"session": request.headers.get("x-session-id"),
                  "client": request.headers.get("authorization")}
        with contextlib.suppress(ValueError, AttributeError, httpx.HTTPError):
            asked = json.loads(body)
            parts = [json.dumps(part) for part in (
                asked.get("tools"), asked.get("prompt"),
                *asked.get("messages", ())) if part]
            fields["prompt"] = "\n".join(parts)
            if self.pool.strategy == "precise_cache_aware":  # counts token ids
                answer = await self.client.post(
                    self.pool.targets[0].user["url"] + "/tokenize", json=asked,
                    headers={"authorization": fields["client"] or ""})
                fields["tokens"] = answer.json().get("tokens")
        return fields  # of a broken body, the engine will say what is wrong

    async def handle(self, request):
        body = await request.body()
        fields, tried, failure = await self.describe(request, body), [], None
        while len(tried) <= RETRIES:
            try:
                decision = await self.pool.pick_async(exclude=tried, **fields)
            except lbroute.PickError as refused:
                return failure or self.refuse(refused)
            tried.append(decision.target)
            response, final = await self.send(request, body, decision)
            if final:
                return response
            failure = response
        return failure

    def refuse(self, refused):
        headers, status = refused.decision.headers(), 503
        if isinstance(refused, lbroute.SaturatedError):
            status = 429
            if refused.retry_after is not None:
                headers["Retry-After"] = str(math.ceil(refused.retry_after))
        error = {"message": refused.advice, "type": refused.reason}
        return JSONResponse({"error": error}, status, headers)

    async def send(self, request, body, decision):
        """The answer of one engine, and whether it is the last word."""
        headers = decision.headers()
        try:
            async with contextlib.AsyncExitStack() as stack:
                stack.enter_context(decision)
                answer = await self.client.send(self.client.build_request(
                    request.method, decision.target.user["url"]
                    + request.url.path, content=body,
                    headers=end_to_end(request.headers)), stream=True)
                stack.push_async_callback(answer.aclose)
                headers |= end_to_end(answer.headers)
                chunks = answer.aiter_raw()
                first = await anext(chunks, b"")
                if answer.status_code < 400:
                    return Relay(stack.pop_all(), decision, answer, first,
                                 chunks, headers), True
                final = self.settle(answer, decision)
                return Response(first + b"".join([c async for c in chunks]),
                                answer.status_code, headers), final
        except httpx.HTTPError as error:
            return JSONResponse({"error": {"message": repr(error)}}, 502,
                                headers), False

    def settle(self, answer, decision):
        """What an error says; returns whether no other engine can do better."""
        status, wait = answer.status_code, answer.headers.get("retry-after", "")
        if status == 429 or (status == 503 and wait):
            decision.overload(
                retry_after=float(wait) if wait.isdecimal() else None)
        elif status >= 500:
            decision.failure()
        else:
            decision.client_error()
        return status < 500 and status != 429

    @contextlib.asynccontextmanager
    async def lifespan(self, _app):
        async with self.client:
            tasks = [asyncio.create_task(signals.scrape(target, self.client))
                     for target in self.pool.targets]
            tasks += [asyncio.create_task(signals.subscribe(target))
                      for target in self.pool.targets if "kv" in target.user]
            yield
            for task in tasks:
                task.cancel()

    def stats(self, _request):
        return JSONResponse({**self.router.stats().as_dict(), "per_target": {
            target.name: target.stats().as_dict()
            for target in self.pool.targets}})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engines", nargs="+", metavar="URL[,kv=…,replay=…]")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--strategy", default="kv_aware")
    parser.add_argument("--param", action="append", default=[],
                        metavar="NAME=VALUE")
    args = parser.parse_args()
    parameters = (param.split("=") for param in args.param)
    gateway = Gateway(args.engines, args.strategy, {"queue.enabled": 1, **{
        name: float(value) for name, value in parameters}})
    uvicorn.run(Starlette(lifespan=gateway.lifespan, routes=[
        Route("/stats", gateway.stats),
        Route("/v1/{path:path}", gateway.handle, methods=["GET", "POST"]),
    ]), host=args.host, port=args.port, log_level="warning")


if __name__ == "__main__":
    main()
