"""What the legs of the Python clients share: the two clients behind one interface, the proxy's control, and the count."""

import json
import sys
import time
import urllib.error
import urllib.request
import warnings
from urllib.parse import quote, urljoin

import anyio
import fastmcp
import mcp
from mcp.client.subscriptions import listen
from mcp.types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent

LIMIT_S = 120
CHANGED = "notifications/tools/list_changed"
ROOT = "file:///somewhere"
SAID = "This is a test response from the client"
ANSWERS = {"username": "someone", "email": "someone@example.com", "name": "Ann", "color": "blue", "ok": True}
passed = failed = 0


def check(name, ok, detail=""):
    global passed, failed
    if ok:
        passed += 1
        print(f"ok   {name}", flush=True)
    else:
        failed += 1
        print(f"FAIL {name}: {detail}", flush=True)


def equal(name, got, want):
    check(name, got == want, f"got {got!r}, want {want!r}")


class Seen:
    """What the server sent of its own accord."""

    def __init__(self):
        self.logged = []
        self.changed = []
        self.asked = []

    async def log(self, params):
        self.logged.append(params.data)

    async def message(self, message):
        if getattr(message, "method", None) == CHANGED:
            self.changed.append(message.method)

    def sampled(self, messages):
        self.asked.append(messages[0].content.text)
        return CreateMessageResult(role="assistant", content=TextContent(text=SAID), model="none")

    def elicited(self, params):
        self.asked.append(params.message)
        return {name: ANSWERS[name] for name in params.requested_schema["properties"]}


class Mcp:
    """The official SDK."""

    def __init__(self, url, seen, mode):
        async def sampling(_, params):
            return seen.sampled(params.messages)

        async def elicitation(_, params):
            return ElicitResult(action="accept", content=seen.elicited(params))

        async def roots(_):
            return ListRootsResult(roots=[Root(uri=ROOT)])

        self.client = mcp.Client(
            url,
            mode=mode,
            sampling_callback=sampling,
            elicitation_callback=elicitation,
            list_roots_callback=roots,
            logging_callback=seen.log,
            message_handler=seen.message,
        )

    async def tools(self):
        return (await self.client.list_tools()).tools

    async def call(self, name, arguments=None, progress=None):
        return await self.client.call_tool(name, arguments, progress_callback=progress)

    async def resources(self):
        return (await self.client.list_resources()).resources

    async def read(self, uri):
        return (await self.client.read_resource(uri)).contents

    async def prompts(self):
        return (await self.client.list_prompts()).prompts

    async def complete(self, reference, argument):
        return (await self.client.complete(reference, argument)).completion

    async def ping(self):
        await self.client.session.send_ping()

    def listen(self):
        return self.client.listen(tools_list_changed=True)


class FastMcp:
    """FastMCP, whose client wraps the official SDK's session and transport."""

    def __init__(self, url, seen, mode):
        async def sampling(messages, *_):
            return seen.sampled(messages)

        async def elicitation(_message, _type, params, _context):
            return seen.elicited(params)

        self.client = fastmcp.Client(
            url,
            mode=mode,
            roots=[ROOT],
            sampling_handler=sampling,
            elicitation_handler=elicitation,
            log_handler=seen.log,
            message_handler=seen.message,
        )

    async def tools(self):
        return await self.client.list_tools()

    async def call(self, name, arguments=None, progress=None):
        return await self.client.call_tool(name, arguments, progress_handler=progress, raise_on_error=False)

    async def resources(self):
        return await self.client.list_resources()

    async def read(self, uri):
        return await self.client.read_resource(uri)

    async def prompts(self):
        return await self.client.list_prompts()

    async def complete(self, reference, argument):
        return await self.client.complete(reference, argument)

    async def ping(self):
        await self.client.ping()

    def listen(self):
        return listen(self.client.session, tools_list_changed=True)  # what it wraps can do that


CLIENTS = {"mcp": Mcp, "fastmcp": FastMcp}


class Progress:
    """The progress notifications of one call, each with its time of arrival."""

    def __init__(self):
        self.values = []
        self.times = []

    async def __call__(self, progress, total, message):
        self.values.append(progress)
        self.times.append(time.monotonic())


class Proxy:
    """The proxy's control, and the server's counters."""

    def __init__(self, url):
        self.url = url

    async def ask(self, command):
        return await anyio.to_thread.run_sync(lambda: raw(urljoin(self.url, f"/__proxy/{quote(command, '?&=/')}"))[1])

    async def stats(self):
        return (await anyio.to_thread.run_sync(lambda: raw(urljoin(self.url, "/__stats"))))[1]

    async def labelled(self, label):
        return [it for it in (await self.ask("state"))["exchanges"] if it["label"] == label]


def raw(url, headers=None, body=None):
    """The status and the parsed JSON body of one plain request."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers or {})
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_S) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


async def until(met):
    """Waits until something is so, for a while."""
    with anyio.move_on_after(5):
        while not met():
            await anyio.sleep(0.02)


async def counted(proxy, name, want):
    """Waits until one of the server's counters has come to a value, for a while; its value then."""
    for _ in range(100):
        got = (await proxy.stats())[name]
        if got == want:
            break
        await anyio.sleep(0.02)
    return got


def texts(result):
    return [item.text for item in result.content]


def run(main, *said):
    """Runs a leg, says how it went, and ends the process."""
    warnings.simplefilter("ignore", mcp.MCPDeprecationWarning)  # the handshake era is meant

    async def limited():
        with anyio.fail_after(LIMIT_S):
            await main(*said)

    try:
        anyio.run(limited)
    except Exception as error:
        check("the conversation came to its end", False, repr(getattr(error, "exceptions", error)))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
