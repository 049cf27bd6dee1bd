#!/usr/bin/env python3
"""A Python client in automatic mode against the `everything` server, which serves both eras or one of them.

usage: python_automatic.py mcp|fastmcp URL both|handshake|stateless
       (proxy.py's URL, of a server of its own, started with --stats and --eras as said last)
"""

import sys
import time

import anyio
from mcp.client.subscriptions import ToolsListChanged

from python_checks import (
    CHANGED,
    CLIENTS,
    ROOT,
    SAID,
    Progress,
    Proxy,
    Seen,
    check,
    counted,
    equal,
    run,
    texts,
    until,
)

STATELESS, HANDSHAKE = "2026-07-28", "2025-11-25"
# What asks the client, once and more often: the tool, what its answer ends with, how many calls it takes.
ROUNDS = [
    ("elicitation", "Hello, Ann!", 2),
    ("sampling", SAID, 2),
    ("list_roots", ROOT, 2),
    ("request_state", "state-ok", 2),
    ("multiple_inputs", "", 2),
    ("multi_round", "", 3),
]


async def converse(it):
    tools = [tool.name for tool in await it.tools()]
    equal("tools/list: first tool", tools[0], "test_simple_text")
    text = 'quotes "", line\r\nbreaks\n, Unicode \u2028 \U0001f980'
    equal("tools/call echo: the same text", texts(await it.call("echo", {"text": text})), [text])
    result = await it.call("test_error_handling")
    equal("tools/call test_error_handling: is an error result", result.is_error, True)
    seen = Progress()
    await it.call("slow", {"ms": 600, "steps": 3}, seen)
    lead = time.monotonic() - seen.times[0]
    equal("tools/call slow: progress in order", seen.values, [1, 2, 3])
    check("tools/call slow: progress is sent when made", lead >= 0.2, f"first {lead:.3f} s before the result")
    contents = await it.read("test://static-text")
    equal("resources/read: the text", [c.text for c in contents], ["This is the content of the static text resource."])
    prompt = await it.client.get_prompt("test_prompt_with_arguments", {"arg1": "one", "arg2": "\u4e24"})
    said = [message.content.text for message in prompt.messages]
    equal("prompts/get: the text", said, ["Prompt with arguments: arg1='one', arg2='\u4e24'"])


async def be_asked(it, proxy):
    for kind, end, calls in ROUNDS:
        name = f"test_input_required_result_{kind}"
        result = await it.call(name)
        check(f"{name}: the answers came", not result.is_error and end in texts(result)[-1], texts(result))
        equal(f"{name}: calls it took", len(await proxy.labelled(f"POST tools/call {name}")), calls)


async def hear(it, proxy):
    async with it.listen() as stream:
        equal("listen: what was asked for is acknowledged", stream.honored.tools_list_changed, True)
        equal("listen: one stream", await counted(proxy, "streams", 1), 1)
        for _ in range(2):
            await it.call("test_trigger_tool_change")
            with anyio.fail_after(5):
                equal("listen: a change is told", await anext(stream), ToolsListChanged())
    equal("listen, left: no stream", await counted(proxy, "streams", 0), 0)


async def give_up(it, proxy):
    for progress in (None, Progress()):
        when = "" if progress is None else ", when an event has come"
        start = time.monotonic()
        async with anyio.create_task_group() as calls:
            calls.start_soon(it.call, "slow", {"ms": 9000, "steps": 900}, progress)
            equal(f"a call given up{when}: was on its way", await counted(proxy, "calls", 1), 1)
            await until(lambda: progress is None or progress.values)
            calls.cancel_scope.cancel()
        equal(f"a call given up{when}: the server has none", await counted(proxy, "calls", 0), 0)
        check(f"a call given up{when}: long before its end", time.monotonic() - start < 6)


async def lose_a_call(it, proxy):
    """There is nothing to come back to, so both sides have to end it."""
    await proxy.ask("cut?on=slow&frames=2")
    try:
        with anyio.fail_after(5):
            result = await it.call("slow", {"ms": 9000, "steps": 90}, Progress())
        check("a call cut on its way: fails", False, result)
    except Exception as error:
        check("a call cut on its way: fails", not isinstance(error, TimeoutError), repr(error))
    equal("a call cut on its way: the server has none", await counted(proxy, "calls", 0), 0)
    check("a call cut on its way: was cut", (await proxy.labelled("POST tools/call slow"))[-1]["ended"] == "cut")


async def stateless(it, proxy):
    async with it.client:
        equal("the version", it.client.protocol_version, STATELESS)
        check("the server has a name", it.client.server_info and it.client.server_info.name)
        await converse(it)
        await be_asked(it, proxy)
        await hear(it, proxy)
        await give_up(it, proxy)
        await lose_a_call(it, proxy)
    exchanges = (await proxy.ask("state"))["exchanges"]
    asked = {exchange["label"] for exchange in exchanges}
    equal("nothing of the handshake era", asked & {"POST initialize", "GET", "GET resume", "DELETE"}, set())
    equal("no session id", [it for it in exchanges if it["session"]], [])
    equal("no session, no call, no stream", await left(proxy, "created", "calls", "streams", "exchanges"), {})


async def left(proxy, *names):
    stats = await proxy.stats()
    return {name: stats[name] for name in names if stats[name] != 0}


async def handshake(it, seen, proxy):
    async with it.client:
        equal("the version", it.client.protocol_version, HANDSHAKE)
        discovers = [exchange["status"] for exchange in await proxy.labelled("POST server/discover")]
        equal("server/discover was tried, and refused", discovers, [400])
        await converse(it)
        await it.call("test_trigger_tool_change")
        await until(lambda: seen.changed)
        equal("the GET stream: a change is told", seen.changed, [CHANGED])
        result = await it.call("test_sampling", {"prompt": "Say something"})
        equal("test_sampling: the answer came", texts(result), [f"LLM response: {SAID}"])
    deletes = await proxy.labelled("DELETE")
    equal("one DELETE at close: 204", [exchange["status"] for exchange in deletes], [204])
    equal("nothing is left", await left(proxy, "sessions", "calls", "streams", "pending"), {})


async def refused(it):
    try:
        async with it.client:
            check("initialize: refused", False, "it was not")
    except Exception as error:
        while hasattr(error, "exceptions"):
            error = error.exceptions[0]
        check("initialize: refused, and told what is served", STATELESS in repr(error), repr(error))


async def main(which, url, eras):
    proxy = Proxy(url)

    def client(mode):
        seen = Seen()
        return CLIENTS[which](url, seen, mode), seen

    if eras == "handshake":
        await handshake(*client("auto"), proxy)
        return
    await stateless(client("auto")[0], proxy)
    equal("one server/discover", len(await proxy.labelled("POST server/discover")), 1)
    if eras == "stateless":
        await refused(client("legacy")[0])
        return
    it, _ = client(STATELESS)
    async with it.client:
        equal("without server/discover: a call", texts(await it.call("echo", {"text": "at once"})), ["at once"])
    equal("still one server/discover", len(await proxy.labelled("POST server/discover")), 1)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[3] not in ("both", "handshake", "stateless"):
        sys.exit(__doc__)
    run(main, *sys.argv[1:])
