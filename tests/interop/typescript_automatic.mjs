// The official TypeScript client, version 2, in automatic mode against the `everything` server, which serves both eras
// or one of them.
//
// usage: node typescript_automatic.mjs URL both|handshake|stateless
//        (proxy.py's URL, of a server of its own, started with --stats and --eras as said last)

import { KINDS, Proxy, ROOT, SAID, call, check, equal, run, until, watch } from "./typescript_checks.mjs";

const STATELESS = "2026-07-28";
const HANDSHAKE = "2025-11-25";
/** What asks the client: the tool, what its answer ends with, how many calls it takes. */
const ROUNDS = [
  ["elicitation", "Hello, Ann!", 2],
  ["sampling", SAID, 2],
  ["list_roots", ROOT, 2],
  ["request_state", "state-ok", 2],
  ["multiple_inputs", "", 2],
  ["multi_round", "", 3],
];

async function connected(url, mode) {
  const it = await KINDS.client(url, mode);
  const seen = watch(it);
  await it.client.connect(it.transport);
  return { it, seen };
}

async function converse(it) {
  const tools = (await it.client.listTools()).tools.map((tool) => tool.name);
  equal("tools/list: first tool", tools[0], "test_simple_text");
  const text = 'quotes "", line\r\nbreaks\n, Unicode \u2028 \u{1f980}';
  equal("tools/call echo: the same text", (await call(it, "echo", { text })).texts, [text]);
  const error = await call(it, "test_error_handling");
  equal("tools/call test_error_handling: is an error result", error.result.isError, true);
  const slow = await call(it, "slow", { ms: 600, steps: 3 });
  equal("tools/call slow: progress in order", slow.values, [1, 2, 3]);
  const lead = slow.end - slow.times[0];
  check("tools/call slow: progress is sent when made", lead >= 200, `first ${lead} ms before the result`);
  const { contents } = await it.client.readResource({ uri: "test://static-text" });
  equal("resources/read: the text", contents.map((c) => c.text), ["This is the content of the static text resource."]);
  const prompt = { name: "test_prompt_with_arguments", arguments: { arg1: "one", arg2: "\u4e24" } };
  const { messages } = await it.client.getPrompt(prompt);
  const said = messages.map((message) => message.content.text);
  equal("prompts/get: the text", said, ["Prompt with arguments: arg1='one', arg2='\u4e24'"]);
}

async function beAsked(it, proxy) {
  for (const [kind, end, calls] of ROUNDS) {
    const name = `test_input_required_result_${kind}`;
    const { result, texts } = await call(it, name);
    check(`${name}: the answers came`, !result.isError && texts.at(-1).includes(end), texts);
    equal(`${name}: calls it took`, (await proxy.labelled(`POST tools/call ${name}`)).length, calls);
  }
}

async function hear(it, seen, proxy) {
  const stream = await it.client.listen({ toolsListChanged: true });
  equal("listen: what was asked for is acknowledged", stream.honoredFilter, { toolsListChanged: true });
  equal("listen: one stream", await proxy.counted("streams", 1), 1);
  for (const times of [1, 2]) {
    await call(it, "test_trigger_tool_change");
    await until(() => seen.changed >= times);
    equal("listen: a change is told", seen.changed, times);
  }
  await stream.close();
  equal("listen, closed: no stream", await proxy.counted("streams", 0), 0);
  const cancelled = (await proxy.labelled("POST notifications/cancelled")).map((it) => it.status);
  equal("fact: says so as well, which is taken", cancelled, [202]);
}

async function giveUp(it, proxy) {
  for (const progress of [false, true]) {
    const when = progress ? ", when an event has come" : "";
    const giving = new AbortController();
    let events = 0;
    const onprogress = progress ? () => void (events += 1) : undefined;
    const start = performance.now();
    const given = call(it, "slow", { ms: 9000, steps: 900 }, { signal: giving.signal, onprogress }).catch((error) => error);
    equal(`a call given up${when}: was on its way`, await proxy.counted("calls", 1), 1);
    await until(() => !progress || events > 0);
    giving.abort();
    check(`a call given up${when}: fails`, (await given) instanceof Error, "it did not");
    equal(`a call given up${when}: the server has none`, await proxy.counted("calls", 0), 0);
    const took = performance.now() - start;
    check(`a call given up${when}: long before its end`, took < 6000, `${took} ms`);
  }
}

/** There is nothing to come back to, so both sides have to end it. */
async function loseACall(it, proxy) {
  await proxy.ask("cut?on=slow&frames=2");
  const lost = await call(it, "slow", { ms: 9000, steps: 90 }, { timeout: 5000 }).catch((error) => error);
  check("a call cut on its way: fails", lost instanceof Error, lost);
  equal("a call cut on its way: the server has none", await proxy.counted("calls", 0), 0);
  equal("a call cut on its way: was cut", (await proxy.labelled("POST tools/call slow")).at(-1).ended, "cut");
  return lost;
}

async function stateless(url, proxy) {
  const { it, seen } = await connected(url, "auto");
  equal("the version", it.client.getNegotiatedProtocolVersion(), STATELESS);
  equal("the era", it.client.getProtocolEra(), "modern");
  check("the server has a name", it.client.getServerVersion()?.name, it.client.getServerVersion());
  await converse(it);
  await beAsked(it, proxy);
  await hear(it, seen, proxy);
  await giveUp(it, proxy);
  await loseACall(it, proxy);
  await it.client.close();
  const { exchanges } = await proxy.ask("state");
  const old = ["POST initialize", "GET", "GET resume", "DELETE"];
  equal("nothing of the handshake era", exchanges.filter((it) => old.includes(it.label)), []);
  equal("no session id", exchanges.filter((it) => it.session), []);
  equal("no session, no call, no stream", await proxy.left("created", "calls", "streams", "exchanges"), []);
  equal("one server/discover", (await proxy.labelled("POST server/discover")).length, 1);
}

async function handshake(url, proxy) {
  const { it, seen } = await connected(url, "auto");
  equal("the version", it.client.getNegotiatedProtocolVersion(), HANDSHAKE);
  equal("the era", it.client.getProtocolEra(), "legacy");
  const discovers = (await proxy.labelled("POST server/discover")).map((it) => it.status);
  equal("server/discover was tried, and refused", discovers, [400]);
  await converse(it);
  await call(it, "test_trigger_tool_change");
  await until(() => seen.changed > 0);
  equal("the GET stream: a change is told", seen.changed, 1);
  const { texts } = await call(it, "test_sampling", { prompt: "Say something" });
  equal("test_sampling: the answer came", texts, [`LLM response: ${SAID}`]);
  await it.transport.terminateSession();
  await it.client.close();
  equal("one DELETE: 204", (await proxy.labelled("DELETE")).map((it) => it.status), [204]);
  equal("nothing is left", await proxy.left("sessions", "calls", "streams", "pending"), []);
}

/** Connects in a mode that the server does not serve. */
async function refused(url, mode, what, says) {
  const error = await connected(url, mode).catch((error) => error);
  check(`${what}: refused`, error instanceof Error, "it was not");
  check(`${what}: says why`, String(error.message + JSON.stringify(error.data)).includes(says), error.message);
}

async function main(url, eras) {
  const proxy = new Proxy(url);
  if (eras === "handshake") {
    await handshake(url, proxy);
    await refused(url, { pin: STATELESS }, "only 2026-07-28", "did not offer");
    return;
  }
  await stateless(url, proxy);
  if (eras === "stateless") await refused(url, "legacy", "initialize", STATELESS);
}

if (process.argv.length !== 4 || !["both", "handshake", "stateless"].includes(process.argv[3])) {
  console.error("usage: node typescript_automatic.mjs URL both|handshake|stateless");
  process.exit(2);
}
await run(() => main(process.argv[2], process.argv[3]));
