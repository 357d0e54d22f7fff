import assert from "node:assert/strict";
import { test } from "node:test";

import { events_of } from "../../src/model/events";
import type { DeviceHealth, Finding, HealthEvent } from "../../src/model/wire";

const now = 1_760_000_000_000;
const reboot = "reboot; if it comes back, look at seating, power and cooling";

function event(part: Partial<HealthEvent>): HealthEvent {
  return { at_unix_ms: now, kind: "health", device: "GPU-a", code: "lost", text: "gone", ...part };
}
function finding(code: string): Finding {
  return { state: "failed", code, evidence: "what is seen", advice: reboot };
}
function health(device: string, ...codes: string[]): DeviceHealth {
  return { id: device, index: 0, state: "failed", findings: codes.map(finding), not_examined: [] };
}
const xid = event({ kind: "xid", code: "79", text: "it has fallen off the bus" });
const told_xid = event({ code: "xid_79", at_unix_ms: now + 900, evidence: "XID 79", advice: reboot });

test("what to do about a kept error is what the rules say of it on that card", () => {
  const [kept] = events_of([xid], [], [health("GPU-b"), health("GPU-a", "ecc", "xid_79")]);
  assert.equal(kept?.advice, reboot);
  assert.equal(kept?.state, "failed");
  const [elsewhere] = events_of([xid], [], [health("GPU-b", "xid_79"), health("GPU-a", "xid_7")]);
  assert.equal(elsewhere?.advice, null);
});

test("a kept health event has it too, until it is over", () => {
  const begun = event({ at_unix_ms: now - 5 });
  const over = event({ kind: "health_over", text: "it is well again: no more gone" });
  const [last, first] = events_of([begun, over], [], [health("GPU-a", "lost")]);
  assert.equal(first?.advice, reboot);
  assert.equal(last?.advice, null);
  assert.equal(last?.state, "ok");
});

test("what the server says itself of an event goes before what the rules find", () => {
  const own = { ...xid, advice: "ask bob", state: "notice" };
  const [kept] = events_of([own], [], [health("GPU-a", "xid_79")]);
  assert.equal(kept?.advice, "ask bob");
  assert.equal(kept?.state, "notice");
});

test("an error that the stream told is one with the one that was kept", () => {
  assert.deepEqual(
    events_of([], [told_xid], []).map(({ code }) => code),
    ["xid_79"],
  );
  const codes = (...logged: HealthEvent[]) =>
    events_of(logged, [told_xid], []).map(({ code }) => code);
  assert.deepEqual(codes(xid), ["79"]);
  assert.deepEqual(codes({ ...xid, device: "GPU-b" }), ["xid_79", "79"]);
  assert.deepEqual(codes({ ...xid, code: "48" }), ["xid_79", "48"]);
  assert.deepEqual(codes({ ...xid, at_unix_ms: now - 3_600_000 }), ["xid_79", "79"]);
});

test("that it is over is told once, whatever the log calls it", () => {
  const kept = event({ kind: "health_over" });
  const told = event({ state: "ok", evidence: "it is well again" });
  assert.deepEqual(events_of([kept], [told], []), [told]);
});

test("the newest is the first", () => {
  const times = [3, 1, 2].map((at_unix_ms) => event({ at_unix_ms }));
  const shown = events_of(times, [event({ at_unix_ms: 4 })], []);
  assert.deepEqual(
    shown.map(({ at_unix_ms }) => at_unix_ms),
    [4, 3, 2, 1],
  );
});
