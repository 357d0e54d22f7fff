// A chart over time, by uPlot on a canvas. For the keyboard there is a slider, whose arrow keys go from one reading to
// the next. A sentence tells the numbers to those who do not see the chart. A table tells them exactly.

import type uPlot from "uplot";

import { clock_time, dash, day, duration, moment } from "../model/format";
import { time_ticks, zoomed, type Window } from "../model/scale";
import { extent_of, table_of, type Column, type Drawn } from "../model/series";
import { t } from "../words/translate";
import { Bands, type Band } from "./bands";
import { el, set_attribute, set_text } from "./element";
import { new_plot } from "./plot";

export interface ChartOptions {
  title: string;
  format: (value: number | null) => string;
  /// The name of a colour in the style sheet: "--chart-load".
  colour: string;
  /// The top of the axis; null: as the values want it.
  top: number | null;
  height?: number;
  /// Axis steps for units that are not decimal.
  steps?: number[] | undefined;
  /// Charts with the same word move their cursors together.
  sync?: string | undefined;
  on_cursor?: ((time: number | null) => void) | undefined;
  /// What a line is of, by its label; "GPU 3" where nothing is said.
  line_name?: (label: string) => string;
  /// Times count from a beginning, and are told as such: "5m00s".
  elapsed?: boolean;
  /// A stretch was dragged over, or the keys + and - asked for one.
  on_zoom?: ((window: Window) => void) | undefined;
}

const most_table_rows = 40;

/// The colours of several lines in one chart.
export const line_colours = [
  "--chart-load",
  "--chart-power",
  "--chart-memory",
  "--held",
  "--chart-heat",
  "--reserved",
  "--free",
  "--muted",
] as const;

export class Chart {
  readonly root: HTMLElement;
  private readonly box = el("div", { class: "plot", role: "slider", tabindex: 0 });
  private readonly bands = new Bands();
  private readonly reading = el("span", { class: "reading" });
  private readonly keys = el("span", { class: "chart-keys", "aria-hidden": "true" });
  private readonly heads = el("tr");
  private readonly rows = el("tbody");
  private readonly details: HTMLDetailsElement;
  private plot: uPlot | null = null;
  private drawn: Drawn | null = null;
  private window: Window | null = null;
  /// Moments that a line through the chart stands at.
  private marks: number[] = [];
  private top: number | null;
  /// While somebody drags: what has come since.
  private held: { late: [Drawn, Window] | null } | null = null;
  private readonly resizer: ResizeObserver;

  constructor(private readonly options: ChartOptions) {
    this.top = options.top;
    this.details = el(
      "details",
      { class: "as-table", toggle: () => this.fill_table() },
      el("summary", {}, t("chart.table")),
      this.table(),
    );
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("blur", () => this.point_at(null));
    this.box.addEventListener("mousedown", () => this.hold());
    this.root = el(
      "figure",
      { class: "chart" },
      el("figcaption", {}, el("span", { class: "chart-title" }, options.title), this.keys, this.reading),
      this.box,
      this.bands.root,
      this.details,
    );
    this.resizer = new ResizeObserver(() => this.fit());
    this.resizer.observe(this.box);
  }

  set_top(top: number | null): void {
    this.top = top;
  }

  set_marks(marks: number[]): void {
    this.marks = marks;
    this.plot?.redraw(false);
  }

  set_bands(bands: Band[]): void {
    this.bands.set(bands);
    if (this.window) this.bands.show(this.window);
  }

  /// The cursor as if the mouse were there: a line of the log was pointed at.
  point_at(time: number | null): void {
    if (!this.plot) return;
    const left = time === null ? -10 : this.plot.valToPos(time, "x");
    this.plot.setCursor({ left, top: 10 }, false);
    const at = time === null ? null : (this.plot.cursor.idx ?? null);
    this.show_reading(at === null ? null : (this.drawn!.times[at] ?? null), at);
  }

  /// Nothing moves under a hand that drags: what comes is shown when it lets go. uPlot, which hears of
  /// that first, then has the stretch.
  private hold(): void {
    if (!this.options.on_zoom || this.held) return;
    this.held = { late: null };
    const let_go = (): void => {
      const late = this.held?.late;
      this.held = null;
      if (late) this.show(...late);
    };
    document.addEventListener("mouseup", let_go, { once: true });
  }

  show(drawn: Drawn, window: Window): void {
    if (this.held) {
      this.held.late = [drawn, window];
      return;
    }
    const before = this.drawn;
    this.drawn = drawn;
    this.window = window;
    const is_like = before?.banded === drawn.banded && count_of(before) === count_of(drawn);
    if (!is_like) this.show_keys();
    if (this.plot && is_like) {
      this.plot.setData(this.columns(), false);
      this.plot.setScale("x", { min: window.from, max: window.to });
    } else {
      this.rebuild();
    }
    this.bands.show(window);
    this.describe();
    if (this.details.open) this.fill_table();
  }

  rebuild(): void {
    this.plot?.destroy();
    this.plot = null;
    if (!this.drawn || this.box.clientWidth === 0) return;
    this.plot = new_plot(this.uplot_options(), this.columns(), this.box);
  }

  close(): void {
    this.held = null;
    this.resizer.disconnect();
    this.plot?.destroy();
  }

  private columns(): uPlot.AlignedData {
    const { times, mean, low, high, banded, others } = this.drawn!;
    const more = (others ?? []).map(({ values }) => values);
    return (banded ? [times, mean, high, low] : [times, mean, ...more]) as uPlot.AlignedData;
  }

  /// The lines' names in their colours.
  private show_keys(): void {
    const { label, others } = this.drawn!;
    const names = others?.length ? [label ?? "", ...others.map((other) => other.label)] : [];
    this.keys.replaceChildren(
      ...names.map((name, i) => {
        const key = el("span", { class: "chart-key" }, name);
        key.style.setProperty("--own", `var(${this.colour_of(i)})`);
        return key;
      }),
    );
  }

  private colour_of(line: number): string {
    return this.drawn?.others?.length ? line_colours[line % line_colours.length]! : this.options.colour;
  }

  private fit(): void {
    const width = this.box.clientWidth;
    if (!this.plot) this.rebuild();
    else if (width > 0 && width !== this.plot.width) {
      this.plot.setSize({ width, height: this.options.height ?? 120 });
    }
  }

  private uplot_options(): uPlot.Options {
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    const line = colour(this.colour_of(0));
    const others = this.drawn!.others ?? [];
    const text = colour("--muted");
    const grid = { stroke: colour("--line"), width: 1 };
    const font = "11px system-ui, sans-serif";
    const band = { stroke: "transparent", width: 0, points: { show: false } };
    const series: uPlot.Series[] = [
      {},
      {
        stroke: line,
        width: 1.5,
        spanGaps: false,
        points: { show: false },
        ...(this.drawn!.banded || others.length ? {} : { fill: `${line}22` }),
      },
      ...others.map((_, i) => ({
        stroke: colour(this.colour_of(i + 1)),
        width: 1.5,
        spanGaps: false,
        points: { show: false },
        // Colours begin anew: dashes tell the second round from the first.
        ...(i + 1 >= line_colours.length ? { dash: [6, 3] } : {}),
      })),
    ];
    if (this.drawn!.banded) series.push(band, band);
    return {
      width: this.box.clientWidth,
      height: this.options.height ?? 120,
      ms: 1,
      padding: [8, 8, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        points: { size: 6 },
        drag: { x: Boolean(this.options.on_zoom), y: false, setScale: false },
        ...(this.options.sync ? { sync: { key: this.options.sync, filters: { pub: is_move } } } : {}),
      },
      scales: {
        x: { time: true, range: () => [this.window!.from, this.window!.to] },
        y: { range: (_, __, high) => [0, this.top ?? Math.max(1, (high ?? 1) * 1.1)] },
      },
      series,
      ...(this.drawn!.banded ? { bands: [{ series: [2, 3], fill: `${line}2e` }] } : {}),
      axes: [
        {
          stroke: text,
          font,
          grid: { show: false },
          ticks: { ...grid, size: 4 },
          size: 24,
          gap: 3,
          splits: (plot) => this.ticks(plot).map((tick) => tick.at),
          // A word that would be cut at the edge is left out.
          values: (plot) =>
            this.ticks(plot).map(({ at, text }) => (fits(plot, at, text, font) ? text : "")),
        },
        {
          stroke: text,
          font,
          grid,
          ticks: { show: false },
          size: 66,
          gap: 6,
          space: 28,
          ...(this.options.steps ? { incrs: this.options.steps } : {}),
          values: (_, values) => values.map((value) => this.options.format(value)),
        },
      ],
      hooks: {
        setCursor: [(plot) => this.cursor_moved(plot)],
        setSelect: [(plot) => this.dragged_over(plot)],
        draw: [(plot) => this.draw_marks(plot, colour("--mark"))],
      },
    };
  }

  private dragged_over(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4) return;
    const window = { from: plot.posToVal(left, "x"), to: plot.posToVal(left + width, "x") };
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.options.on_zoom?.(window);
  }

  private ticks(plot: uPlot): ReturnType<typeof time_ticks> {
    return time_ticks(
      this.window!,
      Math.max(2, Math.floor(plot.bbox.width / devicePixelRatio / 80)),
      this.options.elapsed,
    );
  }

  private cursor_moved(plot: uPlot): void {
    const { left, idx } = plot.cursor;
    const inside =
      left !== undefined && left !== null && left >= 0 && idx !== null && idx !== undefined;
    const time = inside ? plot.posToVal(left, "x") : null;
    this.show_reading(
      time === null ? null : (this.drawn!.times[idx!] ?? null),
      time === null ? null : idx!,
    );
    this.options.on_cursor?.(time);
  }

  private show_reading(time: number | null, index: number | null = null): void {
    const { format } = this.options;
    if (time !== null && index !== null && this.drawn) {
      const p95 = this.drawn.p95[index] ?? null;
      const high = this.drawn.high[index] ?? null;
      const { label, others } = this.drawn;
      const first = format(this.drawn.mean[index] ?? null);
      const value = others?.length
        ? [
            `${label}: ${first}`,
            ...others.map((other) => `${other.label}: ${format(other.values[index] ?? null)}`),
          ].join("  ")
        : first;
      const more = p95 === null ? "" : `  p95 ${format(p95)}  ${t("chart.most")} ${format(high)}`;
      this.say(time, `${this.when(time)}  ${value}${more}`);
      return;
    }
    const extent = this.drawn ? extent_of(this.drawn) : null;
    this.say(this.window?.to ?? 0, extent ? format(extent.last) : dash);
  }

  private when(time: number): string {
    return this.options.elapsed ? duration(time) : clock_or_moment(time, this.window!);
  }

  private line_name(label: string | undefined): string {
    return this.options.line_name?.(label ?? "") ?? `GPU ${label ?? ""}`;
  }

  private say(time: number, text: string): void {
    set_text(this.reading, text);
    const { from, to } = this.window ?? { from: 0, to: 0 };
    set_attribute(this.box, "aria-valuemin", String(Math.round(from)));
    set_attribute(this.box, "aria-valuemax", String(Math.round(to)));
    set_attribute(this.box, "aria-valuenow", String(Math.round(Math.min(to, Math.max(from, time)))));
    set_attribute(this.box, "aria-valuetext", text);
  }

  private describe(): void {
    const { drawn } = this;
    const { title } = this.options;
    const text =
      drawn?.others?.length && extent_of(drawn)
        ? [
            this.described(`${title}, ${this.line_name(drawn.label)}`, drawn),
            ...drawn.others.map(({ label, values }) =>
              this.described(`${title}, ${this.line_name(label)}`, { ...drawn, mean: values }),
            ),
          ].join(" ")
        : this.described(title, drawn);
    set_attribute(this.box, "aria-label", text);
    if (!this.plot || (this.plot.cursor.left ?? -10) < 0) this.show_reading(null);
  }

  private described(title: string, drawn: Drawn | null): string {
    const extent = drawn ? extent_of(drawn) : null;
    const { format } = this.options;
    return extent
      ? t("chart.describe", {
          title,
          last: format(extent.last),
          mean: format(extent.mean),
          low: format(extent.low),
          high: format(extent.high),
        })
      : t("chart.nothing", { title });
  }

  private draw_marks(plot: uPlot, colour: string): void {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = colour;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const mark of this.marks) {
      const x = Math.round(plot.valToPos(mark, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  private table(): HTMLElement {
    const { title } = this.options;
    return el(
      "div",
      { class: "scrolls", tabindex: 0, role: "group", "aria-label": title },
      el(
        "table",
        {},
        el("caption", { class: "unseen" }, title),
        el("thead", {}, this.heads),
        this.rows,
      ),
    );
  }

  private fill_table(): void {
    if (!this.details.open || !this.drawn) return;
    const { format } = this.options;
    const { drawn } = this;
    const others = drawn.others ?? [];
    const heads = others.length
      ? [drawn.label, ...others.map(({ label }) => label)].map((label) => this.line_name(label))
      : [t("chart.mean"), t("chart.least"), t("chart.most")];
    this.heads.replaceChildren(
      ...[t("chart.time"), ...heads].map((word, i) =>
        el("th", { scope: "col", class: i ? "number" : null }, word),
      ),
    );
    const others_rows = others.map(({ values }) =>
      table_of({ ...drawn, mean: values }, most_table_rows),
    );
    const lines = table_of(drawn, most_table_rows).map((row, i) =>
      others.length ? [row[0], row[1], ...others_rows.map((rows) => rows[i]![1])] : row,
    ) as [number, ...Column][];
    this.rows.replaceChildren(
      ...lines.map(([time, ...values]) =>
        el(
          "tr",
          {},
          el("td", {}, this.options.elapsed ? duration(time) : moment(time)),
          ...values.map((value) => el("td", { class: "number" }, format(value))),
        ),
      ),
    );
  }

  /// Moves the cursor from the keyboard; what follows the mouse over the chart follows this too.
  private key(event: KeyboardEvent): void {
    if (!this.plot || !this.drawn || event.ctrlKey || event.altKey || event.metaKey) return;
    const { times } = this.drawn;
    if (times.length === 0) return;
    const factor = { "+": 0.5, "-": 2 }[event.key];
    if (factor && this.options.on_zoom) {
      event.preventDefault();
      const { left } = this.plot.cursor;
      const { from, to } = this.window!;
      const middle = left !== undefined && left >= 0 ? this.plot.posToVal(left, "x") : (from + to) / 2;
      this.options.on_zoom(zoomed(this.window!, middle, factor));
      return;
    }
    const at = this.plot.cursor.idx ?? times.length - 1;
    // A screen holds hundreds of readings: a twentieth of them at a time with Page keys.
    const page = Math.max(1, Math.round(times.length / 20));
    const by = key_steps(page, times.length)[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const to = Math.min(times.length - 1, Math.max(0, at + by));
    this.plot.setCursor({ left: this.plot.valToPos(times[to]!, "x"), top: 10 });
  }
}

/// Charts move their cursors together. A stretch is dragged over one of them: the others would each ask
/// for it as well.
function is_move(event: string): boolean {
  return event === "mousemove";
}

function fits(plot: uPlot, at: number, text: string, font: string): boolean {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.font = font;
  const { width } = ctx.measureText(text);
  ctx.restore();
  const left = bbox.left / devicePixelRatio + plot.valToPos(at, "x");
  return left + width / 2 <= plot.width;
}

function count_of(drawn: Drawn | null): number {
  return drawn?.others?.length ?? 0;
}

function key_steps(page: number, all: number): Record<string, number> {
  return {
    ArrowRight: 1,
    ArrowUp: 1,
    ArrowLeft: -1,
    ArrowDown: -1,
    PageUp: page,
    PageDown: -page,
    Home: -all,
    End: all,
  };
}

function clock_or_moment(time: number, window: Window): string {
  return window.to - window.from > 20 * 3_600_000
    ? `${day(time)} ${clock_time(time, false)}`
    : clock_time(time);
}
