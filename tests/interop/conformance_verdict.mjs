// Judges what the conformance suite recorded. Stricter than the suite itself: a WARNING fails, a scenario
// that left no record fails, and so does one in which nothing succeeded.
//
// usage: node conformance_verdict.mjs EXPECTED_FAILURES.yml LEG_DIR...
//
// A LEG_DIR holds scenarios.txt (the suite's own list) and the suite's output folders.

import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { parse } from "yaml";

const BAD = ["FAILURE", "WARNING"];

/** The checks of each scenario of a leg; none for a scenario that left no record. */
function readLeg(dir) {
  const listed = readFileSync(join(dir, "scenarios.txt"), "utf8").matchAll(/^ +- (\S+)/gm);
  const leg = new Map([...listed].map(([, scenario]) => [scenario, []]));
  for (const entry of readdirSync(dir)) {
    // The folders are named server-SCENARIO-TIMESTAMP.
    const scenario = entry.match(/^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/)?.[1];
    if (scenario) leg.set(scenario, JSON.parse(readFileSync(join(dir, entry, "checks.json"), "utf8")));
  }
  return leg;
}

/** What is wrong with a scenario: the ids of its bad checks, each with its cause. */
function faults(checks) {
  const bad = checks.filter((check) => BAD.includes(check.status));
  if (bad.length > 0) return bad.map((check) => [check.id, `${check.status} ${check.errorMessage ?? check.description}`]);
  if (checks.some((check) => check.status === "SUCCESS")) return [];
  return [["no-success", checks.length > 0 ? "nothing was proved" : "the scenario left no record"]];
}

const [expectedFile, ...dirs] = process.argv.slice(2);
const expected = parse(readFileSync(expectedFile, "utf8")).server ?? [];
const stale = new Set(expected);
const seen = new Set();
let passed = 0;
let failed = 0;
for (const dir of dirs) {
  const leg = readLeg(dir);
  if (leg.size === 0) throw new Error(`${dir}: no scenarios`);
  for (const [scenario, checks] of leg) {
    seen.add(scenario);
    passed += checks.filter((check) => check.status === "SUCCESS").length;
    for (const [id, cause] of faults(checks)) {
      const entry = expected.find((it) => it === scenario || it === `${scenario}:${id}`);
      stale.delete(entry);
      if (!entry) failed += 1;
      console.log(`${entry ? "known" : "FAIL "} ${basename(dir)} ${scenario}:${id}: ${cause}`);
    }
  }
}
for (const entry of stale) {
  if (!seen.has(entry.split(":")[0])) continue; // belongs to a leg that was not asked for
  failed += 1;
  console.log(`FAIL  ${entry} is expected to fail, but does not: take it off the list`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
