// One run: what it was given and how it went. Its charts, marks and log share one axis of time. Moving over a dip shows
// the lines of that moment. Pointing at a line shows its place on the charts.

import { get } from "../api";
import type { Chart } from "../dom/chart";
import { el, Parts, roving, section, set_attribute, set_hidden, set_text } from "../dom/element";
import { bytes, celsius, dash, duration, energy, moment, percent } from "../model/format";
import { line_at } from "../model/log_times";
import { address_of } from "../model/route";
import { drawn_samples, metrics, overlaid } from "../model/series";
import { as_word, command_text, label_of } from "../model/state";
import type { Mark, Run, RunEvent, Samples } from "../model/wire";
import { t } from "../words/translate";
import { ask_stop, may_stop } from "./acts";
import { chart_of } from "./charts";
import { LogPanel } from "./log_panel";
import { RunJudged } from "./run_judged";
import { end_text, has_no_job, is_well, lasted } from "./runs";
import { choice, copy_button, facts, failure, waiting, type View, type PageContext } from "./view";

export function run_view(context: PageContext, id: string): View {
  const stop = new AbortController();
  const head = el("div", { class: "heading" }, el("h1", {}, id));
  const place = el("div", {}, waiting());
  const said = el("span", { class: "muted", role: "status" });
  const judged = new RunJudged(stop.signal);
  const root = el("div", { class: "run" }, head, judged.root, place);
  let charts: Chart[] = [];
  let asked_ms = performance.now();
  /// Draws what has come; null: there is nothing to follow.
  let more: ((samples: Samples, run: Run) => void) | null = null;

  async function load(): Promise<void> {
    const found = await get<Run>(`api/v1/runs/${encodeURIComponent(id)}`, {}, stop.signal);
    if (stop.signal.aborted) return;
    if (!found.ok) {
      place.replaceChildren(failure(found));
      return;
    }
    if (!found.value.marks) {
      build_summary(found.value);
      return;
    }
    const samples = await get<Samples>(
      `api/v1/runs/${encodeURIComponent(id)}/samples`,
      { points: 600 },
      stop.signal,
    );
    if (stop.signal.aborted) return;
    build(found.value, samples.ok ? samples.value : null, samples.ok ? null : failure(samples));
  }

  /// A run that goes on: what has come since. When it has ended, all of it is built anew.
  async function follow(): Promise<void> {
    asked_ms = performance.now();
    const path = `api/v1/runs/${encodeURIComponent(id)}`;
    const [found, samples] = await Promise.all([
      get<Run>(path, {}, stop.signal),
      get<Samples>(`${path}/samples`, { points: 600 }, stop.signal),
    ]);
    if (stop.signal.aborted) return;
    if (!found.ok && found.status === 404) return show_gone(failure(found));
    if (!found.ok || !samples.ok) return;
    if (found.value.state === "running") more?.(samples.value, found.value);
    else build(found.value, samples.value, null);
  }

  /// Its record was removed while somebody looked: nothing of it can be had or done any more.
  function show_gone(why: HTMLElement): void {
    more = null;
    charts.forEach((chart) => chart.close());
    charts = [];
    head.replaceChildren(el("h1", {}, id));
    place.replaceChildren(why);
  }

  function show_head(run: Run): void {
    const title = title_of(run);
    document.title = `${title} – berth`;
    head.replaceChildren(
      el("h1", {}, title),
      el(
        "span",
        {
          class: "badge",
          "data-health": run.state === "running" ? "run" : is_well(run) ? "ok" : "failed",
        },
        end_text(run),
      ),
      ...(title === run.id ? [] : [el("span", { class: "muted" }, run.id)]),
      ...acts_of(run),
      said,
    );
  }

  function acts_of(run: Run): HTMLElement[] {
    const acts: HTMLElement[] = [];
    if (may_stop(context.state().overview, run)) {
      const ask = (): void => ask_stop(context, run, (text) => set_text(said, text));
      acts.push(el("button", { type: "button", class: "danger", click: ask }, t("run.stop")));
    }
    const again = again_line(run);
    if (again === null) return acts;
    const line = el("code", { class: "unseen" }, again);
    const { button, said: copied } = copy_button(context, t("run.again"), line);
    acts.push(button, line, copied);
    if (has_no_job(run)) return acts;
    const explain = (): void => void judged.explain(run);
    const report = (): void => void judged.report(run);
    acts.push(
      el("button", { type: "button", click: explain }, t("run.explain")),
      el("button", { type: "button", click: report }, t("run.report")),
    );
    return acts;
  }

  /// Somebody else's: how it went may be seen, what it did and said may not.
  function build_summary(run: Run): void {
    show_head(run);
    place.replaceChildren(
      summary_of(run, context.server_now()),
      el(
        "div",
        { class: "failure", role: "status" },
        el("strong", {}, t("run.not_yours")),
        el("p", {}, t("failure.not_allowed_remedy")),
      ),
      section(t("run.manifest"), 2, manifest_of(run)),
    );
  }

  function build(run: Run, samples: Samples | null, missing: HTMLElement | null): void {
    show_head(run);
    const from = run.started_unix_ms;
    const window_of = (known: Samples | null): { from: number; to: number } => {
      const last = known?.points.at(-1)?.[0] ?? null;
      return {
        from,
        to: Math.max(from + 1_000, run.end?.at_unix_ms ?? last ?? context.server_now()),
      };
    };
    /// Null: all of them, one line each.
    let device: number | null = run.given.devices.length > 1 ? null : 0;
    const point = (time: number | null): void => charts.forEach((chart) => chart.point_at(time));
    const moments = new Moments(point);
    const log = new LogPanel(run, stop.signal, point);
    const on_cursor = (time: number | null): void => {
      if (time === null) return;
      log.show_at(time);
      moments.show_at(time);
    };
    charts.forEach((chart) => chart.close());
    charts = metrics.map((metric) => chart_of(metric, { height: 104, sync: "run", on_cursor }));
    const show_marks = (now: Run): void => {
      moments.show(now.marks ?? []);
      const lines = [...(now.marks ?? []), ...(now.events ?? [])].map((one) => one.at_unix_ms);
      charts.forEach((chart) => chart.set_marks(lines));
    };
    const draw = (): void =>
      metrics.forEach((metric, i) => {
        if (!samples) return;
        const drawn =
          device === null
            ? overlaid(
                devices.map((one, at) => ({
                  label: label_of(one),
                  drawn: drawn_samples(samples!, at, metric),
                })),
              )
            : drawn_samples(samples, device, metric);
        charts[i]!.show(drawn, window_of(samples));
      });
    const devices = run.given.devices;
    const pick =
      devices.length > 1
        ? choice(
            t("run.device"),
            [
              ["all", t("run.all_devices")] as const,
              ...devices.map((one, i) => [String(i), `GPU ${label_of(one)}`] as const),
            ],
            "all",
            (value) => {
              device = value === "all" ? null : Number(value);
              draw();
            },
          ).root
        : null;
    const events = el("ul", { class: "events" });
    const events_panel = section(t("run.events"), 2, events);
    const show_events = (now: Run): void => {
      const told = now.events ?? [];
      set_hidden(events_panel, told.length === 0);
      // A run that goes on may have more of them; what is there stays as it is.
      for (const event of told.slice(events.children.length)) events.append(event_item(event));
    };
    place.replaceChildren(
      summary_of(run, context.server_now()),
      events_panel,
      el(
        "div",
        { class: "columns even" },
        section(
          t("gpu.charts"),
          2,
          pick && el("div", { class: "bar-of-tools" }, pick),
          missing,
          el("div", { class: "charts stacked" }, ...charts.map((chart) => chart.root)),
        ),
        el("div", {}, section(t("run.marks"), 2, moments.root), section(t("run.log"), 2, log.root)),
      ),
      section(t("run.manifest"), 2, manifest_of(run)),
    );
    draw();
    show_marks(run);
    show_events(run);
    more = null;
    if (run.state !== "running") return;
    more = (fresh, now) => {
      samples = fresh;
      draw();
      show_marks(now);
      show_events(now);
      void log.follow();
    };
  }

  void load();
  return {
    title: id,
    root,
    update: () => {
      if (more && performance.now() - asked_ms > 10_000) void follow();
    },
    recolour: () => charts.forEach((chart) => chart.rebuild()),
    close: () => {
      stop.abort();
      charts.forEach((chart) => chart.close());
    },
  };
}

function event_item(event: RunEvent): HTMLElement {
  return el(
    "li",
    { class: "event", "data-health": "degraded" },
    el("time", { class: "muted" }, moment(event.at_unix_ms)),
    el("span", { class: "event-text" }, event.text),
  );
}

/// The owner's name for it, else its command. For another person's run neither is shown.
function title_of(run: Run): string {
  return run.spec?.["name"] || command_text(run.command) || run.id;
}

/// The same once more, as a shell would want it typed.
function again_line(run: Run): string | null {
  const command = command_text(run.command);
  if (command === null || !run.working_directory) return null;
  const name = run.spec?.["name"];
  const words = ["berth run", run.wanted, name ? `--name=${as_word(name)}` : "", "--", command];
  return `cd ${as_word(run.working_directory)} && ${words.filter(Boolean).join(" ")}`;
}

function summary_of(run: Run, now: number): HTMLElement {
  const { summary } = run;
  const peaks = summary.devices
    .map((device) => device.memory_peak_bytes)
    .filter((peak): peak is number => peak !== null);
  const heat = summary.devices
    .map((device) => device.temperature_peak_celsius)
    .filter((peak): peak is number => peak !== null);
  const items: [string, string][] = [
    [t("runs.lasted"), lasted(run, now)],
    [t("runs.load"), percent(summary.mean_utilization_percent)],
    [t("runs.peak"), peaks.length ? bytes(Math.max(...peaks)) : dash],
    [
      t("usage.energy"),
      summary.energy_millijoules === null ? dash : energy(summary.energy_millijoules / 1000),
    ],
    [t("run.hottest"), heat.length ? celsius(Math.max(...heat)) : dash],
    [t("run.waited"), duration(run.waited_ms)],
  ];
  return el(
    "div",
    { class: "gauges" },
    ...items.map(([name, value]) =>
      el(
        "div",
        { class: "gauge" },
        el("span", { class: "gauge-name" }, name),
        el("span", { class: "gauge-value" }, value),
      ),
    ),
  );
}

/// The tier that holds the run to its share of memory, and whether that is proved.
function cap_text(run: Run): string | null {
  const { cap } = run;
  if (!cap) return null;
  const held = t(cap.tier === "watchdog" ? `cap.watchdog_${cap.action}` : `cap.${cap.tier}`);
  const proof = t(`cap.proved_${cap.proved}`, { why: cap.proved_why ?? "" });
  return `${bytes(cap.devices[0]?.limit_bytes)}; ${held}; ${proof}`;
}

function manifest_of(run: Run): HTMLElement {
  const devices = run.given.devices
    .map((device) => `${label_of(device)} ${device.name ?? ""}`)
    .join(", ");
  const git = run.git
    ? [run.git.branch, run.git.commit?.slice(0, 12), run.git.dirty ? t("run.dirty") : null]
        .filter(Boolean)
        .join(" ")
    : null;
  const variables = Object.entries(run.variables ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");
  const packages = Object.entries(run.python?.packages ?? {})
    .map(([name, version]) => `${name} ${version}`)
    .join(", ");
  const list = facts([
    [t("column.user"), run.user],
    [t("column.command"), command_text(run.command) ?? t("people.not_shown")],
    [t("run.wanted"), run.wanted],
    ["GPU", devices],
    [t(has_no_job(run) ? "run.queued" : "runs.started"), moment(run.started_unix_ms)],
    [t("run.directory"), run.working_directory],
    [t("run.git"), git],
    ["Python", run.python?.version ?? run.python?.interpreter],
    [t("run.packages"), packages],
    [t("run.driver"), run.given.host.driver_version],
    [
      t("run.machine"),
      [run.machine?.operating_system, run.machine?.cpu_model, run.machine?.instance_type]
        .filter(Boolean)
        .join(", "),
    ],
    [t("run.variables"), variables],
    [t("run.log_file"), run.log],
    [t("run.cap"), cap_text(run)],
    [t("run.time_limit"), run.time_limit_ms ? duration(run.time_limit_ms) : null],
  ]);
  const retry = run.retry_of
    ? el(
        "p",
        {},
        t("run.retry_of"),
        " ",
        el("a", { href: address_of({ view: "run", id: run.retry_of }) }, run.retry_of),
      )
    : null;
  return el("div", {}, list, retry);
}

/// The job's own marks, the newest reached one marked as the current.
class Moments {
  readonly root = el("div");
  private readonly list = el("ol", { class: "marks", "aria-label": t("run.marks") });
  private readonly nothing = el("p", { class: "nothing" }, t("run.no_marks"));
  private readonly parts: Parts<Mark>;
  private marks: Mark[] = [];

  constructor(point: (time: number | null) => void) {
    this.root.append(this.list, this.nothing);
    this.parts = new Parts<Mark>(this.list, mark_key, (mark) => {
      const acts = {
        mouseenter: () => point(mark.at_unix_ms),
        focus: () => point(mark.at_unix_ms),
        blur: () => point(null),
      };
      const when = `${mark.exact ? "" : "≈ "}${moment(mark.at_unix_ms)}`;
      const time = el("time", { class: "muted" }, when);
      const root = el("li", { tabindex: -1, ...acts }, time, " ", el("span", {}, mark.text));
      return { root, update: () => undefined };
    });
    roving(this.list, "li", () => 1);
  }

  show(marks: Mark[]): void {
    this.marks = marks;
    this.parts.update(marks);
    if (!this.list.querySelector('[tabindex="0"]'))
      this.list.firstElementChild?.setAttribute("tabindex", "0");
    set_hidden(this.list, marks.length === 0);
    set_hidden(this.nothing, marks.length > 0);
  }

  show_at(time: number): void {
    const lines = this.marks.map((mark) => ({ text: mark.text, at: mark.at_unix_ms }));
    const at = line_at(lines, time);
    const now = at === null ? null : this.parts.get(mark_key(this.marks[at]!))!.root;
    for (const item of this.list.children)
      set_attribute(item, "aria-current", item === now ? "true" : null);
    if (now) this.list.scrollTop = (now as HTMLElement).offsetTop - 40;
  }
}

function mark_key(mark: Mark): string {
  return `${mark.at_unix_ms} ${mark.text}`;
}
