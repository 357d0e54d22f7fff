// Made by ./dev docs from src/serve/openapi.json; do not edit. What the server says, as types: the
// JSON of /api/v1. An absent reading is null, and `why` beside it has the reason under its key.

export interface Error {
  error: ApiError;
}

export interface ApiError {
  /// A word that stays.
  code: string;
  message: string;
  /// What to try next; empty: nothing is known.
  remedy: string;
}

/// Keys that are null, each with the reason.
export type Why = Record<string, "unsupported" | "no permission" | "failed" | "not sampled">;

/// `ok`, `notice`, `unknown` (what it is judged by was asked for and not answered), `degraded`,
/// `failed`.
export type HealthState = "ok" | "notice" | "unknown" | "degraded" | "failed";

export type DeviceState =
  | "free"
  | "reserved"
  | "leased"
  | "busy"
  | "held"
  | "unknown"
  | "failed"
  | "divided"
  | "lost"
  | "unusable";

export type DeviceKind =
  | "nvidia-gpu"
  | "nvidia-mig"
  | "amd-gpu"
  | "amd-partition"
  | "intel-gpu"
  | "ascend-npu"
  | "hygon-dcu"
  | "cambricon-mlu"
  | "mthreads-gpu"
  | "metax-gpu"
  | "iluvatar-gpu"
  | "habana-gaudi"
  | "google-tpu"
  | "tenstorrent"
  | "aws-neuron"
  | "other";

/// As nvidia-smi writes it: compute, graphics, both, or through MPS.
export type GpuUse = "C" | "G" | "C+G" | "M+C";

export type EnergySource = "counter" | "integrated power";

export interface Counts {
  free: number;
  reserved: number;
  leased: number;
  busy: number;
  held: number;
  unknown: number;
  divided: number;
  lost: number;
  unusable: number;
  /// Those that health calls failed.
  failed: number;
}

export interface ProcessId {
  pid: number;
  /// When it began, in the kernel's own count.
  start_ticks: number;
}

export interface Mig {
  gpu_instance: number;
  compute_instance: number;
}

export interface Device {
  id: string;
  index: number | null;
  kind: DeviceKind;
  parent: string | null;
  /// Of an instance of its parent; else null.
  mig: Mig | null;
  name: string | null;
  state: DeviceState;
  /// Null: it is not examined.
  health: HealthState | null;
  utilization_gpu_percent: number | null;
  memory_used_bytes: number | null;
  /// Used is what its processes hold, a lower bound.
  memory_used_is_bound: boolean;
  memory_total_bytes: number | null;
  temperature_celsius: number | null;
  /// How near it is to slowing itself down, by its own limits; null: it tells none.
  heat: "normal" | "warm" | "hot" | null;
  power_draw_milliwatts: number | null;
  power_limit_milliwatts: number | null;
  users: string[];
  /// Users in the queue for whom it, or a part of it, is kept; of them those whose names may be
  /// seen.
  reserved_for: string[];
  leases: string[];
  why: Why;
}

export interface Process {
  /// Device and pid: what `after` takes.
  key: string;
  device: string;
  pid: number;
  /// When it began, in the kernel's own count: so a signal reaches the process that is meant.
  start_ticks: number | null;
  user: string | null;
  command: string | null;
  type: GpuUse;
  memory_used_bytes: number | null;
  utilization_sm_percent: number | null;
  started_unix_ms: number | null;
  container: string | null;
  run: string | null;
  lease: string | null;
  why: Why;
}

export interface ClaimedDevice {
  device: string;
  exclusive: boolean;
  /// Null: the whole device.
  promised_bytes: number | null;
}

export interface RunContainer {
  engine: string;
  engine_words: string[];
  environment: Record<string, string>;
  /// What berth put into its command.
  added: string[];
  cid_file: string;
  /// Empty: it was not made yet.
  id: string;
  image: string;
  image_id: string;
  /// Null: the image came from no registry, or its engine did not tell.
  image_digest: string | null;
  /// Its first process. Null: it cannot be seen here.
  process: ProcessId | null;
  /// The engine's client has ended and the container lives on.
  is_left: boolean;
  ended_unix_ms: number | null;
  exit_code: number | null;
  oom_killed: boolean | null;
}

export interface RunRanks {
  master_address: string;
  master_port: number;
  /// What each has set beside its place among the others.
  variables: Record<string, string>;
  ranks: RunRank[];
  /// The rank that ended first, and badly; the others were ended for it.
  failed_first: number | null;
}

export interface RunRank {
  rank: number;
  process: ProcessId | null;
  /// Null: any.
  cpus: string | null;
  /// Null: it lives, or its end was not seen.
  ended_unix_ms: number | null;
  exit_code: number | null;
  signal: number | null;
}

export interface Lease {
  id: string;
  run: string;
  uid: number | null;
  user: string | null;
  /// Null: the lease does not say.
  keeper: ProcessId | null;
  /// Null: it has not started.
  job: ProcessId | null;
  /// The engine's id for the container that its job is in. Missing: none.
  container?: string;
  command: string | null;
  since_unix_ms: number;
  understood: boolean;
  /// `none`, `watchdog`, `shim`, `mps` or `kernel`: what holds the job to its share. Null: it has
  /// its devices whole, or the lease does not say.
  held_by: string | null;
  /// `landlock` or `systemd`: what keeps the job from other cards' device files. Null: nothing
  /// does.
  isolated_by: string | null;
  /// When its time limit ends it at the latest.
  ends_unix_ms: number | null;
  devices: ClaimedDevice[];
}

export interface Planned {
  id: string;
  uid: number | null;
  user: string | null;
  /// It asks then, as if it came then: nothing is kept free for it before.
  starts_unix_ms: number;
  /// Whenever it began.
  ends_unix_ms: number;
  /// As typed.
  wants: string;
  /// Why it does not begin; empty: it is to begin.
  failed: string;
}

export interface Waiter {
  id: string;
  /// Empty: a ticket of berth 0.1.0.
  run: string;
  uid: number | null;
  user: string | null;
  process: ProcessId;
  command: string | null;
  /// As typed.
  wants: string;
  /// As JSON: doc/FORMATS.md, "Request".
  request: string;
  since_unix_ms: number;
  /// No more than the policy allows its owner.
  priority: "low" | "normal" | "high";
  /// 1 is the next. Missing in a snapshot.
  position?: number;
  /// At the latest, if nobody comes who goes first; null: something in its way has no time limit.
  /// Missing: only /api/v1/queue works it out.
  expected_start_unix_ms?: number | null;
  /// Empty: it may start now. Missing: only /api/v1/queue works it out.
  why_not_yet?: string;
  /// When all that it gathers is free. Missing in a snapshot.
  gathered_complete_unix_ms?: number | null;
  time_limit_ms: number | null;
  gathers_until_unix_ms: number | null;
  /// Devices that nobody else is given once they are free, until it has all that it wants.
  gathered: string[];
  /// It does not answer: it keeps its place, and others pass it.
  stuck: boolean;
  /// What of the free devices is reserved for it.
  reserved: ClaimedDevice[];
}

export interface Topology {
  simulated: string | null;
  devices: Place[];
}

export interface Place {
  id: string;
  numa_node: number | null;
  /// The same for all that NVLinks join; null: it has none to another.
  nvlink_group: number | null;
  /// To each of `devices`, as `nvidia-smi topo -m` says it: NV18, PIX, SYS, X; empty: not known.
  links: string[];
  /// Missing: each reading is there.
  why?: Why;
}

export interface Recent {
  simulated: string | null;
  since_unix_ms: number;
  step_ms: number;
  devices: {
    id: string;
    /// One a step; null: nobody looked.
    values: (number | null)[];
  }[];
}

export interface Problem {
  source: string;
  /// Null: the whole source.
  device: string | null;
  code: string;
  message: string;
  /// May be empty.
  remedy: string;
}

/// In the words of the other server, which may be newer than this one and know more of them.
export interface HostDevice {
  id: string;
  index: number | null;
  kind: string;
  parent: string | null;
  name: string | null;
  state: string;
  health: string | null;
  utilization_gpu_percent: number | null;
  memory_used_bytes: number | null;
  /// Missing: false.
  memory_used_is_bound?: boolean;
  memory_total_bytes: number | null;
  users: string[];
}

export interface JoinedHost {
  /// As this server calls it.
  name: string;
  address: string;
  state: "ok" | "stale" | "unreachable" | "refused" | "incompatible";
  /// Null where all is well.
  why: string | null;
  remedy: string | null;
  /// By this server's clock; null: not yet.
  asked_unix_ms: number | null;
  /// When it looked last, by its own clock.
  taken_unix_ms: number | null;
  simulated: string | null;
  version: string | null;
  /// Devices by state; empty where nothing is known of now.
  counts: Record<string, number>;
  devices: HostDevice[];
  /// How many wait.
  queue: number | null;
  /// How many are active; null: its berth has none.
  alerts: number | null;
  page: string | null;
}

export interface Alert {
  id: string;
  /// A word for programs, which stays.
  rule: string;
  severity: "notice" | "warning" | "critical";
  device: string | null;
  index: number | null;
  since_unix_ms: number;
  /// Of an event (an XID, another driver): when it happened.
  last_seen_unix_ms: number;
  /// Null: it fires.
  resolved_unix_ms: number | null;
  /// null: it goes on. `unknown`: it could not be read for 24 h. `unwatched`: its rule was switched
  /// off.
  ending: "resolved" | "unknown" | "unwatched" | null;
  /// An English sentence. Names of users stand behind its last `: `, and only for those who may see
  /// them.
  summary: string;
  advice: string;
  simulated: string | null;
}

export interface Delivery {
  receiver: string;
  kind: "webhook" | "command";
  min_severity: "notice" | "warning" | "critical";
  waiting: number;
  delivered: number;
  failed: number;
  dropped: number;
  last_delivered_unix_ms: number | null;
  last_failed_unix_ms: number | null;
  is_failing: boolean;
  /// Why it fails; for administrators alone.
  trouble: string | null;
}

export interface OverviewHost {
  name: string | null;
  driver_version: string | null;
  cuda_version_supported: string | null;
  /// Missing: each reading is there.
  why?: Why;
  /// Missing: there is none beside NVIDIA's.
  other_vendors?: OtherVendor[];
}

export interface Overview {
  berth_overview: 1;
  taken_unix_ms: number;
  sequence: number;
  simulated: string | null;
  /// The newest look is older than two intervals and 3 s.
  stale: boolean;
  /// Since when something that was asked has not answered; null: all answers.
  unanswered_since_unix_ms: number | null;
  interval_ms: number;
  version: string;
  host: OverviewHost;
  asker: {
    user: string | null;
    admin: boolean;
    /// What it sees of others: names (`public`), also commands of its own group (`group`), or
    /// nothing but its own (`owner`).
    sees: "public" | "group" | "owner";
  };
  /// How many other servers GET /api/v1/hosts lists.
  joined: number;
  counts: Counts;
  devices: Device[];
  processes: Process[];
  leases: Lease[];
  queue: Waiter[];
  /// Reservations that are to begin (`berth reserve --at`), by their time.
  planned: Planned[];
  problems: Problem[];
  /// All that fire.
  alerts: Alert[];
}

export interface ExcludedDevice {
  pci_address: string;
  uuid: string;
}

/// `name`, `kernel`, `boot_id`, `driver_version`, `nvml_version`; `cuda_version_supported`: the
/// highest that the driver supports, not what is installed; `process_view`: `whole`, `namespace` (a
/// container that sees its own processes alone) or `wsl`; `excluded_devices`: those that the driver
/// leaves alone (`pci_address`, `uuid`).
export interface Host {
  name: string | null;
  kernel: string | null;
  boot_id: string | null;
  /// NVIDIA's.
  driver_version: string | null;
  nvml_version: string | null;
  cuda_version_supported: string | null;
  process_view: "whole" | "namespace" | "wsl" | null;
  /// Missing: nobody looked for them.
  excluded_devices?: ExcludedDevice[] | null;
  /// Missing: each reading is there.
  why?: Why;
  /// Missing: there is none beside NVIDIA's.
  other_vendors?: OtherVendor[];
}

/// With all its readings: the keys of doc/METRICS.md, which depend on its kind and its driver.
export interface SnapshotDevice {
  id: string;
  index: number | null;
  kind: DeviceKind;
  parent: string | null;
  mig: Mig | null;
  name: string | null;
  lost: boolean;
  /// Empty: it can be used.
  unusable_because: string;
  /// Missing: each reading is there.
  why?: Why;
  [other: string]: unknown;
}

export interface GpuProcess {
  device: string;
  pid: number;
  type: GpuUse;
  mig: Mig | null;
  memory_used_bytes: number | null;
  utilization_sm_percent: number | null;
  /// Missing: not sampled.
  utilization_memory_percent?: number | null;
  /// Missing: not sampled.
  utilization_encoder_percent?: number | null;
  /// Missing: not sampled.
  utilization_decoder_percent?: number | null;
  /// Missing: not sampled.
  utilization_jpeg_percent?: number | null;
  /// Missing: not sampled.
  utilization_optical_flow_percent?: number | null;
  /// The vendor's own, as MPS's server is. Missing: false.
  server?: boolean;
  /// Missing: each reading is there.
  why?: Why;
}

export interface Enclosure {
  runtime: string;
  id: string;
  /// Missing: it is no pod's.
  pod_uid?: string;
  /// Missing: the control group does not say whose it is.
  owner_uid?: number;
  name: string | null;
  image: string | null;
  /// Missing: each reading is there.
  why?: Why;
}

export interface HostProcess {
  pid: number;
  start_ticks: number;
  /// Parents, the nearest first.
  ancestors: number[];
  uid: number | null;
  user: string | null;
  command: string[] | null;
  executable_name: string | null;
  started_unix_ms: number | null;
  cpu_time_ms: number | null;
  /// When its time was read; missing: not known.
  read_unix_ms?: number;
  /// A terminal controls it; missing: not read.
  has_terminal?: boolean;
  memory_resident_bytes: number | null;
  state: string | null;
  /// Empty: none.
  container: string | null;
  /// Missing: none, or not read.
  enclosure?: Enclosure;
  /// It waits for something that does not come; missing: it does not, or nobody looked.
  stuck?: true;
  /// Missing: each reading is there.
  why?: Why;
}

export interface DeviceFiles {
  holders: {
    pid: number;
    minor_number: number;
    /// What stands before the number in its path. Missing: `/dev/nvidia`.
    card_file?: string;
  }[];
  unreadable_processes: number | null;
  /// Missing: each reading is there.
  why?: Why;
}

export interface XidEvent {
  pci_address: string;
  code: number;
  at_unix_ms: number;
  text: string;
  pid: number | null;
  process: string | null;
  /// Missing: each reading is there.
  why?: Why;
}

export interface Snapshot {
  berth_snapshot: 1;
  taken_unix_ms: number;
  /// The simulated server's name; null: a real machine.
  simulated: string | null;
  host: Host;
  /// Each has the fields of doc/METRICS.md under their keys. `kind` says the maker. `parent` and
  /// `mig` are of a part of a card: a MIG instance, a partition of AMD's. `integrated`: it is a
  /// part of the processor. `runtime_index`: the number that a program of its runtime takes, where
  /// it is not `index`, which counts the cards of all makers. `lost`; `unusable_because` (empty: a
  /// job can be given it); `utilization_history_ms_percent`: the driver's own recent samples, pairs
  /// of age and percent, newest first.
  devices: SnapshotDevice[];
  /// One per process and device: `device` (an id), `pid`, `type` (`C`, `G`, `C+G`, `M+C`), `mig`,
  /// `memory_used_bytes` and `utilization_…_percent`; engines that nothing was sampled of are left
  /// out.
  gpu_processes: GpuProcess[];
  /// One per process, from /proc: `pid`, `start_ticks`, `ancestors` (pids, nearest first), `uid`,
  /// `user`, `command` (a list, secrets masked), `executable_name`, `started_unix_ms`,
  /// `cpu_time_ms`, `read_unix_ms` (when that was read; not of simulated ones), `has_terminal`
  /// (likewise), `memory_resident_bytes`, `state`, `container` (empty: none) and, in one,
  /// `enclosure`: `runtime`, `id` (whole), `pod_uid`, `owner_uid`, `name`, `image`. `berth ps` adds
  /// `stuck`: in state D at two looks without having run. In a container or WSL all is absent of a
  /// number that no process here is known to have by right.
  processes: HostProcess[];
  /// There only where it was asked for (`berth ps`, `berth health`); null, with `why`, where it was
  /// asked for in vain. `holders`: `pid` and the `minor_number` of the device file that it has
  /// open. `unreadable_processes`: how many may not be looked into; null: /proc hides that they are
  /// there. Missing: nobody looked.
  device_files?: DeviceFiles | null;
  /// Likewise. Errors that the driver reported, in the kernel log or by its events, which name no
  /// process: `pci_address`, `code`, `at_unix_ms`, `pid`, `process`, `text`. Missing: nobody
  /// looked.
  xids?: XidEvent[] | null;
  /// Likewise, where the kernel log tells it: errors before that are history. Missing: nobody
  /// looked.
  driver_loaded_unix_ms?: number | null;
  leases: Lease[];
  queue: Waiter[];
  /// `source`, `succeeded`. `ledger` is where `leases` and `queue` come from: where it could not be
  /// read they are empty, and `leases` and `users` of each device null.
  sources: {
    source: string;
    succeeded: boolean;
  }[];
  problems: Problem[];
  /// Missing: each reading is there.
  why?: Why;
}

export interface Finding {
  state: "notice" | "degraded" | "failed";
  code: string;
  evidence: string;
  advice: string;
  /// How often it was reported. Missing: it is no error that the driver reported.
  times?: number;
  /// Missing: it is no error that the driver reported.
  last_unix_ms?: number;
  /// Missing: it is no error that the driver reported.
  last_process?: string | null;
  /// Missing: it is no error that the driver reported.
  last_pid?: number | null;
  /// Missing: it is no error that the driver reported.
  before_driver_load?: boolean;
}

export interface DeviceHealth {
  id: string;
  index: number | null;
  state: HealthState;
  /// Of XID errors also `times`, `last_unix_ms`, `last_process`, `last_pid`, `before_driver_load`
  /// (all of them happened before the driver was loaded anew: a notice at most).
  findings: Finding[];
  /// What could not be read, and why.
  not_examined: string[];
}

export interface VisibleDevices {
  simulated: string | null;
  /// By the ids of those that it sees; null: only CUDA knows, and `remarks` says why.
  numbers: Record<string, number | null>;
  /// Of what is not read in the lists.
  remarks: string[];
}

export interface Health {
  berth_health: 1;
  taken_unix_ms: number;
  simulated: string | null;
  /// The worst of all.
  state: HealthState | null;
  devices: DeviceHealth[];
  problems: string[];
}

export interface HealthNews {
  at_unix_ms: number;
  kind: "health";
  device: string;
  index: number | null;
  state: "ok" | "notice" | "degraded" | "failed";
  code: string;
  evidence: string;
  advice: string;
}

export interface DeviceSummary {
  mean_utilization_percent: number | null;
  memory_peak_bytes: number | null;
  memory_source: "own processes" | "whole device";
  own_memory_peak_bytes: number | null;
  energy_millijoules: number | null;
  energy_source: EnergySource;
  temperature_peak_celsius: number | null;
  not_read_milliseconds: number | null;
  /// Missing: each reading is there.
  why?: Why;
}

export interface RunSummary {
  samples: number;
  mean_utilization_percent: number | null;
  energy_millijoules: number | null;
  energy_source: EnergySource;
  tree_memory_peak_bytes: number | null;
  tree_cpu_milliseconds: number | null;
  device_files_open: number | null;
  device_files_looks: number | null;
  gpu_contexts: number | null;
  gpu_contexts_looks: number | null;
  /// As `given.devices` of the run.
  devices: DeviceSummary[];
  /// Missing: each reading is there.
  why?: Why;
}

export interface Mark {
  at_unix_ms: number;
  /// False: up to a second late.
  exact: boolean;
  text: string;
}

export interface RunEvent {
  at_unix_ms: number;
  kind: string;
  text: string;
}

export interface RunEnd {
  format: "berth-run-end";
  version: 1;
  at_unix_ms: number;
  /// False: its keeper has gone without a word, or `ended` says what is known.
  known: boolean;
  /// gave_back: a program that leased its devices itself gave them back, and may go on.
  ended: "gave_back" | null;
  exit_code: number | null;
  signal: number | null;
  dumped_core: boolean;
  lasted_milliseconds: number | null;
  /// Empty: it ended by itself.
  because: string;
  stopped_by: string | null;
  /// "out of GPU memory".
  died_of: string | null;
  /// As `berth extend` had moved it; null: it had not.
  time_limit_ms: number | null;
  released_unix_ms: number | null;
  cpu_milliseconds: number | null;
  summary: RunSummary;
  /// Missing: each reading is there.
  why?: Why;
}

export interface Machine {
  instance_type: string | null;
  operating_system: string | null;
  cpu_model: string | null;
  cpu_count: number | null;
  memory_total_bytes: number | null;
  container: string | null;
  /// Missing: each reading is there.
  why?: Why;
}

export interface Git {
  root: string;
  commit: string | null;
  /// Empty: a detached head.
  branch: string | null;
  dirty: boolean | null;
  /// Missing: each reading is there.
  why?: Why;
}

export interface Framework {
  name: string;
  version: string;
  /// Empty: built without.
  cuda: string | null;
  /// Missing: each reading is there.
  why?: Why;
}

export interface Python {
  interpreter: string;
  version: string | null;
  /// Empty: none.
  environment: string;
  /// Versions by name.
  packages: Record<string, string>;
  frameworks: Framework[];
  /// Missing: each reading is there.
  why?: Why;
}

export interface CapOnDevice {
  limit_bytes: number | null;
  /// By the driver, of the run's own processes.
  highest_measured_bytes: number | null;
  /// Null: the tier does not count.
  highest_charge_bytes: number | null;
  /// Allocations that the tier refused.
  refusals: number;
  /// Missing: each reading is there.
  why?: Why;
}

export interface RunCap {
  tier: "none" | "watchdog" | "shim" | "mps" | "kernel";
  /// What the watchdog does above it.
  action: "warn" | "stop";
  /// Stronger tiers and why they do not hold it. Missing: there is none, or it is another person's
  /// run.
  not_held_by?: Record<string, string>;
  /// What the tier had to do or could not. Missing: nothing, or it is another person's run.
  said?: string[];
  /// The shim's file. Missing: another tier holds it, or it is another person's run.
  image?: string;
  /// Whether it was there for the run's processes.
  proved: "yes" | "no" | "unknown";
  /// Null: it is proved.
  proved_why: string | null;
  /// As `given.devices` of the run.
  devices: CapOnDevice[];
}

export interface Run {
  format: "berth-run";
  version: 1;
  id: string;
  /// Null: it may not be seen.
  command: string[] | null;
  /// Missing: it is another person's run.
  working_directory?: string;
  started_unix_ms: number;
  /// Missing: it is another person's run.
  started_steady_ms?: number | null;
  /// Missing: it is another person's run.
  machine_id?: string;
  /// Missing: it is another person's run.
  boot_id?: string;
  uid: number;
  user: string;
  /// Missing: it is another person's run.
  keeper?: ProcessId;
  /// Missing: it is another person's run.
  job?: ProcessId | null;
  /// Empty: none.
  lease: string;
  /// Missing: it is another person's run.
  inside?: string;
  /// The run that it was started again for.
  retry_of: string | null;
  /// Missing: the run is of none, or another person's.
  container?: RunContainer;
  /// Missing: the run is one process, or another person's.
  ranks?: RunRanks;
  wanted: string;
  /// Missing: it is another person's run.
  spec?: Record<string, string>;
  devices_wanted: number | null;
  cpu_only: boolean;
  /// What keeps it from other cards' device files: landlock or systemd. Missing: it is another
  /// person's run.
  isolated_by?: string | null;
  /// It has not been started; with an end it never was.
  waiting: boolean;
  waited_ms: number;
  /// Missing: it is another person's run.
  time_limit_ms?: number | null;
  /// Missing: it is another person's run.
  log?: string | null;
  /// What the log had before; null: nothing. Missing: it is another person's run.
  log_from_bytes?: number | null;
  /// The host and the devices that it was given, as of then.
  given: Snapshot;
  /// Of each device; null: the whole device.
  promised_bytes: (number | null)[];
  /// Null: its devices are its own, or an older record.
  cap: RunCap | null;
  /// Missing: it is another person's run.
  complete?: boolean;
  /// Missing: it is another person's run.
  machine?: Machine;
  /// Missing: it was started in no work tree, or is another person's run.
  git?: Git;
  /// Missing: there is none, or it is another person's run.
  python?: Python;
  /// Missing: it is another person's run.
  variables?: Record<string, string>;
  /// Missing: it is another person's run.
  variables_set?: Record<string, string>;
  state: "waiting" | "running" | "ended" | "end unknown" | "elsewhere";
  /// Missing: it is another person's run.
  directory?: string;
  /// Null: it has none that is known.
  end: RunEnd | null;
  summary: RunSummary;
  /// Missing: it is another person's run.
  figures_invented?: boolean;
  /// Missing: it is another person's run.
  problems?: string[];
  /// Missing: it is another person's run.
  marks?: Mark[];
  /// Missing: it is another person's run.
  events?: RunEvent[];
}

export interface Runs {
  runs: Run[];
  next: string | null;
}

export interface Samples {
  devices: string[];
  columns: string[];
  /// Each a time, the device's place in `devices`, then the columns.
  points: [number, number, ...(number | null)[]][];
}

export interface RunStep {
  what: string;
  /// To be pasted; berth runs none.
  command: string | null;
}

export interface RunFinding {
  /// A word for programs, the same for ever.
  rule: string;
  severity: "hint" | "warning" | "error";
  title: string;
  /// What was read that shows it.
  evidence: string[];
  meaning: string;
  steps: RunStep[];
  /// Why this may be wrong; null: the evidence is whole.
  doubt: string | null;
}

export interface Explanation {
  berth_explain: 1;
  run: string | null;
  simulated: string | null;
  /// Which was read; null: none.
  log: string | null;
  /// Of it the end alone.
  log_cut: boolean;
  /// null: it goes on, or gave its devices back and may.
  ended_well: boolean | null;
  findings: RunFinding[];
}

export interface RunLog {
  offset: number;
  next: number;
  total: number;
  text: string;
}

export interface History {
  damaged_blocks: number;
  simulated: string | null;
  device: string;
  metric: string;
  unit: string;
  step_ms: number;
  knows_since_unix_ms: number | null;
  /// Each its time, min, mean, p95, max.
  points: [number, number, number, number, number][];
}

export interface Usage {
  berth_usage: 1;
  by: "user" | "job" | "gpu" | "day";
  simulated: string | null;
  /// Of all devices, since it knows.
  unwatched_hours: number;
  /// Moved out to quarters of an hour, as `until_unix_ms`.
  since_unix_ms: number;
  until_unix_ms: number;
  knows_since_unix_ms: number | null;
  price_per_kwh: number | null;
  currency: string | null;
  rows: UsageRow[];
}

export interface UsageRow {
  /// User; run, else lease, of a job (empty: without one); device id; local date.
  key: string;
  /// Whose job it is; missing: rows are of something else.
  user?: string;
  gpu_hours: number;
  /// Load above 3 %. With `idle_held_hours` and `unknown_load_hours` it adds up to `gpu_hours`.
  busy_gpu_hours: number;
  /// Held without load.
  idle_held_hours: number;
  /// Held, and the load could not be read.
  unknown_load_hours: number;
  unwatched_hours: number | null;
  energy_joules: number | null;
  /// It is not known for all of the time.
  energy_at_least: boolean;
  /// Some of it is made of power, where a card has no counter.
  energy_integrated: boolean;
  cost: number | null;
  /// By user and day.
  waits: number | null;
  /// By user and day.
  waited_hours: number | null;
  /// Not by job.
  runs: number | null;
}

export interface Timeline {
  /// How many older ones are not among the spans.
  left_out: number;
  simulated: string | null;
  devices: {
    id: string;
    index: number | null;
    name: string;
  }[];
  spans: Span[];
}

export interface Span {
  device: string;
  /// `user`: somebody computes there without a lease.
  kind: "lease" | "run" | "user" | "health";
  /// Null: it is a name that one may not see.
  id: string | null;
  user: string | null;
  title: string | null;
  from_unix_ms: number;
  to_unix_ms: number | null;
  state: string;
}

export interface EventsLog {
  /// How many older ones are not among the events.
  left_out: number;
  simulated: string | null;
  events: LoggedEvent[];
}

export interface LoggedEvent {
  at_unix_ms: number;
  /// `health`, `health_over`, `xid`, or what else an older history holds.
  kind: string;
  /// Empty: the whole machine, or a device that is not known.
  device: string;
  code: string;
  text: string;
  /// What to do about an error of the driver.
  advice: string | null;
}

export interface Hosts {
  simulated: string | null;
  hosts: JoinedHost[];
  next: string | null;
}

export interface Alerts {
  alerts: Alert[];
  next: string | null;
  simulated: string | null;
  deliveries: Delivery[];
}

export interface Choice {
  id: string;
  index: number | null;
  name: string | null;
  /// Null: the whole device.
  promised_bytes: number | null;
  reason: string;
}

export interface Holder {
  /// Empty: it cannot be seen.
  user: string;
  /// Null: a lease whose job has not started.
  pid: number | null;
  command: string;
  since_unix_ms: number | null;
}

export interface Refusal {
  id: string;
  index: number | null;
  name: string | null;
  rule:
    | "unusable"
    | "lost"
    | "divided"
    | "not_visible"
    | "excluded"
    | "not_listed"
    | "other_kind"
    | "kind_not_said"
    | "not_asked_for"
    | "not_permitted"
    | "failed"
    | "compute_mode"
    | "too_old"
    | "lacks_feature"
    | "at_limit"
    | "quiet_hours"
    | "leased"
    | "in_use"
    | "memory"
    | "memory_unknown"
    | "utilization"
    | "not_idle"
    | "idle_unknown"
    | "not_watched_long"
    | "apart"
    | "reserved";
  text: string;
  may_change: boolean;
  holders: Holder[];
}

export interface Placement {
  command: string;
  /// What the command would do now: start the job, wait in the queue, or end at once with the exit
  /// code.
  does: "starts" | "waits" | "ends";
  /// Null: it does not end at once.
  exit_code: number | null;
  berth_placement: 1;
  simulated: string | null;
  /// As one would type it: `-n 2 --memory 10G`.
  asked_for: string;
  /// Whether `chosen` is what was asked for; false where the job goes without, on the CPU.
  satisfied: boolean;
  /// False: this machine can never satisfy it, not even when it is idle.
  possible: boolean;
  /// Nothing was taken: somebody else may be given the same.
  claimed: false;
  /// What the job would find set; empty: nothing is taken.
  environment: Record<string, string>;
  /// `id`, `index`, `name`, `promised_bytes` (null: the whole device), `reason` for people.
  chosen: Choice[];
  /// Devices that would have done; as `chosen`.
  available: Choice[];
  /// The others: `id`, `index`, `name`, `rule` (src/place/placement.h says what each means), `text`
  /// for people, `may_change` (false: no waiting will change it), `holders`: `user` (empty: cannot
  /// be seen), `pid` (null: a lease whose job has not started), `command` (masked),
  /// `since_unix_ms`.
  refused: Refusal[];
}

/// The software of a vendor beside NVIDIA. Left out where nobody asked for any.
export interface OtherVendor {
  vendor: string;
  /// Null and "unsupported": the driver is the kernel's own, without a version.
  driver_version: string | null;
  runtime: string;
  /// What is installed.
  runtime_version: string | null;
  /// Missing: it has none.
  library_version?: string;
  /// Missing: each reading is there.
  why?: Why;
}
