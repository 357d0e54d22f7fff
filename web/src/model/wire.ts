// What the server says, as types: the JSON of /api/v1 (doc/FORMATS.md). A reading that is absent is
// null, and `why` of the same object has the reason under its key.

export type Why = Record<string, string>;
export type HealthWord = "ok" | "notice" | "unknown" | "degraded" | "failed";
export type StateWord =
  | "free"
  | "reserved"
  | "leased"
  | "busy"
  | "held"
  | "divided"
  | "unknown"
  | "failed"
  | "lost"
  | "unusable";

export interface Device {
  id: string;
  index: number | null;
  kind: string;
  parent: string | null;
  mig?: { gpu_instance: number; compute_instance: number } | null;
  name: string | null;
  state: StateWord;
  health: HealthWord | null;
  utilization_gpu_percent: number | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  temperature_celsius: number | null;
  /// How near it is to slowing itself down for its heat; older servers do not say.
  heat?: "normal" | "warm" | "hot" | null;
  power_draw_milliwatts: number | null;
  power_limit_milliwatts: number | null;
  users: string[];
  /// Who waits for it or a part of it; missing: this server does not say.
  reserved_for?: string[];
  leases: string[];
  why?: Why;
}

export interface Process {
  /// "device/pid": what tells one row from another.
  key: string;
  device: string;
  pid: number;
  /// When it began, in the kernel's own count: whoever signals it says which process he means.
  start_ticks: number | null;
  user: string | null;
  command: string | null;
  type: string | null;
  memory_used_bytes: number | null;
  utilization_sm_percent: number | null;
  started_unix_ms: number | null;
  container: string | null;
  run: string | null;
  lease: string | null;
  why?: Why;
}

export interface Lease {
  id: string;
  run: string | null;
  user: string | null;
  command?: string[] | string | null;
  since_unix_ms: number | null;
  devices: { device: string; exclusive?: boolean; promised_bytes: number | null }[];
}

export interface Waiter {
  id: string;
  user: string | null;
  wants: string | null;
  command?: string[] | string | null;
  since_unix_ms: number | null;
  gathered?: string[] | number | null;
  reserved?: { device: string; promised_bytes: number | null }[];
}

export interface Problem {
  source?: string;
  device?: string | null;
  code?: string;
  message: string;
  remedy?: string | null;
}

export interface Overview {
  berth_overview: number;
  taken_unix_ms: number;
  sequence: number;
  simulated: string | null;
  stale: boolean;
  /// Since when the driver, or a part of it, has not answered; null: all that was asked has.
  unanswered_since_unix_ms?: number | null;
  interval_ms: number;
  version: string;
  host: {
    name: string | null;
    driver_version: string | null;
    cuda_version_supported: string | null;
  };
  asker: { user: string | null; admin: boolean; sees: "public" | "group" | "owner" };
  devices: Device[];
  processes: Process[];
  leases: Lease[];
  queue: Waiter[];
  problems: Problem[];
  /// All that fire; missing: this server knows no alerts.
  alerts?: Alert[];
  /// How many other servers it asks; missing: none.
  joined?: number;
}

export interface Finding {
  state: HealthWord;
  code: string;
  evidence: string;
  advice: string;
}
export interface DeviceHealth {
  id: string;
  index: number | null;
  state: HealthWord;
  findings: Finding[];
  not_examined: string[];
}
export interface Health {
  state: HealthWord | null;
  devices: DeviceHealth[];
  problems: (string | Problem)[];
}

/// A health event or an XID, from /api/v1/events-log or an `event: health` of the stream.
export interface HealthEvent {
  at_unix_ms: number;
  kind?: string;
  device?: string | null;
  state?: string | null;
  code?: string | number | null;
  evidence?: string | null;
  text?: string | null;
  advice?: string | null;
}

export interface EventsLog {
  /// How many older ones are not among the events.
  left_out: number;
  events: HealthEvent[];
}

export interface Alert {
  id: string;
  rule: string;
  severity: "notice" | "warning" | "critical";
  device: string | null;
  index: number | null;
  since_unix_ms: number;
  last_seen_unix_ms: number;
  /// Null: it fires.
  resolved_unix_ms: number | null;
  /// Missing: a server that knows of one ending alone.
  ending?: "resolved" | "unknown" | "unwatched" | null;
  summary: string;
  advice: string;
  simulated: boolean;
}

export interface HostDevice {
  id: string;
  index: number | null;
  name: string | null;
  state: StateWord;
  health: HealthWord | null;
  utilization_gpu_percent: number | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  users: string[];
}
export type HostState = "ok" | "stale" | "unreachable" | "refused" | "incompatible";
/// Another server, as the one that is asked last saw it.
export interface OtherHost {
  name: string;
  address: string;
  state: HostState;
  why: string | null;
  remedy: string | null;
  asked_unix_ms: number | null;
  taken_unix_ms: number | null;
  simulated: string | boolean | null;
  version: string | null;
  counts: Record<string, number> | null;
  devices: HostDevice[] | null;
  queue: number | null;
  alerts: number | null;
  page: string | null;
}
export interface Hosts {
  hosts: OtherHost[];
  next?: string | null;
}

export interface History {
  device: string;
  metric: string;
  unit: string;
  step_ms: number;
  knows_since_unix_ms: number | null;
  /// [t_ms, min, mean, p95, max]
  points: [number, number, number, number, number][];
}

export interface UsageRow {
  /// By job its run or lease; empty: without a lease. By user his name; empty: not known.
  key: string;
  /// Whose job it is; missing where rows are of something else.
  user?: string;
  gpu_hours: number | null;
  busy_gpu_hours: number | null;
  idle_held_hours: number | null;
  energy_joules: number | null;
  /// The energy, and with it the cost, is not known for all of it.
  energy_at_least?: boolean;
  cost: number | null;
  waits: number | null;
  waited_hours: number | null;
  runs: number | null;
}
export interface Usage {
  by: string;
  since_unix_ms: number;
  until_unix_ms: number;
  knows_since_unix_ms: number | null;
  /// Of all devices together: hours in which nobody looked.
  unwatched_hours?: number;
  price_per_kwh: number | null;
  currency: string | null;
  rows: UsageRow[];
}

export interface Span {
  device: string;
  /// "user": somebody computes there without a lease.
  kind: "lease" | "run" | "user" | "health";
  /// Null where it is a name that one may not see.
  id: string | null;
  user: string | null;
  title: string | null;
  from_unix_ms: number;
  to_unix_ms: number | null;
  state: string | null;
}
export interface Timeline {
  devices: { id: string; index: number | null; name: string | null }[];
  /// How many older ones are not among the spans.
  left_out: number;
  spans: Span[];
}

export interface DeviceSummary {
  mean_utilization_percent: number | null;
  memory_peak_bytes: number | null;
  energy_millijoules: number | null;
  temperature_peak_celsius: number | null;
}
export interface RunSummary {
  samples: number;
  mean_utilization_percent: number | null;
  energy_millijoules: number | null;
  tree_memory_peak_bytes: number | null;
  tree_cpu_milliseconds: number | null;
  devices: DeviceSummary[];
}
export interface Mark {
  at_unix_ms: number;
  exact: boolean;
  text: string;
}
export interface RunEvent {
  at_unix_ms: number;
  kind: string;
  text: string;
}
export interface Run {
  id: string;
  uid: number;
  user: string | null;
  command?: string[] | string | null;
  working_directory?: string | null;
  started_unix_ms: number;
  waited_ms?: number | null;
  /// It has not been started; with an end it never was.
  waiting?: boolean | null;
  wanted?: string | null;
  lease?: string | null;
  retry_of?: string | null;
  log?: string | null;
  state: string;
  time_limit_ms?: number | null;
  given?: { host?: Overview["host"]; devices: Device[] } | null;
  machine?: Record<string, unknown> | null;
  git?: {
    root?: string;
    commit?: string | null;
    branch?: string | null;
    dirty?: boolean | null;
  } | null;
  python?: { interpreter?: string; version?: string | null; packages?: unknown } | null;
  variables?: Record<string, string> | null;
  end?: {
    at_unix_ms: number;
    known: boolean;
    exit_code: number | null;
    signal: number | string | null;
    because?: string;
    stopped_by?: string | null;
    lasted_milliseconds?: number | null;
  } | null;
  summary?: RunSummary | null;
  /// Missing where only the numbers of somebody else's run may be seen.
  marks?: Mark[];
  events?: RunEvent[];
  problems?: (string | Problem)[];
}
export interface Runs {
  runs: Run[];
  next: string | null;
}
export interface Samples {
  devices: string[];
  columns: string[];
  points: (number | null)[][];
}
export interface Log {
  offset: number;
  next: number | null;
  total: number;
  text: string;
}

export interface Placed {
  id: string;
  index: number | null;
  name: string | null;
  reason?: string;
}
export interface Refused extends Placed {
  rule: string;
  text: string;
  may_change: boolean;
}
export interface Composed {
  command: string;
  /// What it would do now; missing: this server does not say.
  does?: "starts" | "waits" | "ends";
  exit_code?: number | null;
  satisfied: boolean;
  possible?: boolean;
  chosen: Placed[];
  refused: Refused[];
}

export interface ApiError {
  code: string;
  message: string;
  remedy: string | null;
}
