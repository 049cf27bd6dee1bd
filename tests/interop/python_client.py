#!/usr/bin/env python3
"""A Python client in the handshake era against the `everything` server, through a proxy that cuts connections.

usage: python_client.py mcp|fastmcp URL      (proxy.py's URL, of a server of its own, started with --stats)
"""

import json
import sys
import time
from pathlib import Path

from mcp.types import PromptReference

from python_checks import CHANGED, CLIENTS, SAID, Progress, Proxy, Seen, check, equal, raw, run, texts, until

TOOLS = {
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_progress",
    "test_tool_with_logging",
    "test_sampling",
    "test_elicitation",
    "test_reconnection",
    "json_schema_2020_12_tool",
    "echo",
    "slow",
}
LOGGED = ["Tool execution started", "Tool processing data", "Tool execution completed"]
# When a resume breaks too, these clients come back with the id that they resumed from, not with the last they saw.
# They get exactly what they ask for, so the fault is theirs.
DOUBLED = {"again while it resumes": [1, 2, 3, 2, 3, 4]}


async def converse(it):
    equal("initialize: protocol version", it.client.protocol_version, "2025-11-25")
    check("initialize: server has a name", it.client.server_info and it.client.server_info.name)

    tools = [tool.name for tool in await it.tools()]
    equal("tools/list: first tool", tools[0], "test_simple_text")
    check("tools/list: all tools", TOOLS <= set(tools), f"missing {TOOLS - set(tools)}")

    text = 'quotes "", line\r\nbreaks\n, Unicode \u2028 \U0001f980'
    result = await it.call("echo", {"text": text})
    equal("tools/call echo: the same text", texts(result), [text])
    equal("tools/call echo: no error", bool(result.is_error), False)

    result = await it.call("test_error_handling")
    equal("tools/call test_error_handling: is an error result", result.is_error, True)

    seen = Progress()
    result = await it.call("test_tool_with_progress", progress=seen)
    equal("tools/call test_tool_with_progress: progress before the result", seen.values, [0, 50, 100])
    equal("tools/call test_tool_with_progress: a text", [item.type for item in result.content], ["text"])

    seen = Progress()
    start = time.monotonic()
    await it.call("slow", {"ms": 600, "steps": 3}, seen)
    end = time.monotonic()
    check("tools/call slow: takes its time", end - start >= 0.6, f"{end - start:.3f} s")
    equal("tools/call slow: one notification a step", seen.values, [1, 2, 3])
    lead = end - seen.times[0]
    check("tools/call slow: progress is sent when made", lead >= 0.2, f"first {lead:.3f} s before the result")

    resources = [str(resource.uri) for resource in await it.resources()]
    check("resources/list: has the text", "test://static-text" in resources, resources)
    contents = await it.read("test://static-text")
    equal("resources/read: the text", [c.text for c in contents], ["This is the content of the static text resource."])

    prompts = [prompt.name for prompt in await it.prompts()]
    check("prompts/list: has test_prompt_with_arguments", "test_prompt_with_arguments" in prompts, prompts)
    prompt = await it.client.get_prompt("test_prompt_with_arguments", {"arg1": "one", "arg2": "two"})
    said = [message.content.text for message in prompt.messages]
    equal("prompts/get: the text", said, ["Prompt with arguments: arg1='one', arg2='two'"])

    reference = PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
    completion = await it.complete(reference, {"name": "arg1", "value": "test"})
    check("completion/complete: a list", isinstance(completion.values, list), completion)

    await it.ping()
    check("ping", True)


async def be_asked(it, seen, proxy):
    for cut in (None, "cut?on=test_sampling&frames=1&bytes=30"):
        when = "" if cut is None else ", cut within the request: resumed"
        if cut:
            await proxy.ask(cut)
        result = await it.call("test_sampling", {"prompt": "Say something"})
        equal(f"tools/call test_sampling: the answer came{when}", texts(result), [f"LLM response: {SAID}"])
    result = await it.call("test_elicitation", {"message": "Who are you?"})
    check("tools/call test_elicitation: the answer came", "someone@example.com" in texts(result)[0], texts(result))
    equal("asked once each", seen.asked, ["Say something", "Say something", "Who are you?"])


async def be_told(it, seen):
    await it.client.set_logging_level("error")
    await it.call("test_tool_with_logging")
    equal("logging/setLevel error: no messages of level info", seen.logged, [])
    await it.client.set_logging_level("debug")
    await it.call("test_tool_with_logging")
    equal("logging/setLevel debug: all messages in order", seen.logged, LOGGED)


async def lose_the_standalone_stream(it, seen, proxy):
    # This client gives up its stream for good at the second break, so there is one, in the worst place.
    await it.call("test_trigger_tool_change")
    await it.call("test_trigger_tool_change")
    await until(lambda: len(seen.changed) >= 2)
    equal("GET, cut within a notification: that and the next, once each", seen.changed, [CHANGED] * 2)
    equal("GET, cut: resumed once", len(await proxy.labelled("GET resume")), 1)
    await it.call("test_trigger_tool_change")
    await until(lambda: len(seen.changed) >= 3)
    equal("GET, resumed: delivers", seen.changed, [CHANGED] * 3)


async def lose_calls(it, proxy):
    for case in json.loads(Path(__file__).with_name("cuts.json").read_text()):
        before = len(await proxy.labelled("GET resume"))
        for cut in case["cuts"]:
            await proxy.ask(f"cut?{cut}")
        seen = Progress()
        ms = case.get("ms", 400)
        result = await it.call("slow", {"ms": ms, "steps": 4}, seen)
        resumes = len(await proxy.labelled("GET resume")) - before
        got = (seen.values, texts(result), resumes)
        want = (DOUBLED.get(case["name"], [1, 2, 3, 4]), [f"Waited {ms} ms; steps: 4."], len(case["cuts"]))
        whose = "doubled by the client, which asks twice" if case["name"] in DOUBLED else "nothing doubled"
        equal(f"a call cut {case['name']}: nothing lost, {whose}", got, want)
    equal("the proxy made every cut", (await proxy.ask("state"))["waiting"], [])

    before = len(await proxy.labelled("GET resume"))
    result = await it.call("test_reconnection")
    equal("test_reconnection: a result", bool(result.is_error), False)
    resumes = len(await proxy.labelled("GET resume")) - before
    equal("test_reconnection: closed by the server, fetched by a GET", resumes, 1)


async def after_the_end(url, proxy):
    deletes = await proxy.labelled("DELETE")
    equal("one DELETE at close: 204", [it["status"] for it in deletes], [204])
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Mcp-Session-Id": deletes[0]["session"],
        "MCP-Protocol-Version": "2025-11-25",
    }
    status, body = raw(url, headers, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    equal("the ended session answers 404", status, 404)
    check("the 404 has a JSON-RPC error", "code" in body.get("error", {}), body)
    stats = await proxy.stats()
    left = {name: stats.get(name) for name in ("sessions", "calls", "streams", "pending", "gaps", "dropped_notices")}
    equal("nothing is left (is the server fresh, with --stats?)", left, dict.fromkeys(left, 0))
    counts = [stats["created"], stats["committed"], stats["ended"]["deleted"]]
    equal("one session was created, committed and deleted", counts, [1, 1, 1])


async def main(which, url):
    seen, proxy = Seen(), Proxy(url)
    it = CLIENTS[which](url, seen, "legacy")
    await proxy.ask("cut?on=GET&frames=1&bytes=30")
    async with it.client:
        await converse(it)
        await lose_the_standalone_stream(it, seen, proxy)
        await be_asked(it, seen, proxy)
        await be_told(it, seen)
        await lose_calls(it, proxy)
    await after_the_end(url, proxy)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    run(main, *sys.argv[1:])
