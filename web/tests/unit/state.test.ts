import assert from "node:assert/strict";
import { test } from "node:test";

import {
  after,
  as_word,
  by_card,
  changes_between,
  empty_state,
  freshness_of,
  heat_of,
  is_firing,
  is_mended,
  label_of,
  may_act_for,
  memory_used_by,
  state_counts,
  server_time,
  sorted_alerts,
  standing_of,
  sum_of,
  with_alert,
} from "../../src/model/state";
import type { Alert, Device, Overview } from "../../src/model/wire";

function device(part: Partial<Device> = {}): Device {
  return {
    id: "GPU-a",
    index: 0,
    kind: "nvidia-gpu",
    parent: null,
    mig: null,
    name: "H100",
    state: "free",
    health: "ok",
    utilization_gpu_percent: 5,
    memory_used_bytes: 1,
    memory_used_is_bound: false,
    memory_total_bytes: 2,
    temperature_celsius: 30,
    heat: null,
    power_draw_milliwatts: 70_000,
    power_limit_milliwatts: 700_000,
    users: [],
    reserved_for: [],
    leases: [],
    why: {},
    ...part,
  };
}

const no_counts = {
  free: 0,
  reserved: 0,
  leased: 0,
  busy: 0,
  held: 0,
  unknown: 0,
  divided: 0,
  lost: 0,
  unusable: 0,
  failed: 0,
};
function overview(part: Partial<Overview> = {}): Overview {
  return {
    berth_overview: 1,
    taken_unix_ms: 1_000_000,
    sequence: 1,
    simulated: null,
    stale: false,
    unanswered_since_unix_ms: null,
    interval_ms: 1_000,
    version: "0",
    host: { name: "a", driver_version: null, cuda_version_supported: null },
    asker: { user: null, admin: false, sees: "public" },
    joined: 0,
    counts: no_counts,
    devices: [device()],
    processes: [],
    leases: [],
    queue: [],
    planned: [],
    problems: [],
    alerts: [],
    ...part,
  };
}

test("a card that a health rule fails is broken, whatever its state", () => {
  assert.equal(standing_of(device({ state: "free", health: "failed" })), "broken");
  assert.equal(standing_of(device({ state: "lost", health: null })), "broken");
  assert.equal(standing_of(device({ state: "held", health: "degraded" })), "held");
});

test("the room counts each device once", () => {
  const counts = state_counts([
    device(),
    device({ state: "busy" }),
    device({ state: "busy", health: "failed" }),
  ]);
  assert.deepEqual(
    { free: counts.free, busy: counts.busy, broken: counts.broken },
    { free: 1, busy: 1, broken: 1 },
  );
});

test("a look makes the link live and lengthens the series of each device", () => {
  let state = after(empty_state(), { kind: "overview", overview: overview(), now_ms: 10 });
  state = after(state, {
    kind: "overview",
    overview: overview({ taken_unix_ms: 1_001_000 }),
    now_ms: 1_010,
  });
  assert.equal(state.link.kind, "live");
  assert.deepEqual(state.series.get("GPU-a")?.times, [1_000_000, 1_001_000]);
});

test("a device that has gone takes its series with it", () => {
  let state = after(empty_state(), { kind: "overview", overview: overview(), now_ms: 10 });
  state = after(state, {
    kind: "overview",
    overview: overview({ taken_unix_ms: 1_001_000, devices: [] }),
    now_ms: 20,
  });
  assert.equal(state.series.size, 0);
});

test("numbers are stale when the server says so, and when nothing has come for ten seconds", () => {
  const live = after(empty_state(), { kind: "overview", overview: overview(), now_ms: 0 });
  assert.equal(freshness_of(live, 9_000), "live");
  assert.equal(freshness_of(live, 10_001), "stale");
  const told = after(live, { kind: "overview", overview: overview({ stale: true }), now_ms: 0 });
  assert.equal(freshness_of(told, 1), "stale");
});

test("a look that is only said again is none the newer for it", () => {
  const at = (now_ms: number, taken_unix_ms: number) =>
    ({ kind: "overview", overview: overview({ taken_unix_ms }), now_ms }) as const;
  let state = after(empty_state(), at(0, 1_000_000));
  for (let now_ms = 1_000; now_ms <= 11_000; now_ms += 1_000) {
    state = after(state, at(now_ms, 1_000_000));
  }
  assert.equal(freshness_of(state, 11_000), "stale");
  assert.equal(server_time(state, 11_000), 1_011_000);
  // A clock that was set back makes a new look, not an old one.
  state = after(state, at(12_000, 900_000));
  assert.equal(freshness_of(state, 12_000), "live");
});

test("a driver that does not answer is told from one that is slow", () => {
  const silent = (part: Partial<Overview>) =>
    after(empty_state(), {
      kind: "overview",
      overview: overview({ taken_unix_ms: 1_000_000, ...part }),
      now_ms: 0,
    });
  const slow = silent({ unanswered_since_unix_ms: 999_000 });
  assert.equal(freshness_of(slow, 2_000), "live");
  assert.equal(freshness_of(slow, 2_001), "unanswered");
  assert.equal(freshness_of(silent({ unanswered_since_unix_ms: 1, stale: true }), 0), "stale");
  assert.equal(freshness_of(silent({ unanswered_since_unix_ms: null }), 9_000), "live");
});

test("a slow server is given five of its intervals", () => {
  const slow = after(empty_state(), {
    kind: "overview",
    overview: overview({ interval_ms: 5_000 }),
    now_ms: 0,
  });
  assert.equal(freshness_of(slow, 24_000), "live");
});

test("a broken link is disconnected, not stale", () => {
  const state = after(after(empty_state(), { kind: "overview", overview: overview(), now_ms: 0 }), {
    kind: "link",
    link: { kind: "waiting", retry_at_ms: 5, attempts: 1, refused: false },
  });
  assert.equal(freshness_of(state, 60_000), "disconnected");
});

test("before the first look nothing is claimed", () => {
  assert.equal(freshness_of(empty_state(), 60_000), "none");
});

test("a sum over missing parts says that it is partial", () => {
  assert.deepEqual(sum_of([1, null, 2]), { value: 3, partial: true, parts: 2 });
  const intels = device({ memory_used_is_bound: true });
  assert.deepEqual(memory_used_by([device(), intels]), { value: 2, partial: true, parts: 2 });
  assert.equal(memory_used_by([device()]).partial, false);
});

test("only cards that changed their standing are told of", () => {
  const before = overview({ devices: [device(), device({ id: "GPU-b", index: 1 })] });
  const now = overview({
    devices: [
      device({ state: "busy" }),
      device({ id: "GPU-b", index: 1 }),
      device({ id: "GPU-c" }),
    ],
  });
  assert.deepEqual(
    changes_between(before, now).map(({ device: { id }, to }) => [id, to]),
    [["GPU-a", "busy"]],
  );
  assert.deepEqual(changes_between(null, now), []);
});

test("an instance is named after its card", () => {
  assert.equal(label_of(device({ mig: { gpu_instance: 3, compute_instance: 0 } })), "0:3");
  assert.equal(label_of(device({ index: null, id: "GPU-1234567" })), "GPU-1234");
});

function alert(part: Partial<Alert> = {}): Alert {
  return {
    id: "1",
    rule: "gpu_lost",
    severity: "warning",
    device: null,
    index: null,
    since_unix_ms: 1,
    last_seen_unix_ms: 2,
    resolved_unix_ms: null,
    ending: null,
    summary: "",
    advice: "",
    simulated: null,
    ...part,
  };
}

test("what is over is mended only where somebody saw it so", () => {
  assert.equal(is_mended(alert()), false);
  assert.equal(is_mended(alert({ resolved_unix_ms: 5, ending: "resolved" })), true);
  assert.equal(is_mended(alert({ resolved_unix_ms: 5, ending: "unknown" })), false);
  assert.equal(is_mended(alert({ resolved_unix_ms: 5, ending: "unwatched" })), false);
});

test("a resolved alert takes the place of the firing one", () => {
  const alerts = with_alert([alert(), alert({ id: "2" })], alert({ resolved_unix_ms: 5 }));
  assert.deepEqual(
    alerts.map((one) => [one.id, is_firing(one)]),
    [
      ["1", false],
      ["2", true],
    ],
  );
});

test("a look has the last word on what fires, and what is over stays known", () => {
  const look = (part: Partial<Overview>) =>
    ({ kind: "overview", overview: overview(part), now_ms: 0 }) as const;
  let state = after(empty_state(), look({ alerts: [alert({ id: "a" }), alert({ id: "b" })] }));
  state = after(state, { kind: "alert", alert: alert({ id: "a", resolved_unix_ms: 5 }) });
  state = after(state, look({ alerts: [alert({ id: "c" })] }));
  assert.deepEqual(
    state.alerts.map(({ id }) => id),
    ["c", "a"],
  );
  const again = after(state, look({ alerts: [alert({ id: "a" })] }));
  assert.deepEqual(again.alerts.map(is_firing), [true]);
});

test("a server that knows no alerts shows none", () => {
  const state = after(empty_state(), { kind: "overview", overview: overview(), now_ms: 0 });
  assert.deepEqual(state.alerts, []);
});

test("the gravest alert is the first, and what is over the last", () => {
  const told = [
    alert({ id: "over", severity: "critical", resolved_unix_ms: 9 }),
    alert({ id: "notice", severity: "notice" }),
    alert({ id: "older", since_unix_ms: 1 }),
    alert({ id: "newer", since_unix_ms: 2 }),
    alert({ id: "grave", severity: "critical" }),
  ];
  assert.deepEqual(
    sorted_alerts(told).map(({ id }) => id),
    ["grave", "newer", "older", "notice", "over"],
  );
});

test("instances stand with their card, wherever the list has them", () => {
  const told = [
    device({ id: "MIG-1", parent: "GPU-b" }),
    device({ id: "GPU-a" }),
    device({ id: "GPU-b" }),
    device({ id: "MIG-2", parent: "GPU-gone" }),
  ];
  assert.deepEqual(
    by_card(told).map(({ card, instances }) => [card.id, instances.map(({ id }) => id)]),
    [
      ["GPU-a", []],
      ["GPU-b", ["MIG-1"]],
      ["MIG-2", []],
    ],
  );
});

test("one may end one's own things, an administrator everything, nobody nothing", () => {
  const asker = (user: string | null, admin = false) => ({ user, admin, sees: "owner" as const });
  assert.equal(may_act_for(asker("wei"), "wei"), true);
  assert.equal(may_act_for(asker("wei"), "mara"), false);
  assert.equal(may_act_for(asker("root", true), null), true);
  assert.equal(may_act_for(asker(null), null), false);
});

test("words of a command are quoted as a shell wants them", () => {
  assert.equal(
    ["a b", "x=1", "it's", "$(rm)"].map(as_word).join(" "),
    `'a b' x=1 'it'\\''s' '$(rm)'`,
  );
});

test("heat is what the server says of it, and none where it says nothing", () => {
  assert.equal(heat_of(device({ heat: "hot" })), "hot");
  assert.equal(heat_of(device({ heat: "warm" })), "warm");
  assert.equal(heat_of(device({ heat: null })), "normal");
});
