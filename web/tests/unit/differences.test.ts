import assert from "node:assert/strict";
import { test } from "node:test";

import { differences, parameters_of, run_labels } from "../../src/model/differences";
import { ranges_of, throttles_of } from "../../src/model/gpu_readings";
import { name_parts } from "../../src/model/hosts";
import { time_ticks } from "../../src/model/scale";
import { drawn_runs, drawn_samples, LiveSeries, mean_load } from "../../src/model/series";
import type { Run, Samples, SnapshotDevice } from "../../src/model/wire";

test("parameters are found however a command spells them", () => {
  const found = parameters_of(["python", "t.py", "--lr", "3e-4", "--wd=0", "seed=1", "-v", "--n", "-1"]);
  assert.deepEqual(
    [...found],
    [["#1", "python"], ["#2", "t.py"], ["--lr", "3e-4"], ["--wd", "0"], ["seed", "1"], ["-v", ""], ["--n", "-1"]],
  );
});

function run(part: Partial<Run>): Run {
  return {
    id: "a",
    uid: 1,
    user: "wei",
    command: ["train", "--lr", "1"],
    wanted: "-n 1",
    started_unix_ms: 0,
    waited_ms: 0,
    end: null,
    given: { devices: [], host: { driver_version: "590" } },
    summary: { mean_utilization_percent: 50, energy_millijoules: null, devices: [] },
    ...part,
  } as unknown as Run;
}

test("what is alike in all runs is not told, and what one lacks is a gap", () => {
  const runs = [run({}), run({ id: "b", command: ["train", "--lr", "2", "--big"] })];
  assert.deepEqual(
    differences(runs, (name) => name),
    [
      { name: "--lr", values: ["1", "2"] },
      { name: "--big", values: [null, ""] },
    ],
  );
});

test("runs of one name are headed by their ids", () => {
  const named = (id: string, name: string): Run => run({ id, spec: { name } });
  assert.deepEqual(run_labels([named("a", "big"), named("b", "small")]), ["big", "small"]);
  assert.deepEqual(run_labels([named("a", "big"), named("b", "big")]), ["a", "b"]);
});

test("what tells names apart is one part of them", () => {
  const names = ["gpu-node-01.lab", "gpu-node-02.lab", "gpu-node-13.lab"];
  const parts = name_parts(names);
  assert.deepEqual(names.map(parts), [
    ["gpu-node-", "01", ".lab"],
    ["gpu-node-", "02", ".lab"],
    ["gpu-node-", "13", ".lab"],
  ]);
  for (const set of [["a"], ["a", "ab"], ["ab", "b"], ["gpu", "gpu"]]) {
    const of = name_parts(set);
    for (const name of set) assert.equal(of(name).join(""), name);
  }
});

test("indices are told as ranges", () => {
  assert.equal(ranges_of([7, 1, 2, 3, 5]), "1-3, 5, 7");
  assert.equal(ranges_of([]), "");
});

test("reasons to slow down are bits, and unknown where there is no mask", () => {
  const device = (mask: unknown): SnapshotDevice =>
    ({ throttle_reasons_mask: mask }) as unknown as SnapshotDevice;
  assert.deepEqual(throttles_of(device(0x44)), ["power_cap", "hardware_thermal"]);
  assert.deepEqual(throttles_of(device(0)), []);
  assert.equal(throttles_of(device(null)), null);
});

test("ticks since a beginning are told as lengths", () => {
  const ticks = time_ticks({ from: 0, to: 3_600_000 }, 6, true);
  assert.deepEqual(
    ticks.map(({ text }) => text),
    ["0", "10m", "20m", "30m", "40m", "50m", "1h"],
  );
});

const samples = (points: Samples["points"]): Samples => ({
  devices: ["A", "B"],
  columns: ["utilization_gpu_percent"],
  points,
});

test("no line leads over a time in which a run was not looked at", () => {
  const table = samples([[0, 0, 1], [1000, 0, 2], [2000, 0, 3], [60_000, 0, 4]]);
  assert.deepEqual(drawn_samples(table, 0, "utilization_gpu_percent").mean, [1, 2, 3, null, 4]);
});

test("a run's load is the mean of its devices", () => {
  assert.deepEqual(mean_load(samples([[0, 0, 10], [0, 1, 30], [1000, 0, 20], [1000, 1, null]])), [20, 20]);
});

test("runs lie over one another from their beginnings", () => {
  const one = { label: "a", samples: samples([[5000, 0, 10], [6000, 0, 20]]), begin: 5000 };
  const other = { label: "b", samples: samples([[90_000, 0, 30], [90_000, 1, 50]]), begin: 90_000 };
  const drawn = drawn_runs([one, other], "utilization_gpu_percent", 1000, 2);
  assert.deepEqual([drawn.times, drawn.mean], [[0, 1000], [10, 20]]);
  assert.deepEqual(drawn.others, [{ label: "b", values: [40, null] }]);
});

test("what the server remembers stands before what the page has seen, and never twice", () => {
  const live = new LiveSeries();
  const reading = { memory_used_bytes: 1, power_draw_milliwatts: 1, temperature_celsius: 1 };
  live.add(10_000, { utilization_gpu_percent: 9, ...reading });
  live.learn_before([1, 2, 3, 4, 5], 6_000, 1_000);
  assert.deepEqual(live.last_load(4), [2, 3, 4, 9], "10 s is the page's own");
  assert.deepEqual(live.last_load(1), [9]);
});
