// How runs differ: their figures and parameters as rows, one column a run.

import { bytes, celsius, dash, duration, energy, moment, percent } from "./format";
import { label_of } from "./state";
import type { Run } from "./wire";

export interface Row {
  name: string;
  /// One a run; null: it has none.
  values: (string | null)[];
}

/// The value behind each name: "--lr 3e-4", "--lr=3e-4", "lr=3e-4". A repeated name has its last
/// value, as most programs take it. A word without a name goes by its place.
export function parameters_of(command: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  let place = 0;
  for (let i = 0; i < command.length; ++i) {
    const word = command[i]!;
    const pair = /^(-{0,2}[A-Za-z][\w.-]*)=(.*)$/s.exec(word);
    const next = command[i + 1];
    if (pair) {
      found.set(pair[1]!, pair[2]!);
    } else if (/^--?[A-Za-z]/.test(word)) {
      const has_value = next !== undefined && !/^--?[A-Za-z]/.test(next);
      found.set(word, has_value ? next : "");
      if (has_value) i += 1;
    } else {
      found.set(`#${++place}`, word);
    }
  }
  return found;
}

function most(values: (number | null)[]): number | null {
  const known = values.filter((value): value is number => value !== null);
  return known.length ? Math.max(...known) : null;
}

const figures: Record<string, (run: Run) => string> = {
  "runs.lasted": (run) =>
    duration(run.end?.lasted_milliseconds ?? (run.end && run.end.at_unix_ms - run.started_unix_ms)),
  "runs.load": (run) => percent(run.summary.mean_utilization_percent),
  "runs.peak": (run) => bytes(most(run.summary.devices.map((one) => one.memory_peak_bytes))),
  "usage.energy": (run) => {
    const spent = run.summary.energy_millijoules;
    return energy(spent === null ? null : spent / 1000);
  },
  "run.hottest": (run) =>
    celsius(most(run.summary.devices.map((one) => one.temperature_peak_celsius))),
  "run.waited": (run) => duration(run.waited_ms),
};
const facts: Record<string, (run: Run) => string | null | undefined> = {
  "column.user": (run) => run.user,
  "run.wanted": (run) => run.wanted,
  "runs.started": (run) => moment(run.started_unix_ms),
  GPU: (run) => run.given.devices.map((one) => `${label_of(one)} ${one.name ?? ""}`).join(", "),
  "run.directory": (run) => run.working_directory,
  "run.git": (run) =>
    run.git && [run.git.branch, run.git.commit?.slice(0, 12), run.git.dirty ? "+" : ""].join(" "),
  Python: (run) => run.python?.version,
  "run.driver": (run) => run.given.host.driver_version,
};

function differs({ values }: Row): boolean {
  return values.some((value) => value !== values[0]);
}

function maps_as_rows(maps: Map<string, string>[], say: (name: string) => string): Row[] {
  const names = [...new Set(maps.flatMap((map) => [...map.keys()]))];
  return names.map((name) => ({
    name: say(name),
    values: maps.map((map) => map.get(name) ?? null),
  }));
}

/// The rows in which the runs are not alike. `word`: a figure's or a fact's name for people.
export function differences(runs: readonly Run[], word: (name: string) => string): Row[] {
  const map_of = (pairs: Record<string, string> | undefined): Map<string, string> =>
    new Map(Object.entries(pairs ?? {}));
  const told = (rows: typeof facts): Row[] =>
    Object.entries(rows).map(([name, of]) => ({
      name: word(name),
      values: runs.map((run) => of(run) || null),
    }));
  return [
    ...told(figures).map((row) => ({ ...row, values: row.values.map((one) => one ?? dash) })),
    ...maps_as_rows(
      runs.map((run) => parameters_of(run.command ?? [])),
      (name) => name,
    ),
    ...told(facts),
    ...maps_as_rows(
      runs.map((run) => map_of(run.python?.packages)),
      (name) => name,
    ),
    ...maps_as_rows(
      runs.map((run) => map_of(run.variables)),
      (name) => name,
    ),
  ].filter(differs);
}

/// A column's heading: its owner's name for the run if no other has it, else the id.
export function run_labels(runs: readonly Run[]): string[] {
  const names = runs.map((run) => run.spec?.["name"] || run.id);
  return names.map((name, i) =>
    names.some((other, at) => at !== i && other === name) ? runs[i]!.id : name,
  );
}
