// What the legs of the TypeScript clients share: the packages as far as they differ, the proxy's control, and the count.

import { inspect, isDeepStrictEqual } from "node:util";

const LIMIT_MS = 120_000;
export const SAID = "This is a test response from the client";
export const ROOT = "file:///somewhere";
const ANSWERS = { username: "someone", email: "someone@example.com", name: "Ann", color: "blue", ok: true };
const CAPABILITIES = { sampling: {}, elicitation: {}, roots: {} };
let passed = 0;
let failed = 0;

export function check(name, ok, detail) {
  if (ok) {
    passed += 1;
    console.log(`ok   ${name}`);
  } else {
    failed += 1;
    console.log(`FAIL ${name}: ${typeof detail === "string" ? detail : JSON.stringify(detail)}`);
  }
}

export function equal(name, got, want) {
  check(name, isDeepStrictEqual(got, want), `got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

/** The two packages, as far as they differ. */
export const KINDS = {
  async sdk(url) {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const types = await import("@modelcontextprotocol/sdk/types.js");
    const schemas = {
      "sampling/createMessage": types.CreateMessageRequestSchema,
      "elicitation/create": types.ElicitRequestSchema,
      "roots/list": types.ListRootsRequestSchema,
      "notifications/message": types.LoggingMessageNotificationSchema,
      "notifications/tools/list_changed": types.ToolListChangedNotificationSchema,
    };
    const client = new Client({ name: "interop", version: "1" }, { capabilities: CAPABILITIES });
    return {
      client,
      transport: new StreamableHTTPClientTransport(new URL(url)),
      answer: (method, handler) => client.setRequestHandler(schemas[method], handler),
      hear: (method, handler) => client.setNotificationHandler(schemas[method], handler),
      callTool: (params, options) => client.callTool(params, undefined, options),
    };
  },
  async client(url, mode = "legacy") {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const options = { capabilities: CAPABILITIES, versionNegotiation: { mode } };
    const client = new Client({ name: "interop", version: "1" }, options);
    return {
      client,
      transport: new StreamableHTTPClientTransport(new URL(url)),
      answer: (method, handler) => client.setRequestHandler(method, handler),
      hear: (method, handler) => client.setNotificationHandler(method, handler),
      callTool: (params, options) => client.callTool(params, options),
    };
  },
};

/** What the server sent of its own accord. */
export function watch(it) {
  const seen = { logged: [], changed: 0, asked: [] };
  it.hear("notifications/message", ({ params }) => void seen.logged.push(params.data));
  it.hear("notifications/tools/list_changed", () => void (seen.changed += 1));
  it.answer("sampling/createMessage", ({ params }) => {
    seen.asked.push([params.messages[0].content].flat()[0].text);
    return { role: "assistant", model: "none", content: { type: "text", text: SAID } };
  });
  it.answer("elicitation/create", ({ params }) => {
    seen.asked.push(params.message);
    const asked = Object.keys(params.requestedSchema.properties);
    return { action: "accept", content: Object.fromEntries(asked.map((name) => [name, ANSWERS[name]])) };
  });
  it.answer("roots/list", () => ({ roots: [{ uri: ROOT }] }));
  return seen;
}

/** Calls a tool; gives its result and its progress notifications, each with its time of arrival. */
export async function call(it, name, args = {}, options = {}) {
  const values = [];
  const times = [];
  const onprogress = ({ progress }) => {
    values.push(progress);
    times.push(performance.now());
  };
  const start = performance.now();
  const result = await it.callTool({ name, arguments: args }, { onprogress, ...options });
  const texts = result.content.map((item) => item.text);
  return { result, texts, values, times, start, end: performance.now() };
}

/** The proxy's control. */
export class Proxy {
  constructor(url) {
    this.url = url;
  }
  async ask(command) {
    return (await fetch(new URL(`/__proxy/${command}`, this.url))).json();
  }
  async labelled(label) {
    return (await this.ask("state")).exchanges.filter((it) => it.label === label);
  }
  async stats() {
    return (await fetch(new URL("/__stats", this.url))).json();
  }
  /** Waits until one of the server's counters has come to a value, for a while; gives its value then. */
  async counted(name, want) {
    for (let i = 0; ; i++) {
      const got = (await this.stats())[name];
      if (got === want || i === 100) return got;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  /** Those of the server's counters that are not at zero. */
  async left(...names) {
    const stats = await this.stats();
    return names.filter((name) => stats[name] !== 0);
  }
}

/** Waits until something is so, for a while. */
export async function until(met) {
  for (let i = 0; i < 250 && !met(); i++) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Runs a leg, says how it went, and ends the process. */
export async function run(main) {
  const timeout = new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`not done in ${LIMIT_MS} ms`)), LIMIT_MS);
  });
  await Promise.race([main(), timeout]).catch((error) => {
    check("the conversation came to its end", false, inspect(error));
  });
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}
