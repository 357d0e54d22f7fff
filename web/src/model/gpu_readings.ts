// What a GPU's own page draws beyond the readings of every page, and what it tells in words. The
// names are keys of doc/METRICS.md, as /gpu-status has them.

import { bytes, dash, percent } from "./format";
import type { SnapshotDevice } from "./wire";

export interface ExtraLine {
  /// Stands for its name for people.
  word: "sent" | "received" | "sm" | "tensor" | "dram" | null;
  key: string;
  /// As the history calls it; null: it keeps none.
  kept: string | null;
}
export interface ExtraChart {
  word: "clock" | "pcie" | "nvlink" | "activity";
  lines: ExtraLine[];
  format: (value: number | null) => string;
  top: (device: SnapshotDevice) => number | null;
  colour: string;
}

export function megahertz(value: number | null | undefined): string {
  return value === null || value === undefined ? dash : `${Math.round(value)} MHz`;
}
export function per_second(value: number | null | undefined): string {
  return value === null || value === undefined ? dash : `${bytes(value)}/s`;
}

export function number_of(device: SnapshotDevice, key: string): number | null {
  const value = device[key];
  return typeof value === "number" ? value : null;
}

const no_top = (): null => null;
const nvlink_sent = "nvlink_sent_rate_bytes_per_second";
const nvlink_received = "nvlink_received_rate_bytes_per_second";
export const extra_charts: ExtraChart[] = [
  {
    word: "activity",
    lines: [
      { word: "sm", key: "activity_sm_percent", kept: "activity_sm_percent" },
      { word: "tensor", key: "activity_tensor_percent", kept: "activity_tensor_percent" },
      { word: "dram", key: "activity_dram_percent", kept: "activity_dram_percent" },
    ],
    format: percent,
    top: () => 100,
    colour: "--chart-load",
  },
  {
    word: "clock",
    lines: [{ word: null, key: "clock_sm_megahertz", kept: "clock_sm_megahertz" }],
    format: megahertz,
    top: (device) => number_of(device, "clock_sm_max_megahertz"),
    colour: "--chart-memory",
  },
  {
    word: "pcie",
    lines: [
      { word: "sent", key: "pcie_sent_rate_bytes_per_second", kept: "pcie_sent_bytes" },
      { word: "received", key: "pcie_received_rate_bytes_per_second", kept: "pcie_received_bytes" },
    ],
    format: per_second,
    top: no_top,
    colour: "--chart-power",
  },
  {
    word: "nvlink",
    lines: [
      { word: "sent", key: nvlink_sent, kept: nvlink_sent },
      { word: "received", key: nvlink_received, kept: nvlink_received },
    ],
    format: per_second,
    top: no_top,
    colour: "--chart-heat",
  },
];

/// Why clocks are not as high as they could be: bits of throttle_reasons_mask.
const throttle_bits = {
  1: "idle",
  2: "set_clocks",
  4: "power_cap",
  8: "hardware",
  16: "sync_boost",
  32: "driver_thermal",
  64: "hardware_thermal",
  128: "power_brake",
  256: "display",
} as const;
export type Throttle = (typeof throttle_bits)[keyof typeof throttle_bits];
/// Null: it is not known. Bits that are newer than this page are left out.
export function throttles_of(device: SnapshotDevice): Throttle[] | null {
  const mask = number_of(device, "throttle_reasons_mask");
  if (mask === null) return null;
  return Object.entries(throttle_bits)
    .filter(([bit]) => (mask & Number(bit)) !== 0)
    .map(([, word]) => word);
}

/// "0, 2-4": indices as short as they can be.
export function ranges_of(indices: number[]): string {
  const sorted = [...indices].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; ++i) {
    const first = sorted[i]!;
    while (sorted[i + 1] === sorted[i]! + 1) ++i;
    parts.push(first === sorted[i] ? `${first}` : `${first}-${sorted[i]}`);
  }
  return parts.join(", ");
}
