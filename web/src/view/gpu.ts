// One GPU: what it does now, its charts from minutes to months, who is on it and how well it is.

import { get, type Answer } from "../api";
import { el, section, set_attribute, set_hidden, set_share, set_text } from "../dom/element";
import { change_shape, shape_of } from "../dom/shapes";
import { dash, moment, short_name } from "../model/format";
import { address_of } from "../model/route";
import { drawn_history, drawn_live, look_of, metrics, type Metric } from "../model/series";
import { find_device, label_of, people_of, standing_of, type State } from "../model/state";
import type { Device, DeviceHealth, Health, History } from "../model/wire";
import { t } from "../words/translate";
import { chart_of } from "./charts";
import { findings_list } from "./findings";
import { lease_table, process_table, waiter_table } from "./people";
import { instance_list } from "./tile";
import { choice, day, failure, hour, minute, type View, type World } from "./view";

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

export function gpu_view(world: World, id: string): View {
  const shape = shape_of("unknown");
  const word = el("span");
  const heading = el("h1", {}, "GPU");
  const sub = el("p", { class: "muted" });
  const card = el("a");
  const of_card = el("p", {}, t("gpu.of_card"), " ", card);
  const instances = instance_list();
  const instances_panel = section(t("room.instances"), 2, instances.root);
  const standing = el("span", { class: "standing" }, shape, word);
  const gone = el("p", { class: "failure", role: "status" }, t("gpu.gone"));
  gone.hidden = true;
  const gauges = metrics.map((metric) => new Gauge(metric));
  const charts = metrics.map((metric) => chart_of(metric, { height: 132, sync: "gpu" }));
  const notice = el("div");
  const since = el("p", { class: "muted small" });
  const histories = new Map<Metric, History>();
  let stop = new AbortController();
  let asked_ms = -Infinity;
  const pick = choice(
    t("gpu.range"),
    (Object.keys(ranges) as Range[]).map((key) => [key, t(`range.${key}`)] as const),
    range,
    (value) => {
      range = value;
      void ask();
    },
  );

  const processes = process_table(world, false);
  const leases = lease_table(world);
  const waiters = waiter_table(world);
  const findings = el("div");
  let health_asked_ms = -Infinity;

  async function ask(): Promise<void> {
    stop.abort();
    const own = (stop = new AbortController());
    asked_ms = performance.now();
    histories.clear();
    const until = Math.round(world.server_now());
    const points = range === "live" ? 900 : 360;
    const answers = await Promise.all(
      metrics.map((metric) =>
        get<History>(
          "api/v1/history",
          {
            device: id,
            metric,
            since: until - ranges[range],
            until,
            points,
          },
          own.signal,
        ),
      ),
    );
    if (own.signal.aborted) return;
    let failed: (Answer<unknown> & { ok: false }) | null = null;
    answers.forEach((answer, i) => {
      if (answer.ok) histories.set(metrics[i]!, answer.value);
      else failed = answer;
    });
    notice.replaceChildren(...(failed ? [failure(failed)] : []));
    const knows = answers.find((answer) => answer.ok);
    const known_since = knows?.ok ? knows.value.knows_since_unix_ms : null;
    set_text(
      since,
      known_since !== null && known_since > until - ranges[range]
        ? t("gpu.knows_since", { when: moment(known_since) })
        : "",
    );
    draw();
  }

  function draw(): void {
    const { overview, series } = world.state();
    const device = find_device(overview, id);
    const live = series.get(id);
    const interval = overview?.interval_ms ?? 0;
    const to = world.server_now();
    const window = { from: to - ranges[range], to };
    metrics.forEach((metric, i) => {
      const chart = charts[i]!;
      if (device) chart.set_top(look_of(metric).top(device));
      const history = histories.get(metric);
      if (range === "live") {
        if (live)
          chart.show(drawn_live(live, metric, history ?? null, window.from, interval), window);
      } else if (history) {
        chart.show(drawn_history(history, interval), window);
      } else {
        chart.show({ times: [], mean: [], low: [], high: [], p95: [], banded: true }, window);
      }
    });
  }

  async function ask_health(): Promise<void> {
    health_asked_ms = performance.now();
    const answer = await get<Health>("api/v1/health");
    if (!answer.ok) {
      findings.replaceChildren(failure(answer));
      return;
    }
    const mine: DeviceHealth | undefined = answer.value.devices.find((device) => device.id === id);
    findings.replaceChildren(
      mine ? findings_list(mine) : el("p", { class: "nothing" }, t("health.not_examined")),
    );
  }

  const root = el(
    "div",
    { class: "gpu needs-look" },
    el("div", { class: "heading" }, heading, standing),
    sub,
    of_card,
    gone,
    instances_panel,
    el("div", { class: "gauges" }, ...gauges.map((gauge) => gauge.root)),
    section(
      t("gpu.charts"),
      2,
      el("div", { class: "bar-of-tools" }, pick.root, since),
      notice,
      el("div", { class: "charts" }, ...charts.map((chart) => chart.root)),
    ),
    el(
      "div",
      { class: "columns" },
      section(t("room.processes"), 2, processes.root),
      el(
        "div",
        {},
        section(t("gpu.leases"), 2, leases.root),
        section(t("room.queue"), 2, waiters.root),
      ),
    ),
    section(t("gpu.health"), 2, findings),
  );

  function update(state: State): void {
    const overview = state.overview;
    if (!overview) return;
    const device = find_device(overview, id);
    set_hidden(gone, device !== null);
    if (!device) return;
    const now = standing_of(device);
    set_text(heading, `GPU ${label_of(device)}`);
    set_text(sub, [short_name(device.name), device.id].join("  ·  "));
    change_shape(shape, now);
    const whose = now === "reserved" ? people_of(device).join(", ") : "";
    set_text(word, [t(`standing.${now}`), whose].filter(Boolean).join(": "));
    set_attribute(standing, "data-standing", now);
    for (const gauge of gauges) gauge.update(device);
    const parent = device.parent === null ? null : find_device(overview, device.parent);
    set_hidden(of_card, parent === null);
    if (parent) {
      set_text(card, `GPU ${label_of(parent)}`);
      set_attribute(card, "href", address_of({ view: "gpu", id: parent.id }));
    }
    const divided_into = overview.devices.filter((other) => other.parent === id);
    instances.update(divided_into);
    set_hidden(instances_panel, divided_into.length === 0);
    // Who is on an instance is on its card.
    const here = new Set([id, ...divided_into.map((instance) => instance.id)]);
    processes.update(overview.processes.filter((process) => here.has(process.device)));
    leases.update(
      overview.leases.filter((lease) => lease.devices.some((own) => here.has(own.device))),
    );
    waiters.update(overview.queue);
    if (range === "live") draw();
    else if (performance.now() - asked_ms > 60_000) void ask();
    if (performance.now() - health_asked_ms > 30_000) void ask_health();
  }

  void ask();
  return {
    title: "GPU",
    root,
    update,
    recolour: () => charts.forEach((chart) => chart.rebuild()),
    close: () => {
      stop.abort();
      charts.forEach((chart) => chart.close());
    },
  };
}

class Gauge {
  readonly root: HTMLElement;
  private readonly value = el("span", { class: "gauge-value" });
  private readonly bar = el("span", { class: "bar" });
  private readonly name: string;

  constructor(private readonly metric: Metric) {
    this.name = t(`metric.${metric}`);
    this.bar.style.setProperty("--fill", `var(${look_of(metric).colour})`);
    this.root = el(
      "div",
      { class: "gauge" },
      el("span", { class: "gauge-name" }, this.name),
      this.value,
      this.bar,
    );
  }

  update(device: Device): void {
    const value = device[this.metric];
    const { top: top_of, text, format } = look_of(this.metric);
    const top = top_of(device);
    const why = device.why[this.metric];
    const told_as = text ? text(value, top) : format(value);
    set_text(this.value, value === null && why ? `${dash} (${why})` : told_as);
    // What is not known is no meter at 0, and without a top there is nothing to be a share of.
    const meter = value === null || top === null ? null : { value, top };
    const told: Record<string, string | number> = {
      role: "meter",
      "aria-label": this.name,
      "aria-valuemin": 0,
      "aria-valuemax": top ?? "",
      "aria-valuenow": value ?? "",
      "aria-valuetext": this.value.textContent ?? "",
    };
    for (const [name, word] of Object.entries(told))
      set_attribute(this.bar, name, meter && String(word));
    set_share(this.bar, "--share", meter && meter.top ? Math.min(1, meter.value / meter.top) : 0);
  }
}
