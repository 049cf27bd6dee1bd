// Judges what the conformance suite recorded. Stricter than the suite itself: a WARNING fails, a scenario that left no
// record fails, so does one in which nothing succeeded, and so does a leg with fewer successes than before.
//
// usage: node conformance_verdict.mjs EXPECTED_FAILURES.yml LEG_DIR...
//
// A LEG_DIR is named after its leg, and holds scenarios.txt (the suite's own list) and the suite's output folders.

import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { parse } from "yaml";

const BAD = ["FAILURE", "WARNING"];
/** What the server does not declare, and what the suite itself never runs. Nothing else may be skipped. */
const MAY_SKIP = /^(sep-2640-skills-.*|tasks-status-notifications)$/;
/** A record of the wire, and no check. */
const IS_LOG = /^(outgoing|incoming)-|^stream-closed$/;
/** The fewest successes that a leg may have. */
const LEAST = {
  "2025-03-26": 3,
  "2025-06-18": 56,
  "2025-11-25": 84,
  "2026-07-28": 153,
  "requirements-2025-11-25": 84,
  "requirements-2026-07-28": 197,
  all: 234,
};
/** Checks that give no more than INFO or WARNING when they are missed. */
const STREAMS = ["server-sse-streams-functional"];
const POLLING = ["server-sse-priming-event", "server-sse-retry-field", "server-sse-disconnect-resume", ...STREAMS];
const MUST_SUCCEED = {
  "2025-11-25": POLLING,
  "2026-07-28": STREAMS,
  "requirements-2025-11-25": POLLING,
  "requirements-2026-07-28": STREAMS,
  all: POLLING,
};

/** The server's scenarios in what the suite listed. */
function* listed(text) {
  let ofServer = false;
  for (const line of text.split("\n")) {
    const scenario = line.match(/^ +- (\S+)/)?.[1];
    if (!scenario) ofServer = /^\S/.test(line) ? line.startsWith("Server scenarios") : ofServer;
    else if (ofServer || line.endsWith("[server]")) yield scenario;
  }
}

/** The checks of each scenario of a leg; none for a scenario that left no record. */
function readLeg(dir) {
  const leg = new Map([...listed(readFileSync(join(dir, "scenarios.txt"), "utf8"))].map((scenario) => [scenario, []]));
  for (const entry of readdirSync(dir)) {
    // The folders are named server-SCENARIO-TIMESTAMP.
    const scenario = entry.match(/^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/)?.[1];
    if (!scenario) continue;
    const records = JSON.parse(readFileSync(join(dir, entry, "checks.json"), "utf8"));
    leg.set(scenario, records.filter((record) => !IS_LOG.test(record.id)));
  }
  return leg;
}

/** What is wrong with a scenario: the ids of its bad checks, each with its cause. */
function faults(scenario, checks) {
  const bad = checks.filter((check) => BAD.includes(check.status));
  if (bad.length > 0) return bad.map((check) => [check.id, `${check.status} ${check.errorMessage ?? check.description}`]);
  const skipped = checks.filter((check) => check.status === "SKIPPED");
  if (skipped.length > 0 && MAY_SKIP.test(scenario)) return [];
  if (skipped.length > 0) return skipped.map((check) => [check.id, `SKIPPED ${check.errorMessage ?? check.description}`]);
  if (checks.some((check) => check.status === "SUCCESS")) return [];
  return [["no-success", checks.length > 0 ? "nothing was proved" : "the scenario left no record"]];
}

const [expectedFile, ...dirs] = process.argv.slice(2);
const expected = parse(readFileSync(expectedFile, "utf8")).server ?? [];
const stale = new Set(expected);
const seen = new Set();
let passed = 0;
let failed = 0;
function fail(what) {
  failed += 1;
  console.log(`FAIL  ${what}`);
}

for (const dir of dirs) {
  const leg = readLeg(dir);
  const name = basename(dir);
  if (leg.size === 0) throw new Error(`${dir}: no scenarios`);
  for (const [scenario, checks] of leg) {
    seen.add(scenario);
    for (const [id, cause] of faults(scenario, checks)) {
      const entry = expected.find((it) => it === scenario || it === `${scenario}:${id}`);
      stale.delete(entry);
      if (entry) console.log(`known ${name} ${scenario}:${id}: ${cause}`);
      else fail(`${name} ${scenario}:${id}: ${cause}`);
    }
  }
  const checks = [...leg.values()].flat().filter((check) => check.status !== "SKIPPED");
  const succeeded = checks.filter((check) => check.status === "SUCCESS");
  passed += succeeded.length;
  console.log(`${name}: ${leg.size} scenarios, ${checks.length} checks, ${succeeded.length} succeeded`);
  if (!(succeeded.length >= LEAST[name])) fail(`${name}: ${succeeded.length} successes, fewer than ${LEAST[name]}`);
  for (const id of MUST_SUCCEED[name] ?? []) {
    if (!succeeded.some((check) => check.id === id)) fail(`${name} ${id}: no SUCCESS`);
  }
}
for (const entry of stale) {
  if (!seen.has(entry.split(":")[0])) continue; // belongs to a leg that was not asked for
  fail(`${entry} is expected to fail, but does not: take it off the list`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
