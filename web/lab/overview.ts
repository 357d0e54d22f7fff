// What the panel is told by /berth/api/overview (python/berth/jupyter/kernels.py), and when it asks.

export interface LabDevice {
  id: string;
  index: number | null;
  name: string | null;
  state: string;
  utilization_gpu_percent: number | null;
  memory_used_bytes: number | null;
  memory_used_is_bound: boolean;
  memory_total_bytes: number | null;
  temperature_celsius: number | null;
  power_draw_milliwatts: number | null;
  users: string[];
}

export interface LabKernel {
  id: string;
  name: string;
  path: string | null;
  state: string;
  idle_since_unix_ms: number | null;
  /// The memory of its process tree, on all devices; null: not known.
  memory_used_bytes: number | null;
  devices: string[];
  leased: string[];
}

export interface Holder {
  device: string;
  pid: number;
  user: string | null;
  command: string | null;
  memory_used_bytes: number | null;
  kernel: string | null;
}

export interface LabOverview {
  berth_lab: number;
  taken_unix_ms: number | null;
  simulated: string | null;
  source: "serve" | "helper" | null;
  problem: { message: string; remedy: string | null } | null;
  devices: LabDevice[];
  kernels: LabKernel[];
  holders: Holder[];
}

export function uses_gpu(kernel: LabKernel): boolean {
  return kernel.devices.length > 0;
}

/// Kernels that compute nothing and keep others from a GPU, the longest idle first. The one in front is not among them:
/// its user is about to use it.
export function idle_holders(kernels: LabKernel[], in_front: string | null): LabKernel[] {
  return kernels
    .filter((one) => one.idle_since_unix_ms !== null && uses_gpu(one) && one.id !== in_front)
    .sort((a, b) => a.idle_since_unix_ms! - b.idle_since_unix_ms!);
}

/// "0", "0, 3": as the panel numbers them.
export function numbers_of(ids: string[], devices: LabDevice[]): string {
  return ids
    .map((id) => devices.find((device) => device.id === id)?.index)
    .map((index) => (index === null || index === undefined ? "?" : String(index)))
    .join(", ");
}

const every_ms = 2_000;
const longest_pause_ms = 30_000;

/// Asks every few seconds while the panel is looked at; else nothing is asked.
export class Asking {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private under_way = false;
  private watched = false;
  private failures = 0;

  /// `ask` is false where it failed.
  constructor(private readonly ask: () => Promise<boolean>) {}

  watch(watched: boolean): void {
    if (watched === this.watched) return;
    this.watched = watched;
    clearTimeout(this.timer);
    if (watched) this.now();
  }

  now(): void {
    clearTimeout(this.timer);
    if (this.under_way || !this.watched) return;
    this.under_way = true;
    void this.ask()
      .catch(() => false)
      .then((well) => {
        this.under_way = false;
        this.failures = well ? 0 : this.failures + 1;
        if (!this.watched) return;
        const pause = Math.min(longest_pause_ms, every_ms * 2 ** this.failures);
        this.timer = setTimeout(() => this.now(), pause);
      });
  }
}
