import assert from "node:assert/strict";
import { test } from "node:test";

import { events_of } from "../../src/model/events";
import type { DeviceHealth, Finding, HealthNews, LoggedEvent } from "../../src/model/wire";

const now = 1_760_000_000_000;
const reboot = "reboot; if it comes back, look at seating, power and cooling";

const of_lost = { at_unix_ms: now, device: "GPU-a", code: "lost" };
function kept(part: Partial<LoggedEvent>): LoggedEvent {
  return { ...of_lost, kind: "health", text: "gone", advice: null, ...part };
}
function told(part: Partial<HealthNews>): HealthNews {
  const state = "failed";
  return { ...of_lost, kind: "health", index: 0, state, evidence: "gone", advice: reboot, ...part };
}
function finding(code: string): Finding {
  return { state: "failed", code, evidence: "what is seen", advice: reboot };
}
function health(device: string, ...codes: string[]): DeviceHealth {
  return { id: device, index: 0, state: "failed", findings: codes.map(finding), not_examined: [] };
}
const xid = kept({ kind: "xid", code: "79", text: "it has fallen off the bus" });
const told_xid = told({ code: "xid_79", at_unix_ms: now + 900, evidence: "XID 79" });

test("what to do about a kept error is what the rules say of it on that card", () => {
  const [here] = events_of([xid], [], [health("GPU-b"), health("GPU-a", "ecc", "xid_79")]);
  assert.equal(here?.advice, reboot);
  assert.equal(here?.state, "failed");
  const [elsewhere] = events_of([xid], [], [health("GPU-b", "xid_79"), health("GPU-a", "xid_7")]);
  assert.equal(elsewhere?.advice, null);
});

test("a kept health event has it too, until it is over", () => {
  const begun = kept({ at_unix_ms: now - 5 });
  const over = kept({ kind: "health_over", text: "it is well again: no more gone" });
  const [last, first] = events_of([begun, over], [], [health("GPU-a", "lost")]);
  assert.equal(first?.advice, reboot);
  assert.equal(last?.advice, null);
  assert.equal(last?.state, "ok");
});

test("what the server says itself of an event goes before what the rules find", () => {
  const own = { ...xid, advice: "ask bob" };
  const [shown] = events_of([own], [], [health("GPU-a", "xid_79")]);
  assert.equal(shown?.advice, "ask bob");
});

test("an error that the stream told is one with the one that was kept", () => {
  assert.deepEqual(
    events_of([], [told_xid], []).map(({ code }) => code),
    ["xid_79"],
  );
  const codes = (...logged: LoggedEvent[]) =>
    events_of(logged, [told_xid], []).map(({ code }) => code);
  assert.deepEqual(codes(xid), ["79"]);
  assert.deepEqual(codes({ ...xid, device: "GPU-b" }), ["xid_79", "79"]);
  assert.deepEqual(codes({ ...xid, code: "48" }), ["xid_79", "48"]);
  assert.deepEqual(codes({ ...xid, at_unix_ms: now - 3_600_000 }), ["xid_79", "79"]);
});

test("that it is over is told once, whatever the log calls it", () => {
  const well = told({ state: "ok", evidence: "it is well again" });
  assert.deepEqual(events_of([kept({ kind: "health_over" })], [well], []), [well]);
});

test("the newest is the first", () => {
  const times = [3, 1, 2].map((at_unix_ms) => kept({ at_unix_ms }));
  const shown = events_of(times, [told({ at_unix_ms: 4 })], []);
  assert.deepEqual(
    shown.map(({ at_unix_ms }) => at_unix_ms),
    [4, 3, 2, 1],
  );
});
