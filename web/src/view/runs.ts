// The runs, newest first; more on request.

import { get } from "../api";
import { el, section, set_attribute, set_hidden, set_text } from "../dom/element";
import { Table } from "../dom/table";
import { bytes, dash, duration, moment, percent } from "../model/format";
import { address_of } from "../model/route";
import { command_text, label_of } from "../model/state";
import type { Run, RunEnd, Runs } from "../model/wire";
import { t, word_or } from "../words/translate";
import { failure, waiting, type View, type World } from "./view";

/// What tells how a run goes.
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

export function runs_view(world: World): View {
  const stop = new AbortController();
  let runs: Run[] = [];
  let next: string | null = null;
  const table = new Table<Run>(
    t("nav.runs"),
    t("runs.nothing"),
    [
      {
        title: t("column.run"),
        cell: (cell) => {
          const link = el("a");
          cell.append(link);
          return (run) => {
            set_text(link, run.id);
            // Two people's runs may bear one id.
            const is_one = runs.every((other) => other.id !== run.id || other.uid === run.uid);
            const id = is_one ? run.id : run_key(run);
            set_attribute(link, "href", address_of({ view: "run", id }));
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
      { title: t("runs.lasted"), kind: "number", text: (run) => lasted(run, world.server_now()) },
      {
        title: t("runs.load"),
        kind: "number",
        minor: true,
        text: (run) => percent(run.summary.mean_utilization_percent),
      },
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
    const answer = await get<Runs>("api/v1/runs", { limit: 50, after }, stop.signal);
    if (stop.signal.aborted) return;
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
    {},
    el("h1", {}, t("nav.runs")),
    section(t("runs.title"), 2, place, table.root, more),
  );
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
    close: () => stop.abort(),
  };
}
