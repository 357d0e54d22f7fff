// One GPU: its readings now, its charts from minutes to months, its users and its health.

import { get } from "../api";
import { el, section, set_attribute, set_hidden, set_share, set_text } from "../dom/element";
import { change_shape, shape_of } from "../dom/shapes";
import { dash, short_name } from "../model/format";
import { address_of } from "../model/route";
import { look_of, metrics, type Metric } from "../model/series";
import { find_device, label_of, people_of, standing_of, type State } from "../model/state";
import type { Device, DeviceHealth, Health, Snapshot, Topology } from "../model/wire";
import { t } from "../words/translate";
import { findings_list } from "./health";
import { GpuCharts } from "./gpu_charts";
import { GpuFacts } from "./gpu_facts";
import { lease_table, process_table, waiter_table } from "./people";
import { instance_list } from "./tile";
import { failure, type View, type PageContext } from "./view";

export function gpu_view(context: PageContext, id: string): View {
  const shape = shape_of("unknown");
  const word = el("span");
  const heading = el("h1", {}, "GPU");
  const sub = el("p", { class: "muted" });
  const card = el("a");
  const of_card = el("p", {}, t("gpu.of_card"), " ", card);
  const instances = instance_list();
  const instances_panel = section(t("overview.instances"), 2, instances.root);
  const standing = el("span", { class: "standing" }, shape, word);
  const gone = el("p", { class: "failure", role: "status" }, t("gpu.gone"));
  gone.hidden = true;
  const gauges = metrics.map((metric) => new Gauge(metric));
  const charts = new GpuCharts(context, id);
  const told = new GpuFacts();
  const told_panel = section(t("gpu.facts"), 2, told.root);
  set_hidden(told_panel, true);
  const stop = new AbortController();
  let topology: Topology | null = null;
  let is_asking = false;

  const processes = process_table(context, false);
  const leases = lease_table(context);
  const waiters = waiter_table(context);
  const findings = el("div");
  let health_asked_ms = -Infinity;

  /// All of its readings, which the overview has not.
  async function ask(): Promise<void> {
    if (is_asking) return;
    is_asking = true;
    topology ??= await get<Topology>("api/v1/topology", {}, stop.signal).then((answer) =>
      answer.ok ? answer.value : null,
    );
    const answer = await get<Snapshot>("gpu-status", { device: id }, stop.signal);
    is_asking = false;
    const device = answer.ok ? answer.value.devices[0] : undefined;
    const { overview } = context.state();
    if (stop.signal.aborted || !answer.ok || !device || !overview) return;
    charts.learn(device, answer.value.taken_unix_ms);
    told.update(device, topology, overview);
    set_hidden(told_panel, false);
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
    charts.root,
    told_panel,
    el(
      "div",
      { class: "columns" },
      section(t("overview.processes"), 2, processes.root),
      el(
        "div",
        {},
        section(t("gpu.leases"), 2, leases.root),
        section(t("overview.queue"), 2, waiters.root),
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
    // A process on an instance is on its card.
    const here = new Set([id, ...divided_into.map((instance) => instance.id)]);
    processes.update(overview.processes.filter((process) => here.has(process.device)));
    leases.update(
      overview.leases.filter((lease) => lease.devices.some((own) => here.has(own.device))),
    );
    waiters.update(overview.queue);
    void ask();
    charts.update(state);
    if (performance.now() - health_asked_ms > 30_000) void ask_health();
  }

  return {
    title: "GPU",
    root,
    update,
    recolour: () => charts.recolour(),
    close: () => {
      stop.abort();
      charts.close();
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
    const told_as = text ? text(value, top, device) : format(value);
    set_text(this.value, value === null && why ? `${dash} (${why})` : told_as);
    // An unknown value is no meter at 0. Without a top there is nothing to be a share of.
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
