// The official TypeScript SDK (handshake era) against the `everything` server.
//
// usage: node typescript_client.mjs URL      (a server of its own, started with --stats)

import { inspect, isDeepStrictEqual } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const LIMIT_MS = 60_000;
const TOOLS = [
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
];
let passed = 0;
let failed = 0;

function check(name, ok, detail) {
  if (ok) {
    passed += 1;
    console.log(`ok   ${name}`);
  } else {
    failed += 1;
    console.log(`FAIL ${name}: ${typeof detail === "string" ? detail : JSON.stringify(detail)}`);
  }
}

function equal(name, got, want) {
  check(name, isDeepStrictEqual(got, want), `got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

/** Calls a tool; gives its result and its progress notifications, each with its time of arrival. */
async function call(client, name, args) {
  const values = [];
  const times = [];
  const onprogress = ({ progress }) => {
    values.push(progress);
    times.push(performance.now());
  };
  const start = performance.now();
  const result = await client.callTool({ name, arguments: args }, undefined, { onprogress });
  return { result, values, times, start, end: performance.now() };
}

async function converse(client) {
  check("initialize: server has a name", client.getServerVersion()?.name, client.getServerVersion());

  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  equal("tools/list: first tool", tools[0], "test_simple_text");
  equal("tools/list: all tools", TOOLS.filter((tool) => !tools.includes(tool)), []);

  const text = 'quotes "", line\r\nbreaks\n, Unicode \u2028 \u{1f980}';
  const echo = await call(client, "echo", { text });
  equal("tools/call echo: the same text", echo.result.content, [{ type: "text", text }]);
  equal("tools/call echo: no error", echo.result.isError ?? false, false);

  const error = await call(client, "test_error_handling", {});
  equal("tools/call test_error_handling: is an error result", error.result.isError, true);

  const progress = await call(client, "test_tool_with_progress", {});
  equal("tools/call test_tool_with_progress: progress before the result", progress.values, [0, 50, 100]);
  equal("tools/call test_tool_with_progress: a text", progress.result.content.map((item) => item.type), ["text"]);

  const slow = await call(client, "slow", { ms: 600, steps: 3 });
  check("tools/call slow: takes its time", slow.end - slow.start >= 599, `${slow.end - slow.start} ms`);
  equal("tools/call slow: one notification a step", slow.values.length, 3);
  check("tools/call slow: progress rises", slow.values.every((v, i) => i === 0 || v > slow.values[i - 1]), slow.values);
  const lead = slow.end - slow.times[0];
  check("tools/call slow: progress is sent when made", lead >= 200, `first ${lead} ms before the result`);

  const resources = (await client.listResources()).resources.map((resource) => resource.uri);
  check("resources/list: has the text", resources.includes("test://static-text"), resources);
  const { contents } = await client.readResource({ uri: "test://static-text" });
  equal("resources/read: the text", contents.map((c) => c.text), ["This is the content of the static text resource."]);

  const name = "test_prompt_with_arguments";
  const prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
  check("prompts/list: has test_prompt_with_arguments", prompts.includes(name), prompts);
  const { messages } = await client.getPrompt({ name, arguments: { arg1: "one", arg2: "two" } });
  equal("prompts/get: the text", messages.map((m) => m.content.text), ["Prompt with arguments: arg1='one', arg2='two'"]);

  const { completion } = await client.complete({
    ref: { type: "ref/prompt", name },
    argument: { name: "arg1", value: "test" },
  });
  check("completion/complete: a list", Array.isArray(completion.values), completion);

  equal("ping: an empty result", await client.ping(), {});
}

async function afterTheEnd(url, sessionId, deleteStatus) {
  equal("DELETE: 204", deleteStatus, 204);
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "Mcp-Session-Id": sessionId,
      "MCP-Protocol-Version": "2025-11-25",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });
  equal("the ended session answers 404", response.status, 404);
  const body = await response.json();
  check("the 404 has a JSON-RPC error", body.error?.code, body);
  const stats = await (await fetch(new URL("/__stats", url))).json();
  equal("no session is left (is the server fresh, with --stats?)", stats.sessions, 0);
}

async function main(url) {
  let deleteStatus;
  const watched = async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method === "DELETE") deleteStatus = response.status;
    return response;
  };
  const client = new Client({ name: "interop", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: watched });
  await client.connect(transport);
  const { sessionId } = transport;
  check("initialize: a session id", sessionId, "no Mcp-Session-Id");
  equal("initialize: protocol version", transport.protocolVersion, "2025-11-25");
  await converse(client);
  await transport.terminateSession();
  await client.close();
  await afterTheEnd(url, sessionId, deleteStatus);
}

if (process.argv.length !== 3) {
  console.error("usage: node typescript_client.mjs URL");
  process.exit(2);
}
const timeout = new Promise((_, reject) => {
  setTimeout(() => reject(new Error(`not done in ${LIMIT_MS} ms`)), LIMIT_MS);
});
await Promise.race([main(process.argv[2]), timeout]).catch((error) => {
  check("the conversation came to its end", false, inspect(error));
});
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
