// Stretches of time: zooming and moving them, and where their ticks stand.

import { duration } from "./format";

export interface Window {
  from: number;
  to: number;
}

const least = 10_000;
const most = 400 * 86_400_000;

/// Zooms about `at`: a factor below 1 comes closer. `at` stays where it is on the screen.
export function zoomed(window: Window, at: number, factor: number): Window {
  const length = window.to - window.from;
  const wanted = Math.min(most, Math.max(least, length * factor));
  const share = (at - window.from) / length;
  const from = at - share * wanted;
  return { from, to: from + wanted };
}

export function moved(window: Window, by_ms: number): Window {
  return { from: window.from + by_ms, to: window.to + by_ms };
}

/// The place of `time`, from 0 (left edge) to 1 (right edge); outside it is below 0 or above 1.
export function place_in(window: Window, time: number): number {
  return (time - window.from) / (window.to - window.from);
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const steps = [
  second,
  2 * second,
  5 * second,
  10 * second,
  15 * second,
  30 * second,
  minute,
  2 * minute,
  5 * minute,
  10 * minute,
  15 * minute,
  30 * minute,
  hour,
  2 * hour,
  3 * hour,
  6 * hour,
  12 * hour,
  day,
  2 * day,
  7 * day,
  14 * day,
  28 * day,
  56 * day,
];

export interface Tick {
  at: number;
  text: string;
  is_day: boolean;
}

/// Round local times, at most `room` of them. Each has as much of the date as tells it apart.
/// `elapsed`: round times since a beginning.
export function time_ticks(window: Window, room: number, elapsed = false): Tick[] {
  const length = window.to - window.from;
  const step = steps.find((candidate) => length / candidate <= room) ?? steps.at(-1)!;
  if (elapsed) {
    const count = Math.floor(length / step) + 1;
    const at = (i: number): number => (Math.ceil(window.from / step) + i) * step;
    return Array.from({ length: count }, (_, i) => ({
      at: at(i),
      text: at(i) === 0 ? "0" : duration(at(i)).replace(/(?<=[hmd])00[ms]$/, ""),
      is_day: false,
    })).filter((tick) => tick.at <= window.to);
  }
  const shift = new Date(window.from).getTimezoneOffset() * minute;
  const ticks: Tick[] = [];
  const first = Math.ceil((window.from - shift) / step) * step + shift;
  for (let at = first; at <= window.to; at += step) {
    const date = new Date(at);
    const two = (n: number): string => String(n).padStart(2, "0");
    const midnight = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
    const is_day = step >= day || midnight;
    const clock = `${two(date.getHours())}:${two(date.getMinutes())}`;
    const text = is_day
      ? `${two(date.getMonth() + 1)}-${two(date.getDate())}`
      : step < minute
        ? `${clock}:${two(date.getSeconds())}`
        : clock;
    ticks.push({ at, text, is_day });
  }
  return ticks;
}

/// Rows for spans that overlap on one device: each span goes to the first row that is free.
export function stacked<T extends { from_unix_ms: number; to_unix_ms: number | null }>(
  spans: T[],
  now: number,
): { span: T; row: number }[] {
  const ends: number[] = [];
  return [...spans]
    .sort((a, b) => a.from_unix_ms - b.from_unix_ms)
    .map((span) => {
      let row = ends.findIndex((end) => end <= span.from_unix_ms);
      if (row < 0) row = ends.length;
      ends[row] = span.to_unix_ms ?? Math.max(now, span.from_unix_ms);
      return { span, row };
    });
}
