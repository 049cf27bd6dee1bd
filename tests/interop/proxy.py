#!/usr/bin/env python3
"""Runs a command that talks to a server through a proxy which cuts connections when told to.

usage: proxy.py URL -- COMMAND [ARGUMENT...]      (in COMMAND, @proxy becomes the URL through the proxy)

The command tells the proxy what to do with GET requests to it, which are answered with JSON:

  /__proxy/cut?on=LABEL&frames=N&bytes=K   cuts the response to the next request whose label has LABEL in it, when N
                                           events of a stream and K bytes after them have passed. Without `frames`, K
                                           counts from the status line. times=T: that many responses, one after another
  /__proxy/cut-now?on=LABEL                cuts each response on its way, at least one: waits for it up to 5 s
  /__proxy/refuse?on=LABEL&seconds=S       resets requests for so long; none reaches the server
  /__proxy/state                           the counters, and the exchanges so far, oldest first

A label is the HTTP method and what was asked for, such as "POST tools/call slow", "GET", "GET resume" or "DELETE"; that
of a path which begins with /__ is the path. A cut closes both connections; with how=reset it resets them. Without
on=LABEL, all is meant.
"""

import asyncio
import json
import socket
import struct
import sys
from collections import deque
from dataclasses import asdict, dataclass
from urllib.parse import parse_qsl, urlsplit

MESSAGE_MAX = 8 << 20  # bytes of a request, and of a head
RULES_MAX = 64
EXCHANGES_MAX = 2000  # remembered
CONNECTIONS_MAX = 1000
REFUSE_MAX_S = 60
CUT_NOW_WAIT_S = 5
SETTLE_S = 0.05  # lets the client read what has passed before a reset, which may overtake it


def messages(heard):
    """Follows one direction of HTTP/1.1, fed byte by byte, and tells `heard` what it sees."""

    def line():
        got = bytearray()
        while not got.endswith(b"\r\n"):
            got.append((yield))
            if len(got) > MESSAGE_MAX:
                raise ValueError("endless line")
        return got.decode("latin-1").strip()

    while True:
        start = yield from line()
        fields = {}
        while text := (yield from line()):
            name, _, value = text.partition(":")
            fields[name.lower()] = value.strip()
        heard.head(start, fields)
        if fields.get("transfer-encoding", "").lower() == "chunked":
            size = None
            while size != 0:
                size = int((yield from line()).partition(";")[0], 16)
                for _ in range(size):
                    heard.body((yield))
                yield from line()
        else:
            for _ in range(int(fields.get("content-length", 0))):
                heard.body((yield))
        heard.end()


@dataclass
class Cut:
    on: str = ""
    frames: int | None = None
    bytes: int = 0
    how: str = "close"
    times: int = 1


@dataclass
class Exchange:
    """One request and its response, as far as it has passed."""

    label: str
    last_event_id: str | None
    session: str | None
    status: int | None = None
    type: str | None = None
    frames: int = 0  # events of a stream that have passed, without comments
    ended: str | None = None  # complete, cut, refused, by client, by server, or the error of a socket


class Response:
    """How far a response has passed, and whether it is to be cut here."""

    def __init__(self, exchange, cut):
        self.exchange = exchange
        self.cut = cut
        self.passed = 0  # bytes, with the head
        self.last_event_at = 0  # where the last event ended, or the head
        self.block = bytearray()
        self.complete = False

    def head(self, start, fields):
        status = int(start.split()[1])
        if status >= 200:
            self.exchange.status = status
            self.exchange.type = fields.get("content-type")
            self.exchange.session = fields.get("mcp-session-id", self.exchange.session)
            self.last_event_at = self.passed + 1  # the byte at hand still passes

    def body(self, byte):
        if self.exchange.type != "text/event-stream":
            return
        self.block.append(byte)
        if self.block.endswith((b"\n\n", b"\r\n\r\n")):
            if not self.block.startswith(b":"):
                self.exchange.frames += 1
                self.last_event_at = self.passed + 1
            self.block.clear()

    def end(self):
        self.complete = self.exchange.status is not None

    def is_due(self):
        if self.cut is None:
            return False
        if self.cut.frames is None:
            return self.passed >= self.cut.bytes
        if self.last_event_at == 0 or self.exchange.frames != self.cut.frames:
            return False
        return self.passed >= self.last_event_at + self.cut.bytes


class Request:
    """Collects one request."""

    def __init__(self):
        self.text = bytearray()
        self.raw = bytearray()
        self.complete = False

    def head(self, start, fields):
        self.method, self.target, _ = start.split()
        self.fields = fields

    def body(self, byte):
        self.text.append(byte)

    def end(self):
        self.complete = True

    def label(self):
        if self.target.startswith("/__"):
            return self.target
        try:
            asked = json.loads(self.text)
            asked = asked if isinstance(asked, dict) else {}
        except ValueError:
            asked = {}
        resumes = "resume" if "last-event-id" in self.fields else None
        words = [self.method, resumes, asked.get("method"), (asked.get("params") or {}).get("name")]
        if self.method == "POST" and "method" not in asked:
            words.append("reply")
        return " ".join(word for word in words if isinstance(word, str))


class Connection:
    """A client's connection, and the one to the server that mirrors it."""

    def __init__(self, proxy, reader, writer):
        self.proxy = proxy
        self.client = (reader, writer)
        self.server = None
        self.exchange = None

    async def run(self):
        try:
            while (request := await self.read_request()) is not None:
                if request.target.startswith("/__proxy/"):
                    await self.answer(request)
                elif not await self.serve(request):
                    break
        finally:
            for _, writer in filter(None, (self.client, self.server)):
                writer.close()

    async def read_request(self):
        request = Request()
        follow = messages(request)
        next(follow)
        while not request.complete:
            data = await self.client[0].read(65536)
            if not data:
                return None
            request.raw += data
            if len(request.raw) > MESSAGE_MAX:
                raise ValueError("a request too long")
            for place, byte in enumerate(data):
                follow.send(byte)
                if request.complete and place + 1 < len(data):
                    raise ValueError("a pipelined request")
        return request

    async def serve(self, request):
        """Passes one request and its response. False: the connection is at its end."""
        exchange = Exchange(request.label(), *map(request.fields.get, ("last-event-id", "mcp-session-id")))
        self.proxy.exchanges.append(exchange)
        if self.proxy.refuses(exchange.label):
            self.cut(exchange, "reset", "refused")
            return False
        if self.server is None:
            self.server = await asyncio.open_connection(*self.proxy.upstream)
        self.exchange = exchange
        response = Response(exchange, self.proxy.take_cut(exchange.label))
        try:
            self.server[1].write(request.raw)
            await self.server[1].drain()
            return await self.pass_response(response)
        except ConnectionError as error:
            exchange.ended = exchange.ended or str(error)
            return False
        finally:
            self.exchange = None

    async def pass_response(self, response):
        follow = messages(response)
        next(follow)
        gone = asyncio.create_task(self.client[0].read(1))
        try:
            while not response.complete:
                reading = asyncio.create_task(self.server[0].read(65536))
                await asyncio.wait((reading, gone), return_when=asyncio.FIRST_COMPLETED)
                if gone.done():
                    reading.cancel()
                    raise ConnectionError("by client")
                data = await reading
                if not data:
                    raise ConnectionError("by server")
                for place, byte in enumerate(data):
                    if response.is_due():
                        return await self.pass_and_cut(data[:place], response)
                    follow.send(byte)
                    response.passed += 1
                if response.is_due():
                    return await self.pass_and_cut(data, response)
                self.client[1].write(data)
                await self.client[1].drain()
        finally:
            gone.cancel()
            await asyncio.wait((gone,))
        response.exchange.ended = "complete"
        return True

    async def pass_and_cut(self, data, response):
        self.client[1].write(data)
        await self.client[1].drain()
        await asyncio.sleep(SETTLE_S)
        self.cut(response.exchange, response.cut.how, "cut")
        return False

    def cut(self, exchange, how, why):
        exchange.ended = why
        for _, writer in filter(None, (self.client, self.server)):
            if how == "reset":
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()

    async def answer(self, request):
        url = urlsplit(request.target)
        try:
            status, body = "200 OK", await self.proxy.do(url.path.rpartition("/")[2], dict(parse_qsl(url.query)))
        except (TypeError, ValueError, KeyError) as error:
            status, body = "400 Bad Request", {"error": str(error)}
        text = json.dumps(body).encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        self.client[1].write(head.encode() + text)
        await self.client[1].drain()


class Proxy:
    def __init__(self, upstream):
        self.upstream = upstream
        self.connections = set()
        self.exchanges = deque(maxlen=EXCHANGES_MAX)
        self.cuts = []
        self.refusal = ("", 0.0)
        self.faults = []

    async def accept(self, reader, writer):
        connection = Connection(self, reader, writer)
        if len(self.connections) >= CONNECTIONS_MAX:
            writer.close()
            return
        self.connections.add(connection)
        try:
            await connection.run()
        except ConnectionError:
            pass
        except Exception as fault:
            self.faults.append(repr(fault))
        finally:
            self.connections.discard(connection)

    def refuses(self, label):
        on, until = self.refusal
        return on in label and asyncio.get_running_loop().time() < until

    def take_cut(self, label):
        cut = next((cut for cut in self.cuts if cut.on in label), None)
        if cut is not None:
            cut.times -= 1
            if cut.times <= 0:
                self.cuts.remove(cut)
        return cut

    async def do(self, command, said):
        numbers = ("frames", "bytes", "times")
        said = {name: int(value) if name in numbers else value for name, value in said.items()}
        if command == "cut":
            if len(self.cuts) >= RULES_MAX:
                raise ValueError("too many cuts are waiting")
            self.cuts.append(Cut(**said))
        elif command == "cut-now":
            await self.cut_now(**said)
        elif command == "refuse":
            seconds = min(float(said["seconds"]), REFUSE_MAX_S)
            self.refusal = (said.get("on", ""), asyncio.get_running_loop().time() + seconds)
        elif command != "state":
            raise ValueError(f"no such command: {command}")
        return self.state()

    async def cut_now(self, on="", how="close"):
        for _ in range(CUT_NOW_WAIT_S * 100):
            found = [it for it in self.connections if it.exchange and it.exchange.status and on in it.exchange.label]
            for connection in found:
                connection.cut(connection.exchange, how, "cut")
            if found:
                return
            await asyncio.sleep(0.01)
        raise ValueError("nothing is on its way")

    def state(self):
        ended = [exchange.ended for exchange in self.exchanges]
        return {
            "connections": len(self.connections),
            "cut": ended.count("cut"),
            "refused": ended.count("refused"),
            "waiting": [asdict(cut) for cut in self.cuts],
            "faults": self.faults,
            "exchanges": [asdict(exchange) for exchange in self.exchanges],
        }


async def main(url, command):
    where = urlsplit(url)
    proxy = Proxy((where.hostname, where.port))
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    through = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{where.path}"
    process = await asyncio.create_subprocess_exec(*[word.replace("@proxy", through) for word in command])
    code = await process.wait()
    for fault in proxy.faults:
        print(f"the proxy could not follow: {fault}", file=sys.stderr)
    return code or len(proxy.faults)


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[2] != "--":
        sys.exit(__doc__)
    sys.exit(min(asyncio.run(main(sys.argv[1], sys.argv[3:])), 125))
