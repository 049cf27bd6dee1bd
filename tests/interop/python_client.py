#!/usr/bin/env python3
"""The official Python SDK, in handshake mode, against the `everything` server.

usage: python_client.py URL      (a server of its own, started with --stats)
"""

import json
import sys
import time
import urllib.error
import urllib.request
from contextlib import asynccontextmanager
from urllib.parse import urljoin

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import PromptReference

LIMIT_S = 60
TOOLS = {
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_progress",
    "json_schema_2020_12_tool",
    "echo",
    "slow",
}
passed = failed = 0


def check(name, ok, detail=""):
    global passed, failed
    if ok:
        passed += 1
        print(f"ok   {name}")
    else:
        failed += 1
        print(f"FAIL {name}: {detail}")


def equal(name, got, want):
    check(name, got == want, f"got {got!r}, want {want!r}")


class Wire:
    """What the SDK does not show: the session id, and how the DELETE was answered."""

    def __init__(self):
        self.session_id = None
        self.delete_status = None

    async def saw(self, response):
        self.session_id = response.headers.get("mcp-session-id", self.session_id)
        if response.request.method == "DELETE":
            self.delete_status = response.status_code

    @asynccontextmanager
    async def transport(self, url):
        hooks = {"response": [self.saw]}
        async with httpx2.AsyncClient(timeout=LIMIT_S, event_hooks=hooks) as http:
            async with streamable_http_client(url, http_client=http) as streams:
                yield streams


class Progress:
    """The progress notifications of one call, each with its time of arrival."""

    def __init__(self):
        self.values = []
        self.times = []

    async def __call__(self, progress, total, message):
        self.values.append(progress)
        self.times.append(time.monotonic())


async def converse(client):
    equal("initialize: protocol version", client.protocol_version, "2025-11-25")
    check("initialize: server has a name", client.server_info and client.server_info.name, client.server_info)

    tools = [tool.name for tool in (await client.list_tools()).tools]
    equal("tools/list: first tool", tools[0], "test_simple_text")
    check("tools/list: all tools", TOOLS <= set(tools), f"missing {TOOLS - set(tools)}")

    text = 'quotes "", line\r\nbreaks\n, Unicode \u2028 \U0001f980'
    result = await client.call_tool("echo", {"text": text})
    equal("tools/call echo: the same text", [item.text for item in result.content], [text])
    equal("tools/call echo: no error", bool(result.is_error), False)

    result = await client.call_tool("test_error_handling")
    equal("tools/call test_error_handling: is an error result", result.is_error, True)

    seen = Progress()
    result = await client.call_tool("test_tool_with_progress", progress_callback=seen)
    equal("tools/call test_tool_with_progress: progress before the result", seen.values, [0, 50, 100])
    equal("tools/call test_tool_with_progress: a text", [item.type for item in result.content], ["text"])

    seen = Progress()
    start = time.monotonic()
    await client.call_tool("slow", {"ms": 600, "steps": 3}, progress_callback=seen)
    end = time.monotonic()
    check("tools/call slow: takes its time", end - start >= 0.6, f"{end - start:.3f} s")
    equal("tools/call slow: one notification a step", len(seen.values), 3)
    check("tools/call slow: progress rises", seen.values == sorted(set(seen.values)), seen.values)
    lead = end - seen.times[0]
    check("tools/call slow: progress is sent when made", lead >= 0.2, f"first {lead:.3f} s before the result")

    resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
    check("resources/list: has the text", "test://static-text" in resources, resources)
    contents = (await client.read_resource("test://static-text")).contents
    equal("resources/read: the text", [c.text for c in contents], ["This is the content of the static text resource."])

    prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
    check("prompts/list: has test_prompt_with_arguments", "test_prompt_with_arguments" in prompts, prompts)
    prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "one", "arg2": "two"})
    said = [message.content.text for message in prompt.messages]
    equal("prompts/get: the text", said, ["Prompt with arguments: arg1='one', arg2='two'"])

    reference = PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
    completion = (await client.complete(reference, {"name": "arg1", "value": "test"})).completion
    check("completion/complete: a list", isinstance(completion.values, list), completion)

    await client.session.send_ping()
    check("ping", True)


def raw(url, headers=None, body=None):
    """The status and the parsed JSON body of one plain request."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers or {})
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_S) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


def after_the_end(url, wire):
    equal("DELETE at close: 204", wire.delete_status, 204)
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Mcp-Session-Id": wire.session_id,
        "MCP-Protocol-Version": "2025-11-25",
    }
    status, body = raw(url, headers, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    equal("the ended session answers 404", status, 404)
    check("the 404 has a JSON-RPC error", "code" in body.get("error", {}), body)
    status, stats = raw(urljoin(url, "/__stats"))
    equal("no session is left (is the server fresh, with --stats?)", stats.get("sessions"), 0)


async def main(url):
    wire = Wire()
    with anyio.fail_after(LIMIT_S):
        async with Client(wire.transport(url), mode="legacy") as client:
            check("initialize: a session id", wire.session_id, "no Mcp-Session-Id")
            await converse(client)
        after_the_end(url, wire)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        anyio.run(main, sys.argv[1])
    except Exception as error:
        check("the conversation came to its end", False, repr(getattr(error, "exceptions", error)))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
