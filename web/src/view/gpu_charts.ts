// A GPU's charts over one time: its readings, from the last minutes to months. Below their axes stands who had the GPU.
// Dragging over a stretch shows that stretch. A reading that was not measured in it has no chart.

import { get, type Answer } from "../api";
import type { Band } from "../dom/bands";
import { Chart, line_colours } from "../dom/chart";
import { el, section, set_hidden, set_text } from "../dom/element";
import { moment } from "../model/format";
import { extra_charts, number_of, type ExtraChart } from "../model/gpu_readings";
import { address_of } from "../model/route";
import { stacked, type Window } from "../model/scale";
import {
  drawn_history,
  drawn_live,
  extent_of,
  look_of,
  metrics,
  overlaid,
  PolledSeries,
  type Drawn,
} from "../model/series";
import { find_device, type State } from "../model/state";
import type { History, SnapshotDevice, Span, Timeline } from "../model/wire";
import { t } from "../words/translate";
import { chart_of } from "./charts";
import { choice, day, failure, hour, minute, type PageContext } from "./view";

const ranges = {
  live: 15 * minute,
  h1: hour,
  h6: 6 * hour,
  d1: day,
  d7: 7 * day,
  d30: 30 * day,
  d90: 90 * day,
} as const;
type Range = keyof typeof ranges;
let range: Range = "live"; // kept from one GPU to the next

export class GpuCharts {
  readonly root: HTMLElement;
  private zoom: Window | null = null;
  private readonly charts: Chart[];
  private readonly extras: Chart[];
  private readonly notice = el("div");
  private readonly nothing = el("p", { class: "nothing" }, t("gpu.nothing_recorded"));
  private readonly since = el("p", { class: "muted small" });
  private readonly people = el("p", { class: "legend" });
  private readonly whole: HTMLButtonElement;
  private readonly histories = new Map<string, History>();
  private readonly polled = new PolledSeries();
  private newest: SnapshotDevice | null = null;
  private spans: Span[] = [];
  private stop = new AbortController();
  private asked_ms = -Infinity;
  private has_answer = false;

  constructor(
    private readonly context: PageContext,
    private readonly id: string,
  ) {
    const on_zoom = (window: Window): void => this.look_at(window);
    this.charts = metrics.map((metric) => chart_of(metric, { height: 132, sync: "gpu", on_zoom }));
    this.extras = extra_charts.map(
      ({ word, format, colour }) =>
        new Chart({
          title: t(`extra.${word}`),
          format,
          colour,
          top: null,
          height: 132,
          sync: "gpu",
          on_zoom,
          line_name: (label) => label,
        }),
    );
    const pick = choice(
      t("gpu.range"),
      (Object.keys(ranges) as Range[]).map((key) => [key, t(`range.${key}`)] as const),
      range,
      (value) => {
        range = value;
        this.look_at(null);
      },
    );
    const whole = (): void => this.look_at(null);
    this.whole = el("button", { type: "button", click: whole }, t("gpu.whole_range"));
    this.root = section(
      t("gpu.charts"),
      2,
      el(
        "div",
        { class: "bar-of-tools" },
        pick.root,
        this.whole,
        el("span", { class: "muted small" }, t("gpu.zoom_hint")),
        this.since,
      ),
      this.notice,
      this.people,
      el("div", { class: "charts" }, ...[...this.charts, ...this.extras].map((one) => one.root)),
      this.nothing,
    );
    set_hidden(this.nothing, true);
    set_hidden(this.people, true);
    this.look_at(null);
  }

  private look_at(window: Window | null): void {
    this.zoom = window;
    set_hidden(this.whole, window === null);
    void this.ask();
  }

  private window(): Window {
    const to = this.context.server_now();
    return this.zoom ?? { from: to - ranges[range], to };
  }

  private is_live(): boolean {
    return range === "live" && this.zoom === null;
  }

  private async ask(): Promise<void> {
    this.stop.abort();
    const own = (this.stop = new AbortController());
    this.asked_ms = performance.now();
    const window = this.window();
    const [since, until] = [Math.floor(window.from), Math.ceil(window.to)];
    const kept = extra_charts.flatMap(({ lines }) => lines.map((line) => line.kept));
    const wanted = [...metrics, ...kept.filter((metric) => metric !== null)];
    const [timeline, ...answers] = await Promise.all([
      get<Timeline>("api/v1/timeline", { since, until }, own.signal),
      ...wanted.map((metric) =>
        get<History>(
          "api/v1/history",
          { device: this.id, metric, since, until, points: this.is_live() ? 900 : 360 },
          own.signal,
        ),
      ),
    ]);
    if (own.signal.aborted) return;
    this.histories.clear();
    let failed: (Answer<unknown> & { ok: false }) | null = null;
    answers.forEach((answer, i) => {
      if (answer.ok) this.histories.set(wanted[i]!, answer.value);
      // A card that has no such reading is no failure of the history.
      else if (i < metrics.length) failed = answer;
    });
    this.notice.replaceChildren(...(failed ? [failure(failed)] : []));
    const since_ms = this.histories.get(metrics[0]!)?.knows_since_unix_ms ?? null;
    const is_short = since_ms !== null && since_ms > window.from;
    set_text(this.since, is_short ? t("gpu.knows_since", { when: moment(since_ms) }) : "");
    this.has_answer = true;
    this.spans = timeline.ok ? timeline.value.spans : [];
    this.show_people();
    this.draw();
  }

  /// Shows the users who had it, each in a colour of their own.
  private show_people(): void {
    const overview = this.context.state().overview;
    const parts = overview?.devices.filter((one) => one.parent === this.id) ?? [];
    const here = new Set([this.id, ...parts.map((one) => one.id)]);
    const had = this.spans.filter((span) => here.has(span.device) && span.kind !== "health");
    const who = (span: Span): string => span.user ?? t("usage.unseen");
    const names = [...new Set(had.map(who))];
    const colour_of = (name: string): string =>
      line_colours[names.indexOf(name) % line_colours.length]!;
    const now = this.context.server_now();
    const bands = stacked(had, now).map(({ span, row }): Band => {
      const title = [who(span), span.id, span.title].filter(Boolean).join("  ");
      const to = span.to_unix_ms ?? Infinity;
      return { from: span.from_unix_ms, to, text: title, colour: colour_of(who(span)), row };
    });
    for (const chart of [...this.charts, ...this.extras]) chart.set_bands(bands);
    this.people.replaceChildren(
      t("gpu.who_had"),
      ...names.map((name) => {
        const key = el("i");
        key.style.background = `var(${colour_of(name)})`;
        const runs = had.filter((span) => who(span) === name && span.kind === "run" && span.id);
        const run = runs.at(-1)?.id;
        const link = run && el("a", { href: address_of({ view: "run", id: run }) }, name);
        return el("span", {}, key, link || name);
      }),
    );
    set_hidden(this.people, names.length === 0);
  }

  /// What the device tells now; each second while its page is open.
  learn(device: SnapshotDevice, time_ms: number): void {
    this.newest = device;
    const keys = extra_charts.flatMap(({ lines }) => lines.map((line) => line.key));
    this.polled.add(
      time_ms,
      keys.map((key) => [key, number_of(device, key)]),
    );
  }

  update(_: State): void {
    const patience = this.is_live() ? 30_000 : 60_000;
    if (performance.now() - this.asked_ms > patience && this.zoom === null) void this.ask();
    if (this.is_live()) this.draw();
  }

  private draw(): void {
    const { overview, series } = this.context.state();
    const device = find_device(overview, this.id);
    const interval = overview?.interval_ms ?? 0;
    const window = this.window();
    const live = series.get(this.id);
    let shown = 0;
    const show = (chart: Chart, drawn: Drawn | null): void => {
      const columns = drawn ? [drawn.mean, ...(drawn.others ?? []).map(({ values }) => values)] : [];
      const is_there = columns.some((mean) => extent_of({ ...drawn!, mean }) !== null);
      set_hidden(chart.root, !is_there && this.has_answer);
      if (is_there) shown += 1;
      if (drawn && is_there) chart.show(drawn, window);
    };
    metrics.forEach((metric, i) => {
      if (device) this.charts[i]!.set_top(look_of(metric).top(device));
      const history = this.histories.get(metric) ?? null;
      const now =
        this.is_live() && live ? drawn_live(live, metric, history, window.from, interval) : null;
      show(this.charts[i]!, now ?? (history && drawn_history(history, interval)));
    });
    extra_charts.forEach((extra, i) => {
      if (this.newest) this.extras[i]!.set_top(extra.top(this.newest));
      show(this.extras[i]!, this.drawn_extra(extra, window, interval));
    });
    set_hidden(this.nothing, shown > 0 || !this.has_answer);
  }

  private drawn_extra({ lines }: ExtraChart, window: Window, interval: number): Drawn | null {
    const drawn = lines.map(({ word, key, kept }) => {
      const history = kept === null ? null : (this.histories.get(kept) ?? null);
      const label = word === null ? "" : t(`extra.${word}`);
      if (!this.is_live())
        return { label, drawn: history && { ...drawn_history(history, interval), banded: false } };
      // A rate that the driver tells and what a counter grew by are not one line.
      const before = kept === key ? history : null;
      return { label, drawn: this.polled.drawn(key, before, window.from, interval) };
    });
    const known = drawn.filter((one): one is { label: string; drawn: Drawn } => one.drawn !== null);
    if (known.length === 0) return null;
    return lines.length === 1 ? known[0]!.drawn : overlaid(known);
  }

  recolour(): void {
    for (const chart of [...this.charts, ...this.extras]) chart.rebuild();
  }

  close(): void {
    this.stop.abort();
    for (const chart of [...this.charts, ...this.extras]) chart.close();
  }
}
