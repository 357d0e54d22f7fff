import assert from "node:assert/strict";
import { test } from "node:test";

import { chosen_hosts, counted, ordered, page_of, together } from "../../src/model/hosts";
import type { HostDevice, JoinedHost } from "../../src/model/wire";

function card(part: Partial<HostDevice> = {}): HostDevice {
  return {
    id: "GPU-a",
    index: 0,
    kind: "nvidia-gpu",
    parent: null,
    name: "H100",
    state: "free",
    health: "ok",
    utilization_gpu_percent: null,
    memory_used_bytes: null,
    memory_total_bytes: null,
    users: [],
    ...part,
  };
}

function host(name: string, part: Partial<JoinedHost> = {}): JoinedHost {
  return {
    name,
    address: `${name}:9700`,
    state: "ok",
    why: null,
    remedy: null,
    asked_unix_ms: 1,
    taken_unix_ms: 1,
    simulated: null,
    version: "0",
    counts: {},
    devices: [card()],
    queue: 0,
    alerts: null,
    page: null,
    ...part,
  };
}

test("what a silent server had free is not counted as free", () => {
  const all = together([host("a"), host("b", { state: "unreachable" })]);
  assert.deepEqual([all.hosts, all.answering, all.counts.free], [2, 1, 1]);
});

test("servers are found by the state of a card, by name and by user", () => {
  const hosts = [
    host("a"),
    host("b", { devices: [card({ state: "leased", users: ["Wei"] })] }),
    host("c", { devices: [card({ health: "failed" })] }),
  ];
  const found = (...how: [Parameters<typeof chosen_hosts>[1], string]) =>
    chosen_hosts(hosts, ...how).map(({ name }) => name);
  assert.deepEqual(found("broken", ""), ["c"]);
  assert.deepEqual(found(null, " wei "), ["b"]);
  assert.deepEqual(found(null, "A:97"), ["a"]);
  assert.deepEqual(found("free", "b"), []);
});

test("what does not answer comes first, the others by name as people count", () => {
  const hosts = [host("gpu10"), host("gpu2"), host("gpu3", { state: "refused" })];
  assert.deepEqual(
    ordered(hosts).map(({ name }) => name),
    ["gpu3", "gpu2", "gpu10"],
  );
});

test("cells are told in words", () => {
  const devices = [card(), card({ id: "b" }), card({ id: "c", state: "busy" })];
  assert.equal(
    counted(host("a", { devices }), (standing) => standing),
    "2 free, 1 busy",
  );
});

test("another server's link is a page or none", () => {
  assert.equal(page_of(host("a", { page: "https://a/" })), "https://a/");
  for (const page of [null, "", "javascript:alert(1)", " javascript:alert(1)", "//a/"])
    assert.equal(page_of(host("a", { page })), null, String(page));
});
