import assert from "node:assert/strict";
import { test } from "node:test";

import {
  drawn_history,
  drawn_live,
  drawn_samples,
  extent_of,
  LiveSeries,
  table_of,
} from "../../src/model/series";
import type { History, Samples } from "../../src/model/wire";

const readings = {
  utilization_gpu_percent: 5,
  memory_used_bytes: null,
  power_draw_milliwatts: 1,
  temperature_celsius: 2,
};
function history(points: History["points"], step_ms = 1_000): History {
  const of = { device: "a", metric: "m", unit: "percent", simulated: null, damaged_blocks: 0 };
  return { ...of, step_ms, knows_since_unix_ms: null, points };
}
function sevens_at(times: number[]): History["points"] {
  return times.map((time) => [time, 0, 7, 0, 0]);
}

test("an absent reading stays absent in the series", () => {
  const live = new LiveSeries();
  live.add(1_000, readings);
  assert.deepEqual(live.columns.memory_used_bytes, [null]);
});

test("the same look twice is one point", () => {
  const live = new LiveSeries();
  live.add(1_000, readings);
  live.add(1_000, readings);
  assert.equal(live.times.length, 1);
});

test("a clock that was set back begins the series again", () => {
  const live = new LiveSeries();
  live.add(9_000, readings);
  live.add(1_000, readings);
  assert.deepEqual(live.times, [1_000]);
});

test("the series is bounded", () => {
  const live = new LiveSeries();
  for (let i = 0; i < 5_000; ++i) live.add(i * 1_000, readings);
  assert.ok(live.times.length <= LiveSeries.most * 1.25, `${live.times.length} points`);
  assert.equal(live.times.at(-1), 4_999_000);
  assert.equal(live.columns.temperature_celsius.length, live.times.length);
});

test("a gap of the history is drawn as a gap", () => {
  const drawn = drawn_history(
    history([
      [0, 1, 2, 3, 4],
      [1_000, 1, 2, 3, 4],
      [5_000, 1, 2, 3, 4],
    ]),
    1_000,
  );
  assert.deepEqual(drawn.times, [0, 1_000, 2_000, 5_000]);
  assert.deepEqual(drawn.mean, [2, 2, null, 2]);
  assert.deepEqual(drawn.high, [4, 4, null, 4]);
});

test("the live minutes begin with what the history knew and nothing twice", () => {
  const live = new LiveSeries();
  live.add(3_000, readings);
  const drawn = drawn_live(
    live,
    "utilization_gpu_percent",
    history([
      [1_000, 0, 7, 0, 0],
      [3_000, 0, 8, 0, 0],
    ]),
    0,
    1_000,
  );
  assert.deepEqual(
    [drawn.times, drawn.mean],
    [
      [1_000, 3_000],
      [7, 5],
    ],
  );
});

test("minutes before the live seconds are one line, and a missing minute is a gap", () => {
  const minutes = history(sevens_at([0, 60_000, 180_000]), 60_000);
  const live = new LiveSeries();
  for (const time of [200_000, 201_000, 206_000]) live.add(time, readings);
  const drawn = drawn_live(live, "utilization_gpu_percent", minutes, 0, 1_000);
  assert.deepEqual(drawn.times, [0, 60_000, 120_000, 180_000, 200_000, 201_000, 202_000, 206_000]);
  assert.deepEqual(drawn.mean, [7, 7, null, 7, 5, 5, null, 5]);
});

test("a server that looks each five seconds has no gap between two looks, and one where one is missing", () => {
  const live = new LiveSeries();
  for (const time of [0, 5_000, 10_200, 20_200]) live.add(time, readings);
  const drawn = drawn_live(live, "utilization_gpu_percent", null, 0, 5_000);
  assert.deepEqual(drawn.mean, [5, 5, 5, null, 5]);
  const seconds = history(sevens_at([0, 5_000, 11_000]), 1_000);
  assert.deepEqual(drawn_history(seconds, 5_000).mean, [7, 7, 7]);
});

test("samples of one device are told from another's", () => {
  const samples: Samples = {
    devices: ["a", "b"],
    columns: ["x", "y"],
    points: [
      [1, 0, 10, 11],
      [1, 1, 20, 21],
      [2, 0, null, 12],
    ],
  };
  assert.deepEqual(drawn_samples(samples, 0, "x").mean, [10, null]);
  assert.deepEqual(drawn_samples(samples, 1, "y").mean, [21]);
  assert.deepEqual(drawn_samples(samples, 0, "unknown").times, []);
});

test("nothing drawn has no extent", () => {
  assert.equal(extent_of(drawn_history(history([]), 1_000)), null);
});

test("the extent reaches to the least and most of the summaries", () => {
  assert.deepEqual(
    extent_of(
      drawn_history(
        history([
          [0, 1, 5, 8, 9],
          [1_000, 2, 7, 8, 30],
        ]),
        1_000,
      ),
    ),
    { low: 1, high: 30, last: 7, mean: 6 },
  );
});

test("the table has at most as many rows as asked for, and dashes where nothing is known", () => {
  const drawn = drawn_history(
    history(
      [...Array(100).keys()].map(
        (i) => [i * 1_000, i, i, i, i] as [number, number, number, number, number],
      ),
    ),
    1_000,
  );
  const rows = table_of(drawn, 10);
  assert.equal(rows.length, 10);
  assert.deepEqual(rows[0], [0, 4.5, 0, 9]);
  assert.deepEqual(
    table_of({ times: [1], mean: [null], low: [], high: [], p95: [], banded: false }, 5),
    [[1, null, null, null]],
  );
});
