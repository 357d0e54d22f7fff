// The whole server in one chart: load, memory, power and free GPUs, each as a share of all there is.

import { get } from "../api";
import { Chart } from "../dom/chart";
import { el, section, set_hidden } from "../dom/element";
import { at_least, percent } from "../model/format";
import { overlaid, type Column, type Drawn } from "../model/series";
import { standing_of, type State } from "../model/state";
import type { Device, Recent, Timeline } from "../model/wire";
import { t } from "../words/translate";
import { choice, day, hour, minute, type PageContext } from "./view";

const ranges = { live: 15 * minute, h6: 6 * hour, d1: day, d7: 7 * day } as const;
type Range = keyof typeof ranges;
let range: Range = "live";
const points = 180;
const kept = ["utilization_gpu_percent", "memory_used_bytes", "power_draw_milliwatts"] as const;
type Kept = (typeof kept)[number];

/// The server at a moment, in percent; null: not known.
interface Moment {
  at: number;
  values: (number | null)[];
}

export class ServerChart {
  readonly root: HTMLElement;
  private readonly chart = new Chart({
    title: t("overview.server_chart"),
    format: percent,
    colour: "--chart-load",
    top: 100,
    height: 150,
    line_name: (label) => label,
  });
  private past: Moment[] = [];
  private live: Moment[] = [];
  private stop = new AbortController();
  private asked_ms = -Infinity;
  private drawn_ms = -Infinity;
  private is_bound = false; // of the memory that is used

  constructor(private readonly context: PageContext) {
    const pick = choice(
      t("gpu.range"),
      (Object.keys(ranges) as Range[]).map((key) => [key, t(`range.${key}`)] as const),
      range,
      (value) => {
        range = value;
        void this.ask();
      },
    );
    this.root = section(
      t("overview.server"),
      2,
      el("div", { class: "bar-of-tools" }, pick.root),
      this.chart.root,
    );
    set_hidden(this.root, true);
  }

  update({ overview }: State): void {
    if (!overview) return;
    const cards = overview.devices.filter((device) => device.parent === null);
    set_hidden(this.root, cards.length === 0);
    this.is_bound = cards.some((card) => card.memory_used_is_bound);
    const at = overview.taken_unix_ms;
    const last = this.live.at(-1)?.at ?? -Infinity;
    if (at < last) this.live = [];
    if (at !== last) this.live.push({ at, values: shares_of(cards) });
    if (this.live.length > 1_200) this.live.splice(0, 300);
    const now = performance.now();
    if (now - this.asked_ms > 60_000) void this.ask();
    // A pixel of it is some seconds wide.
    if (now - this.drawn_ms > 5_000) this.draw();
  }

  private async ask(): Promise<void> {
    this.stop.abort();
    const own = (this.stop = new AbortController());
    this.asked_ms = performance.now();
    const until = Math.round(this.context.server_now());
    const since = until - ranges[range];
    const [timeline, ...answers] = await Promise.all([
      get<Timeline>("api/v1/timeline", { since, until }, own.signal),
      ...kept.map((metric) =>
        get<Recent>("api/v1/recent", { metric, since, until, points }, own.signal),
      ),
    ]);
    if (own.signal.aborted) return;
    const overview = this.context.state().overview;
    const cards = overview?.devices.filter((device) => device.parent === null) ?? [];
    const found = answers.map((answer) => (answer.ok ? answer.value : null));
    this.past = past_of(cards, found, timeline.ok ? timeline.value : null);
    this.draw();
  }

  private draw(): void {
    this.drawn_ms = performance.now();
    const to = this.context.server_now();
    const from = to - ranges[range];
    const is_live = range === "live";
    const first = is_live ? (this.live[0]?.at ?? Infinity) : Infinity;
    const shown = [
      ...this.past.filter(({ at }) => at >= from && at < first),
      ...(is_live ? this.live.filter(({ at }) => at >= from) : []),
    ];
    const labels = [
      t("metric.utilization_gpu_percent"),
      at_least(t("metric.memory_used_bytes"), this.is_bound),
      t("metric.power_draw_milliwatts"),
      t("overview.free"),
    ];
    const times = shown.map(({ at }) => at);
    const lines = labels.map((label, i) => {
      const mean: Column = shown.map(({ values }) => values[i] ?? null);
      const drawn: Drawn = { times, mean, low: [], high: [], p95: [], banded: false };
      return { label, drawn };
    });
    // A reading that no card tells has no line.
    const known = lines.filter(({ drawn }) => drawn.mean.some((value) => value !== null));
    if (known.length) this.chart.show(overlaid(known), { from, to });
  }

  recolour(): void {
    this.chart.rebuild();
  }

  close(): void {
    this.stop.abort();
    this.chart.close();
  }
}

/// What a card's reading is a part of; null: nothing is known of it.
function whole_of(card: Device, metric: Kept): number | null {
  if (metric === "utilization_gpu_percent") return 100;
  return metric === "memory_used_bytes" ? card.memory_total_bytes : card.power_limit_milliwatts;
}

/// The share over the cards that tell both; null: none does.
function share(cards: Device[], metric: Kept, value_of: (card: Device) => number | null): number | null {
  let sum = 0;
  let all = 0;
  for (const card of cards) {
    const [value, whole] = [value_of(card), whole_of(card, metric)];
    if (value === null || !whole) continue;
    sum += value;
    all += whole;
  }
  return all > 0 ? (100 * sum) / all : null;
}

function shares_of(cards: Device[]): (number | null)[] {
  const free = cards.filter((card) => standing_of(card) === "free").length;
  return [
    ...kept.map((metric) => share(cards, metric, (card) => card[metric])),
    cards.length ? (100 * free) / cards.length : null,
  ];
}

/// A card was free while nobody had it. Nothing is said of a time that nobody watched.
function past_of(cards: Device[], found: (Recent | null)[], had: Timeline | null): Moment[] {
  const steps = found.find((one) => one !== null);
  if (!steps) return [];
  const columns = found.map(
    (one) => new Map(one?.devices.map((device) => [device.id, device.values])),
  );
  const count = steps.devices[0]?.values.length ?? 0;
  const usable = cards.filter((card) => !["broken", "unknown"].includes(standing_of(card)));
  return Array.from({ length: count }, (_, i): Moment => {
    const at = steps.since_unix_ms + (i + 0.5) * steps.step_ms;
    // The step's end counts: in its middle nobody may have looked yet.
    const end = at + steps.step_ms / 2;
    const values = kept.map((metric, place) =>
      share(cards, metric, (card) => columns[place]!.get(card.id)?.[i] ?? null),
    );
    const taken = new Set(
      had?.spans
        .filter(
          (span) =>
            span.kind !== "health" &&
            span.from_unix_ms <= end &&
            (span.to_unix_ms === null || span.to_unix_ms > end),
        )
        .map((span) => span.device),
    );
    const free = usable.filter((card) => !taken.has(card.id)).length;
    const was_watched = values.some((value) => value !== null);
    return { at, values: [...values, had?.left_out === 0 && was_watched ? (100 * free) / cards.length : null] };
  });
}
