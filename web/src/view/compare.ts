// Several runs side by side: their curves over one another from their beginnings. It also shows how their figures and
// parameters differ.

import { get } from "../api";
import type { Chart } from "../dom/chart";
import { el, section } from "../dom/element";
import { dash } from "../model/format";
import { differences, run_labels, type Row } from "../model/differences";
import { address_of } from "../model/route";
import { drawn_runs, extent_of, metrics } from "../model/series";
import type { Run, Samples } from "../model/wire";
import { t, word_or } from "../words/translate";
import { chart_of } from "./charts";
import { end_text } from "./runs";
import { failure, waiting, type View } from "./view";

interface Known {
  run: Run;
  samples: Samples;
}
const most_runs = 8;
const points = 300;

export function compare_view(ids: string): View {
  const stop = new AbortController();
  const place = el("div", {}, waiting());
  const root = el("div", { class: "compare" }, el("h1", {}, t("compare.title")), place);
  let charts: Chart[] = [];

  async function one(id: string): Promise<Known | HTMLElement> {
    const path = `api/v1/runs/${encodeURIComponent(id)}`;
    const [run, samples] = await Promise.all([
      get<Run>(path, {}, stop.signal),
      get<Samples>(`${path}/samples`, { points }, stop.signal),
    ]);
    if (!run.ok) return failure(run);
    return samples.ok ? { run: run.value, samples: samples.value } : failure(samples);
  }

  async function load(): Promise<void> {
    const wanted = [...new Set(ids.split(","))].filter(Boolean).slice(0, most_runs);
    const found = await Promise.all(wanted.map(one));
    if (stop.signal.aborted) return;
    const failed = found.filter((each) => each instanceof HTMLElement);
    const known = found.filter((each): each is Known => !(each instanceof HTMLElement));
    place.replaceChildren(...failed, ...(known.length ? parts_of(known) : []));
  }

  function parts_of(known: Known[]): HTMLElement[] {
    const runs = known.map(({ run }) => run);
    const labels = run_labels(runs);
    const lines = known.map(({ run, samples }, i) => ({
      label: labels[i]!,
      samples,
      begin: run.started_unix_ms,
    }));
    const lengths = lines.map(({ samples, begin }) => (samples.points.at(-1)?.[0] ?? begin) - begin);
    const to = Math.max(1_000, ...lengths);
    const step_ms = Math.max(1_000, Math.ceil(to / points));
    const drawn = metrics.map((metric) => ({
      metric,
      lines: drawn_runs(lines, metric, step_ms, Math.ceil(to / step_ms) + 1),
    }));
    const shown = drawn.filter(({ lines }) =>
      [lines.mean, ...(lines.others ?? []).map(({ values }) => values)].some((mean) =>
        extent_of({ ...lines, mean }),
      ),
    );
    charts = shown.map(({ metric }) =>
      chart_of(metric, { height: 150, sync: "compare", elapsed: true, line_name: (name) => name }),
    );
    shown.forEach(({ lines }, i) => charts[i]!.show(lines, { from: 0, to }));
    const rows = differences(runs, (name) => word_or(name, name));
    return [
      section(
        t("compare.charts"),
        2,
        el("div", { class: "charts" }, ...charts.map((chart) => chart.root)),
      ),
      section(t("compare.differences"), 2, table_of(runs, labels, rows)),
    ];
  }

  void load();
  return {
    title: t("compare.title"),
    root,
    recolour: () => charts.forEach((chart) => chart.rebuild()),
    close: () => {
      stop.abort();
      charts.forEach((chart) => chart.close());
    },
  };
}

function table_of(runs: Run[], labels: string[], rows: Row[]): HTMLElement {
  const cell = (value: string | null): HTMLElement => el("td", { class: "code" }, value ?? dash);
  const head = runs.map((run, i) =>
    el(
      "th",
      { scope: "col" },
      el("a", { href: address_of({ view: "run", id: `${run.id}@${run.uid}` }) }, labels[i]!),
    ),
  );
  const last = runs.map((run) => run.marks?.at(-1)?.text ?? null);
  const line = (name: string, values: (string | null)[]): HTMLElement =>
    el("tr", {}, el("th", { scope: "row" }, name), ...values.map(cell));
  return el(
    "div",
    {
      class: "scrolls differences",
      tabindex: 0,
      role: "group",
      "aria-label": t("compare.differences"),
    },
    el(
      "table",
      {},
      el("caption", { class: "unseen" }, t("compare.differences")),
      el("thead", {}, el("tr", {}, el("td"), ...head)),
      el(
        "tbody",
        {},
        line(t("runs.state"), runs.map(end_text)),
        ...(new Set(last).size > 1 ? [line(t("compare.last_mark"), last)] : []),
        ...rows.map(({ name, values }) => line(name, values)),
      ),
    ),
    rows.length ? null : el("p", { class: "nothing" }, t("compare.alike")),
  );
}
