// An official TypeScript client in the handshake era against the `everything` server, through a proxy that cuts
// connections.
//
// usage: node typescript_client.mjs sdk|client URL    (proxy.py's URL, of a server of its own, started with --stats)
//   sdk      @modelcontextprotocol/sdk, version 1
//   client   @modelcontextprotocol/client, version 2

import { readFileSync } from "node:fs";

import { KINDS, Proxy, SAID, call, check, equal, run, until, watch } from "./typescript_checks.mjs";

const TOOLS = [
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
];
const LOGGED = ["Tool execution started", "Tool processing data", "Tool execution completed"];

async function converse(it) {
  const { client } = it;
  check("initialize: server has a name", client.getServerVersion()?.name, client.getServerVersion());

  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  equal("tools/list: first tool", tools[0], "test_simple_text");
  equal("tools/list: all tools", TOOLS.filter((tool) => !tools.includes(tool)), []);

  const text = 'quotes "", line\r\nbreaks\n, Unicode \u2028 \u{1f980}';
  const echo = await call(it, "echo", { text });
  equal("tools/call echo: the same text", echo.result.content, [{ type: "text", text }]);
  equal("tools/call echo: no error", echo.result.isError ?? false, false);

  const error = await call(it, "test_error_handling");
  equal("tools/call test_error_handling: is an error result", error.result.isError, true);

  const progress = await call(it, "test_tool_with_progress");
  equal("tools/call test_tool_with_progress: progress before the result", progress.values, [0, 50, 100]);
  equal("tools/call test_tool_with_progress: a text", progress.result.content.map((item) => item.type), ["text"]);

  const slow = await call(it, "slow", { ms: 600, steps: 3 });
  check("tools/call slow: takes its time", slow.end - slow.start >= 599, `${slow.end - slow.start} ms`);
  equal("tools/call slow: one notification a step", slow.values, [1, 2, 3]);
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

async function beAsked(it, seen, proxy) {
  for (const cut of [undefined, "cut?on=test_sampling&frames=1&bytes=30"]) {
    const when = cut ? ", cut within the request: resumed" : "";
    if (cut) await proxy.ask(cut);
    const { texts } = await call(it, "test_sampling", { prompt: "Say something" });
    equal(`tools/call test_sampling: the answer came${when}`, texts, [`LLM response: ${SAID}`]);
  }
  const { texts } = await call(it, "test_elicitation", { message: "Who are you?" });
  check("tools/call test_elicitation: the answer came", texts[0].includes("someone@example.com"), texts);
  equal("asked once each", seen.asked, ["Say something", "Say something", "Who are you?"]);
}

async function beTold(it, seen) {
  await it.client.setLoggingLevel("error");
  await call(it, "test_tool_with_logging");
  equal("logging/setLevel error: no messages of level info", seen.logged, []);
  await it.client.setLoggingLevel("debug");
  await call(it, "test_tool_with_logging");
  equal("logging/setLevel debug: all messages in order", seen.logged, LOGGED);
}

async function loseTheStandaloneStream(it, seen, proxy) {
  await call(it, "test_trigger_tool_change");
  await call(it, "test_trigger_tool_change");
  await until(() => seen.changed >= 2);
  equal("GET, cut within a notification: that and the next, once each", seen.changed, 2);
  equal("GET, cut: resumed once", (await proxy.labelled("GET resume")).length, 1);
  await call(it, "test_trigger_tool_change");
  await until(() => seen.changed >= 3);
  equal("GET, resumed: delivers", seen.changed, 3);
  await proxy.ask("cut-now?on=GET");
  await call(it, "test_trigger_tool_change");
  await until(() => seen.changed >= 4);
  equal("GET, cut while idle: what was sent meanwhile comes once", seen.changed, 4);
}

async function loseCalls(it, proxy) {
  for (const { name, cuts, ms = 400 } of JSON.parse(readFileSync(new URL("cuts.json", import.meta.url)))) {
    const before = (await proxy.labelled("GET resume")).length;
    for (const cut of cuts) await proxy.ask(`cut?${cut}`);
    const { values, texts } = await call(it, "slow", { ms, steps: 4 });
    const resumes = (await proxy.labelled("GET resume")).length - before;
    const want = [[1, 2, 3, 4], [`Waited ${ms} ms; steps: 4.`], cuts.length];
    equal(`a call cut ${name}: nothing lost, nothing doubled`, [values, texts, resumes], want);
  }
  equal("the proxy made every cut", (await proxy.ask("state")).waiting, []);

  const before = (await proxy.labelled("GET resume")).length;
  const { result } = await call(it, "test_reconnection");
  equal("test_reconnection: a result", result.isError ?? false, false);
  const resumes = (await proxy.labelled("GET resume")).length - before;
  equal("test_reconnection: closed by the server, fetched by a GET", resumes, 1);
}

async function afterTheEnd(url, proxy) {
  const deletes = await proxy.labelled("DELETE");
  equal("one DELETE: 204", deletes.map((it) => it.status), [204]);
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "Mcp-Session-Id": deletes[0].session,
      "MCP-Protocol-Version": "2025-11-25",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });
  equal("the ended session answers 404", response.status, 404);
  const body = await response.json();
  check("the 404 has a JSON-RPC error", body.error?.code, body);
  const left = await proxy.left("sessions", "calls", "streams", "pending", "gaps", "dropped_notices");
  equal("nothing is left (is the server fresh, with --stats?)", left, []);
  const stats = await proxy.stats();
  const counts = [stats.created, stats.committed, stats.ended?.deleted];
  equal("one session was created, committed and deleted", counts, [1, 1, 1]);
}

async function main(kind, url) {
  const proxy = new Proxy(url);
  const it = await KINDS[kind](url);
  const seen = watch(it);
  await proxy.ask("cut?on=GET&frames=1&bytes=30");
  await it.client.connect(it.transport);
  check("initialize: a session id", it.transport.sessionId, "no Mcp-Session-Id");
  equal("initialize: protocol version", it.transport.protocolVersion, "2025-11-25");
  await converse(it);
  await loseTheStandaloneStream(it, seen, proxy);
  await beAsked(it, seen, proxy);
  await beTold(it, seen);
  await loseCalls(it, proxy);
  equal("close alone: no DELETE, it takes terminateSession", await proxy.labelled("DELETE"), []);
  await it.transport.terminateSession();
  await it.client.close();
  await afterTheEnd(url, proxy);
}

if (process.argv.length !== 4 || !(process.argv[2] in KINDS)) {
  console.error("usage: node typescript_client.mjs sdk|client URL");
  process.exit(2);
}
await run(() => main(process.argv[2], process.argv[3]));
