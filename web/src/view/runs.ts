// The runs, newest first, narrowed by the server to what is looked for; more on request. Several of
// one's own can be picked, to be laid side by side.

import { get } from "../api";
import { el, section, set_attribute, set_hidden, set_text } from "../dom/element";
import { Spark } from "../dom/spark";
import { Table } from "../dom/table";
import { bytes, dash, duration, moment, percent } from "../model/format";
import { address_of } from "../model/route";
import { mean_load, type Column } from "../model/series";
import { command_text, label_of } from "../model/state";
import type { Run, RunEnd, Runs, Samples } from "../model/wire";
import { t, word_or } from "../words/translate";
import { day, failure, waiting, type View, type PageContext } from "./view";

/// Figures that tell how a run goes.
type Told = "at_unix_ms" | "known" | "ended" | "exit_code" | "signal" | "because" | "stopped_by";
type Course = Pick<Run, "state" | "waiting" | "waited_ms" | "started_unix_ms"> & {
  end: Pick<RunEnd, Told | "lasted_milliseconds"> | null;
};

const never_started = ["no device came", "left the queue", "not started"];

/// It waits for a device, or did and never got one.
export function has_no_job(run: Course): boolean {
  if (!run.end) return run.state === "waiting";
  return run.waiting && (!run.end.known || never_started.includes(run.end.because));
}

function never_started_text(run: Course): string {
  const end = run.end;
  if (!end?.known) return t("run.never_started");
  const waited = t("run.never_started_waited", { time: duration(run.waited_ms) });
  return end.stopped_by ? `${waited}, ${t("run.stopped_by", { who: end.stopped_by })}` : waited;
}

export function end_text(run: Course): string {
  const end = run.end;
  if (!end) return word_or(`run.${run.state}`, run.state);
  if (has_no_job(run)) return never_started_text(run);
  if (end.ended === "gave_back") return t("run.gave_back");
  if (!end.known) return t("run.end unknown");
  const how =
    end.exit_code !== null
      ? t("run.exit", { code: end.exit_code })
      : t("run.signal", { signal: end.signal ?? dash });
  return end.because ? `${how} (${end.because})` : how;
}

export function is_well(run: Run): boolean {
  return !run.end || run.end.ended === "gave_back" || (run.end.known && run.end.exit_code === 0);
}

export function lasted(run: Course, now: number): string {
  if (has_no_job(run)) return dash;
  if (run.end?.lasted_milliseconds) return duration(run.end.lasted_milliseconds);
  return duration((run.end?.at_unix_ms ?? now) - run.started_unix_ms);
}

/// As the API tells them apart, too.
const run_key = ({ id, uid }: Run): string => `${id}@${uid}`;

/// What is looked for; it stays while the page is open.
const sought = { words: "", user: "", state: "", device: "", days: "" };
const states = ["running", "waiting", "ended", "failed", "end unknown", "elsewhere"] as const;
const spans = ["1", "7", "30"] as const;

function filter_form(changed: () => void): HTMLElement {
  let later: ReturnType<typeof setTimeout> | undefined;
  const typed = (key: "words" | "user" | "device", label: string, size: number): HTMLElement =>
    el("input", {
      type: "search",
      size,
      value: sought[key],
      placeholder: label,
      "aria-label": label,
      spellcheck: "false",
      autocomplete: "off",
      input: (event: Event) => {
        sought[key] = (event.target as HTMLInputElement).value.trim();
        clearTimeout(later);
        later = setTimeout(changed, 250);
      },
    });
  const picked = (
    key: "state" | "days",
    label: string,
    options: readonly (readonly [string, string])[],
  ): HTMLElement =>
    el(
      "select",
      {
        "aria-label": label,
        change: (event: Event) => {
          sought[key] = (event.target as HTMLSelectElement).value;
          changed();
        },
      },
      ...[["", label] as const, ...options].map(([value, text]) =>
        el("option", { value, selected: sought[key] === value }, text),
      ),
    );
  return el(
    "form",
    { class: "bar-of-tools", role: "search", submit: (event: Event) => event.preventDefault() },
    typed("words", t("runs.words"), 22),
    typed("user", t("column.user"), 10),
    typed("device", "GPU", 5),
    picked(
      "state",
      t("runs.any_state"),
      states.map((state) => [state, t(`run.${state}`)] as const),
    ),
    picked(
      "days",
      t("runs.any_time"),
      spans.map((span) => [span, t(`range.d${span}`)] as const),
    ),
  );
}

/// The load of one's own runs, asked for as their rows come into sight, one after the other.
class Loads {
  private readonly known = new Map<string, Column>();
  private line: Promise<void> = Promise.resolve();
  private readonly waiting = new Map<Element, () => void>();
  private readonly watcher = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      this.watcher.unobserve(target);
      this.waiting.get(target)?.();
      this.waiting.delete(target);
    }
  });

  constructor(private readonly signal: AbortSignal) {
    signal.addEventListener("abort", () => this.watcher.disconnect());
  }

  cell(cell: HTMLTableCellElement): (run: Run) => void {
    const spark = new Spark(40);
    cell.append(spark.root);
    let shown = "";
    return (run) => {
      const wanted = `${run_key(run)} ${run.end ? "" : run.summary.samples}`;
      // Others' samples are theirs.
      if (shown === wanted || !run.marks || run.summary.samples === 0) return;
      shown = wanted;
      this.waiting.set(cell, () => {
        this.line = this.line.then(async () => spark.show(await this.of(run)));
      });
      this.watcher.observe(cell);
    };
  }

  private async of(run: Run): Promise<Column> {
    const key = run_key(run);
    const before = this.known.get(key);
    if ((before && run.end) || this.signal.aborted) return before ?? [];
    const path = `api/v1/runs/${encodeURIComponent(key)}/samples`;
    const answer = await get<Samples>(path, { points: 40 }, this.signal);
    const values = answer.ok ? mean_load(answer.value) : [];
    if (answer.ok) this.known.set(key, values);
    return values;
  }
}

export function runs_view(context: PageContext): View {
  const stop = new AbortController();
  let current = new AbortController();
  let runs: Run[] = [];
  let next: string | null = null;
  const picked = new Set<string>();
  const loads = new Loads(stop.signal);
  const compare = el("a", { class: "button" });
  /// Two people's runs may bear one id.
  const id_of = (run: Run): string => {
    const is_one = runs.every((other) => other.id !== run.id || other.uid === run.uid);
    return is_one ? run.id : run_key(run);
  };
  const show_picked = (): void => {
    set_text(compare, t("runs.compare", { n: picked.size }));
    set_hidden(compare, picked.size < 2);
    set_attribute(compare, "href", address_of({ view: "compare", id: [...picked].join(",") }));
  };
  const table = new Table<Run>(
    t("nav.runs"),
    t("runs.nothing"),
    [
      {
        title: t("runs.pick"),
        acts: true,
        cell: (cell) => {
          let id = "";
          const change = (): void => {
            if (box.checked) picked.add(id);
            else picked.delete(id);
            show_picked();
          };
          const box = el("input", { type: "checkbox", change });
          cell.append(box);
          return (run) => {
            id = run_key(run);
            set_attribute(box, "aria-label", t("runs.pick_one", { id: run.id }));
            set_hidden(box, !run.marks);
          };
        },
      },
      {
        title: t("column.run"),
        cell: (cell) => {
          const link = el("a");
          const name = el("span", { class: "muted" });
          cell.append(link, " ", name);
          return (run) => {
            set_text(link, run.id);
            set_attribute(link, "href", address_of({ view: "run", id: id_of(run) }));
            set_text(name, run.spec?.["name"] ?? "");
          };
        },
      },
      {
        title: t("runs.state"),
        cell: (cell) => {
          const badge = el("span", { class: "badge" });
          cell.append(badge);
          return (run) => {
            set_text(badge, end_text(run));
            set_attribute(
              badge,
              "data-health",
              run.state === "running" ? "run" : is_well(run) ? "ok" : "failed",
            );
          };
        },
      },
      { title: t("column.user"), text: (run) => run.user },
      { title: "GPU", text: (run) => run.given.devices.map(label_of).join(", ") || dash },
      {
        title: t("runs.started"),
        kind: "number",
        text: (run) => (has_no_job(run) ? dash : moment(run.started_unix_ms)),
      },
      { title: t("runs.lasted"), kind: "number", text: (run) => lasted(run, context.server_now()) },
      {
        title: t("runs.load"),
        kind: "number",
        minor: true,
        text: (run) => percent(run.summary.mean_utilization_percent),
      },
      { title: t("runs.curve"), minor: true, cell: (cell) => loads.cell(cell) },
      {
        title: t("runs.peak"),
        kind: "number",
        minor: true,
        text: (run) => {
          const peaks = run.summary.devices
            .map((device) => device.memory_peak_bytes)
            .filter((peak): peak is number => peak !== null);
          return peaks.length ? bytes(Math.max(...peaks)) : dash;
        },
      },
      {
        title: t("column.command"),
        kind: "code",
        minor: true,
        text: (run) => command_text(run.command) ?? t("people.not_shown"),
      },
    ],
    run_key,
  );
  const place = el("div", {}, waiting());
  set_hidden(table.root, true);
  const more = el("button", { type: "button", click: () => void ask(next) }, t("runs.more"));
  set_hidden(more, true);

  async function ask(after: string | null): Promise<void> {
    current.abort();
    const own = (current = new AbortController());
    const { days, ...filters } = sought;
    const since = days ? Math.round(context.server_now() - Number(days) * day) : null;
    const answer = await get<Runs>("api/v1/runs", { ...filters, since, limit: 50, after }, own.signal);
    if (stop.signal.aborted || own.signal.aborted) return;
    if (!answer.ok) {
      place.replaceChildren(failure(answer));
      set_hidden(table.root, runs.length === 0);
      return;
    }
    place.replaceChildren();
    set_hidden(table.root, false);
    runs = after === null ? answer.value.runs : [...runs, ...answer.value.runs];
    next = answer.value.next;
    set_hidden(more, next === null);
    table.update(runs);
  }

  const root = el(
    "div",
    { class: "runs" },
    el("h1", {}, t("nav.runs")),
    section(
      t("runs.title"),
      2,
      filter_form(() => void ask(null)),
      compare,
      place,
      table.root,
      more,
    ),
  );
  show_picked();
  void ask(null);
  let asked_ms = performance.now();
  return {
    title: t("nav.runs"),
    root,
    update: () => {
      if (performance.now() - asked_ms < 10_000 || runs.length > 50) return;
      asked_ms = performance.now();
      void ask(null);
    },
    close: () => {
      current.abort();
      stop.abort();
    },
  };
}
