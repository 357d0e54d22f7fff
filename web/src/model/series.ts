// Readings over time, as columns that a chart takes. They are the last minutes from the stream, and what the history
// answers. A gap is null in a column, never 0.

import { celsius, gib_axis, gib_steps, percent, used_of, watts } from "./format";
import type { Device, History, Samples } from "./wire";

interface Look {
  /// The name of a colour in the style sheet.
  colour: string;
  format: (value: number | null) => string;
  /// Axis steps for units that are not decimal.
  steps?: number[];
  /// The top of its chart, and what it is a part of; null: as the values want it.
  top: (device: Device) => number | null;
  /// With what it is a part of, where that says more than the value alone.
  text?: (value: number | null, top: number | null, device: Device) => string;
}

/// The readings that are drawn over time: those that berth itself marks as live, each one row. A
/// test of src/snapshot/recorded.h holds the two against each other.
export const readings = {
  utilization_gpu_percent: { colour: "--chart-load", format: percent, top: () => 100 },
  memory_used_bytes: {
    colour: "--chart-memory",
    format: gib_axis,
    steps: gib_steps,
    top: (device) => device.memory_total_bytes,
    text: (value, top, device) => used_of(value, top, device.memory_used_is_bound),
  },
  power_draw_milliwatts: {
    colour: "--chart-power",
    format: watts,
    top: (device) => device.power_limit_milliwatts,
    text: (value, top) =>
      value !== null && top !== null ? `${watts(value)} / ${watts(top)}` : watts(value),
  },
  temperature_celsius: { colour: "--chart-heat", format: celsius, top: () => 100 },
} satisfies Record<string, Look>;
export type Metric = keyof typeof readings;
export const metrics = Object.keys(readings) as Metric[];
export function look_of(metric: Metric): Look {
  return readings[metric];
}

export type Column = (number | null)[];

/// The last quarter of an hour of one device at 1 Hz.
export class LiveSeries {
  static readonly most = 900;
  readonly times: number[] = [];
  readonly columns = Object.fromEntries(
    metrics.map((metric): [Metric, Column] => [metric, []]),
  ) as Record<Metric, Column>;

  /// The load before the first of `times`, a second each, as the server remembers it.
  before: Column = [];

  /// The last `count` of the load, also of before this page was opened.
  last_load(count: number): Column {
    const own = this.columns.utilization_gpu_percent;
    const missing = count - own.length;
    return missing > 0 && this.before.length ? [...this.before.slice(-missing), ...own] : own;
  }

  /// `past`: from the server, one value each `step_ms`.
  learn_before(past: Column, since_ms: number, step_ms: number): void {
    const first = this.times[0] ?? Infinity;
    this.before = past.filter((_, i) => since_ms + (i + 1) * step_ms <= first);
  }

  add(time_ms: number, device: Pick<Device, Metric>): void {
    const last = this.times.at(-1);
    // The server's clock was set back: what came before has no place on this axis.
    if (last !== undefined && time_ms < last) this.clear();
    if (last === time_ms) return;
    this.times.push(time_ms);
    for (const metric of metrics) this.columns[metric].push(device[metric]);
    // Cut seldom: splice moves everything that stays.
    if (this.times.length > LiveSeries.most * 1.25) {
      const surplus = this.times.length - LiveSeries.most;
      this.times.splice(0, surplus);
      for (const metric of metrics) this.columns[metric].splice(0, surplus);
    }
  }

  private clear(): void {
    this.before = [];
    this.times.length = 0;
    for (const metric of metrics) this.columns[metric].length = 0;
  }
}

/// What a chart draws: one line, and a band around it where the points are summaries.
export interface Drawn {
  times: number[];
  mean: Column;
  low: Column;
  high: Column;
  p95: Column;
  banded: boolean;
  /// Further lines over the same times, each with its name; the first one's name is `label`.
  others?: { label: string; values: Column }[];
  label?: string;
}

/// Several devices' lines as one drawing. A time at which a device has no value is a gap in its line.
export function overlaid(lines: { label: string; drawn: Drawn }[]): Drawn {
  const times = [...new Set(lines.flatMap(({ drawn }) => drawn.times))].sort((a, b) => a - b);
  const at = new Map(times.map((time, i) => [time, i]));
  const columns = lines.map(({ label, drawn }) => {
    const values: Column = times.map(() => null);
    drawn.times.forEach((time, i) => {
      values[at.get(time)!] = drawn.mean[i] ?? null;
    });
    return { label, values };
  });
  const [first, ...others] = columns;
  const mean = first?.values ?? [];
  return { times, mean, low: [], high: [], p95: [], banded: false, others, label: first?.label ?? "" };
}

/// What a look may take, as the server counts it.
export const longest_look_ms = 3_000;

/// How far apart two points may be without anything between them missing. `step_ms`: how much time a
/// point stands for; `interval_ms`: from one look to the next, which may be longer.
export function gap_after(step_ms: number, interval_ms: number): number {
  return Math.max(1.9 * step_ms, 1.9 * interval_ms, longest_look_ms);
}

/// The points with a null where something is missing, so that no line crosses a gap.
export function drawn_history(history: History, interval_ms: number): Drawn {
  const drawn: Drawn = { times: [], mean: [], low: [], high: [], p95: [], banded: true };
  const gap = gap_after(history.step_ms, interval_ms);
  let previous: number | null = null;
  for (const [time, low, mean, p95, high] of history.points) {
    if (previous !== null && time - previous > gap) {
      drawn.times.push(previous + history.step_ms);
      for (const column of [drawn.mean, drawn.low, drawn.high, drawn.p95]) column.push(null);
    }
    drawn.times.push(time);
    drawn.mean.push(mean);
    drawn.low.push(low);
    drawn.high.push(high);
    drawn.p95.push(p95);
    previous = time;
  }
  return drawn;
}

/// The live minutes, with the history of the time before the page was opened. The history's points may stand for a
/// minute each.
export function drawn_live(
  live: LiveSeries,
  metric: Metric,
  before: History | null,
  since_ms: number,
  interval_ms: number,
): Drawn {
  return joined(live.times, live.columns[metric], before, since_ms, interval_ms);
}

function joined(
  times: readonly number[],
  values: Column,
  before: History | null,
  since_ms: number,
  interval_ms: number,
): Drawn {
  const drawn: Drawn = { times: [], mean: [], low: [], high: [], p95: [], banded: false };
  const first = times[0] ?? Infinity;
  let last: { time: number; step_ms: number } | null = null;
  const push = (time: number, value: number | null, step_ms: number): void => {
    if (last !== null && time - last.time > gap_after(last.step_ms, interval_ms)) {
      drawn.times.push(last.time + last.step_ms);
      drawn.mean.push(null);
    }
    drawn.times.push(time);
    drawn.mean.push(value);
    last = { time, step_ms };
  };
  for (const [time, , mean] of before?.points ?? []) {
    if (time >= since_ms && time < first) push(time, mean, before!.step_ms);
  }
  times.forEach((time, i) => {
    if (time >= since_ms) push(time, values[i] ?? null, interval_ms);
  });
  return drawn;
}

/// Readings that one page alone asks for, as long as it is open.
export class PolledSeries {
  private readonly times: number[] = [];
  private readonly columns = new Map<string, Column>();

  add(time_ms: number, values: [string, number | null][]): void {
    if (time_ms <= (this.times.at(-1) ?? -Infinity)) return;
    this.times.push(time_ms);
    const is_full = this.times.length > LiveSeries.most;
    if (is_full) this.times.shift();
    for (const [key, value] of values) {
      const column = this.columns.get(key) ?? [];
      this.columns.set(key, column);
      column.push(value);
      if (is_full) column.shift();
    }
  }

  drawn(key: string, before: History | null, since_ms: number, interval_ms: number): Drawn {
    return joined(this.times, this.columns.get(key) ?? [], before, since_ms, interval_ms);
  }
}

/// One device's column of a run's samples.
export function drawn_samples(samples: Samples, device: number, metric: string): Drawn {
  const drawn: Drawn = { times: [], mean: [], low: [], high: [], p95: [], banded: false };
  const at = samples.columns.indexOf(metric);
  if (at < 0) return drawn;
  const own = samples.points.filter((point) => point[1] === device);
  const apart = own.slice(1).map((point, i) => point[0] - own[i]![0]);
  const usual = apart.sort((a, b) => a - b)[apart.length >> 1] ?? 0;
  let before: number | null = null;
  for (const point of own) {
    // No line leads over a time in which nobody looked.
    if (before !== null && point[0] - before > gap_after(usual, 0)) {
      drawn.times.push(before + usual);
      drawn.mean.push(null);
    }
    drawn.times.push((before = point[0]));
    drawn.mean.push(point[at + 2] ?? null);
  }
  return drawn;
}

/// Several runs' lines of one reading, each from its own beginning: the mean of its devices. Each is
/// laid on `count` steps that all share.
export function drawn_runs(
  runs: { label: string; samples: Samples; begin: number }[],
  metric: Metric,
  step_ms: number,
  count: number,
): Drawn {
  return overlaid(
    runs.map(({ label, samples, begin }) => {
      const at = samples.columns.indexOf(metric);
      const steps = Array.from({ length: count }, () => ({ sum: 0, of: 0 }));
      for (const point of samples.points) {
        const value = at < 0 ? null : (point[at + 2] ?? null);
        const step = steps[Math.floor((point[0] - begin) / step_ms)];
        if (value === null || !step) continue;
        step.sum += value;
        step.of += 1;
      }
      const mean = steps.map(({ sum, of }) => (of ? sum / of : null));
      const times = steps.map((_, i) => i * step_ms);
      return { label, drawn: { times, mean, low: [], high: [], p95: [], banded: false } };
    }),
  );
}

/// A run's load at each of its times, the mean of its devices.
export function mean_load(samples: Samples): Column {
  const lines = samples.devices.map((_, device) => ({
    label: "",
    drawn: drawn_samples(samples, device, "utilization_gpu_percent"),
  }));
  return mean_of(overlaid(lines));
}

/// The mean of all lines of a drawing. Where some have nothing, of the others.
function mean_of({ mean, others }: Drawn): Column {
  return mean.map((first, i) => {
    const known = [first, ...(others ?? []).map(({ values }) => values[i] ?? null)].filter(
      (value): value is number => value !== null,
    );
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
  });
}

export interface Extent {
  low: number;
  high: number;
  last: number | null;
  mean: number;
}
/// The extent of the points from `begin` on and before `end`; null: all of them are gaps.
export function extent_of(drawn: Drawn, begin = 0, end = drawn.mean.length): Extent | null {
  let low = Infinity;
  let high = -Infinity;
  let sum = 0;
  let count = 0;
  const stop = Math.min(end, drawn.mean.length);
  for (let i = begin; i < stop; ++i) {
    const value = drawn.mean[i] ?? null;
    if (value === null) continue;
    low = Math.min(low, drawn.low[i] ?? value);
    high = Math.max(high, drawn.high[i] ?? value);
    sum += value;
    count += 1;
  }
  if (count === 0) return null;
  return { low, high, last: drawn.mean[stop - 1] ?? null, mean: sum / count };
}

/// At most `most` rows of [time, mean, low, high] for the table beside a chart.
export function table_of(
  drawn: Drawn,
  most: number,
): [number, number | null, number | null, number | null][] {
  const stride = Math.max(1, Math.ceil(drawn.times.length / most));
  const rows: [number, number | null, number | null, number | null][] = [];
  for (let start = 0; start < drawn.times.length; start += stride) {
    const all = extent_of(drawn, start, start + stride);
    rows.push([drawn.times[start]!, all?.mean ?? null, all?.low ?? null, all?.high ?? null]);
  }
  return rows;
}
