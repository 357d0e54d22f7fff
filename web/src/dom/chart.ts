// A chart over time: uPlot on a canvas, its numbers as a sentence for those who do not see it, and
// as a table for those who want them exactly.

import uPlot from "uplot";

import { clock_time, dash, day, moment } from "../model/format";
import { time_ticks } from "../model/scale";
import { extent_of, table_of, type Drawn } from "../model/series";
import { t } from "../words/translate";
import { el, set_attribute, set_text } from "./element";

export interface ChartMark {
  at: number;
  text: string;
}
export interface ChartOptions {
  title: string;
  format: (value: number | null) => string;
  /// The name of a colour in the style sheet: "--chart-load".
  colour: string;
  /// The top of the axis; null: as the values want it.
  top: number | null;
  height?: number;
  /// Axis steps for units that are not decimal.
  steps?: number[];
  /// Charts with the same word move their cursors together.
  sync?: string;
  on_cursor?: (time: number | null) => void;
}

const most_table_rows = 40;

export class Chart {
  readonly root: HTMLElement;
  private readonly box = el("div", { class: "plot", role: "img" });
  private readonly reading = el("span", { class: "reading" });
  private readonly table_place = el("div");
  private readonly details: HTMLDetailsElement;
  private plot: uPlot | null = null;
  private drawn: Drawn | null = null;
  private window: { from: number; to: number } | null = null;
  private marks: ChartMark[] = [];
  private top: number | null;
  private readonly resizer: ResizeObserver;

  constructor(private readonly options: ChartOptions) {
    this.top = options.top;
    this.details = el(
      "details",
      { class: "as-table", toggle: () => this.fill_table() },
      el("summary", {}, t("chart.table")),
      this.table_place,
    );
    this.root = el(
      "figure",
      { class: "chart" },
      el("figcaption", {}, el("span", { class: "chart-title" }, options.title), this.reading),
      this.box,
      this.details,
    );
    this.resizer = new ResizeObserver(() => this.fit());
    this.resizer.observe(this.box);
  }

  set_top(top: number | null): void {
    this.top = top;
  }

  set_marks(marks: ChartMark[]): void {
    this.marks = marks;
    this.plot?.redraw(false);
  }

  /// The cursor as if the mouse were there: a line of the log was pointed at.
  point_at(time: number | null): void {
    if (!this.plot) return;
    const left = time === null ? -10 : this.plot.valToPos(time, "x");
    this.plot.setCursor({ left, top: 10 }, false);
    this.show_reading(time);
  }

  show(drawn: Drawn, window: { from: number; to: number }): void {
    const banded = this.drawn?.banded;
    this.drawn = drawn;
    this.window = window;
    if (this.plot && banded === drawn.banded) {
      this.plot.setData(this.columns(), false);
      this.plot.setScale("x", { min: window.from, max: window.to });
    } else {
      this.rebuild();
    }
    this.describe();
    if (this.details.open) this.fill_table();
  }

  rebuild(): void {
    this.plot?.destroy();
    this.plot = null;
    if (!this.drawn || this.box.clientWidth === 0) return;
    this.plot = new uPlot(this.uplot_options(), this.columns(), this.box);
  }

  close(): void {
    this.resizer.disconnect();
    this.plot?.destroy();
  }

  private columns(): uPlot.AlignedData {
    const { times, mean, low, high, banded } = this.drawn!;
    return (banded ? [times, mean, high, low] : [times, mean]) as uPlot.AlignedData;
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
    const line = colour(this.options.colour);
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
        ...(this.drawn!.banded ? {} : { fill: `${line}22` }),
      },
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
        drag: { x: false, y: false },
        ...(this.options.sync ? { sync: { key: this.options.sync } } : {}),
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
          values: (plot) => this.ticks(plot).map((tick) => tick.text),
        },
        {
          stroke: text,
          font,
          grid,
          ticks: { show: false },
          size: 58,
          gap: 6,
          space: 28,
          ...(this.options.steps ? { incrs: this.options.steps } : {}),
          values: (_, values) => values.map((value) => this.options.format(value)),
        },
      ],
      hooks: {
        setCursor: [(plot) => this.cursor_moved(plot)],
        draw: [(plot) => this.draw_marks(plot, colour("--mark"))],
      },
    };
  }

  private ticks(plot: uPlot): ReturnType<typeof time_ticks> {
    return time_ticks(
      this.window!,
      Math.max(2, Math.floor(plot.bbox.width / devicePixelRatio / 80)),
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
      const value = format(this.drawn.mean[index] ?? null);
      const more = p95 === null ? "" : `  p95 ${format(p95)}  ${t("chart.most")} ${format(high)}`;
      set_text(this.reading, `${clock_or_moment(time, this.window!)}  ${value}${more}`);
      return;
    }
    const extent = this.drawn ? extent_of(this.drawn) : null;
    set_text(this.reading, extent ? format(extent.last) : dash);
  }

  private describe(): void {
    const extent = this.drawn ? extent_of(this.drawn) : null;
    const { format, title } = this.options;
    const text = extent
      ? t("chart.describe", {
          title,
          last: format(extent.last),
          mean: format(extent.mean),
          low: format(extent.low),
          high: format(extent.high),
        })
      : t("chart.nothing", { title });
    set_attribute(this.box, "aria-label", text);
    if (!this.plot || (this.plot.cursor.left ?? -10) < 0) this.show_reading(null);
  }

  private draw_marks(plot: uPlot, colour: string): void {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = colour;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const mark of this.marks) {
      const x = Math.round(plot.valToPos(mark.at, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  private fill_table(): void {
    if (!this.details.open || !this.drawn) return;
    const { format, title } = this.options;
    const head = [t("chart.time"), t("chart.mean"), t("chart.least"), t("chart.most")];
    const rows = table_of(this.drawn, most_table_rows).map(([time, ...values]) =>
      el(
        "tr",
        {},
        el("td", {}, moment(time)),
        ...values.map((value) => el("td", { class: "number" }, format(value))),
      ),
    );
    this.table_place.replaceChildren(
      el(
        "div",
        { class: "scrolls", tabindex: 0, role: "group", "aria-label": title },
        el(
          "table",
          {},
          el("caption", { class: "unseen" }, title),
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              ...head.map((word, i) =>
                el("th", { scope: "col", class: i ? "number" : null }, word),
              ),
            ),
          ),
          el("tbody", {}, ...rows),
        ),
      ),
    );
  }
}

function clock_or_moment(time: number, window: { from: number; to: number }): string {
  return window.to - window.from > 20 * 3_600_000
    ? `${day(time)} ${clock_time(time, false)}`
    : clock_time(time);
}
