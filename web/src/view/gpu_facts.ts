// What a GPU tells of itself in words. These are clocks and what holds them back, PCIe and NVLink, activity, memory
// errors, neighbours. What it does not measure has no line.

import { el, set_hidden } from "../dom/element";
import { celsius, percent } from "../model/format";
import {
  megahertz,
  number_of,
  per_second,
  ranges_of,
  throttles_of,
} from "../model/gpu_readings";
import { label_of } from "../model/state";
import type { Overview, SnapshotDevice, Topology } from "../model/wire";
import { t } from "../words/translate";
import { facts } from "./view";

export class GpuFacts {
  readonly root = el("div");
  private last = "";

  /// `topology`: null: it is not known yet.
  update(device: SnapshotDevice, topology: Topology | null, overview: Overview): void {
    const pairs = pairs_of(device, topology, overview);
    const now = JSON.stringify(pairs);
    // Selecting and copying from it must not end each second.
    if (now === this.last) return;
    this.last = now;
    const list = facts(pairs);
    this.root.replaceChildren(list);
    set_hidden(this.root, list.childElementCount === 0);
  }
}

type Pair = [string, string | null];

function pairs_of(
  device: SnapshotDevice,
  topology: Topology | null,
  overview: Overview,
): Pair[] {
  const number = (key: string): number | null => number_of(device, key);
  const text = (key: string): string | null => {
    const value = device[key];
    return typeof value === "string" && value !== "" ? value : null;
  };
  const of = (key: string, most: string, say: (value: number) => string): string | null => {
    const [now, top] = [number(key), number(most)];
    if (now === null) return null;
    return top === null ? say(now) : `${say(now)} / ${say(top)}`;
  };
  const told = (word: string, value: string | null): string | null =>
    value === null ? null : `${word} ${value}`;
  const said = (key: string, say: (value: number) => string): string | null => {
    const value = number(key);
    return value === null ? null : say(value);
  };
  const line = (...parts: (string | null)[]): string | null =>
    parts.filter((part) => part !== null).join("  ·  ") || null;
  const throttles = throttles_of(device);
  const links = said("nvlink_active", (n) => `${n} / ${number("nvlink_count") ?? n}`);
  const ecc = device["ecc_mode"];
  const mig = device["mig_mode"];
  return [
    [
      t("fact.clocks"),
      line(
        told("SM", of("clock_sm_megahertz", "clock_sm_max_megahertz", megahertz)),
        told(t("fact.memory"), of("clock_memory_megahertz", "clock_memory_max_megahertz", megahertz)),
        told("P", said("performance_state", String)),
      ),
    ],
    [
      t("fact.throttle"),
      throttles &&
        (throttles.map((word) => t(`throttle.${word}`)).join(", ") || t("throttle.none")),
    ],
    [
      t("fact.heat"),
      line(
        told(t("fact.memory"), said("temperature_memory_celsius", celsius)),
        told(t("fact.slows_at"), said("temperature_slowdown_celsius", celsius)),
        told(t("fact.fan"), said("fan_speed_percent", percent)),
      ),
    ],
    [
      "PCIe",
      line(
        told(t("fact.generation"), of("pcie_generation", "pcie_generation_max", String)),
        told("×", of("pcie_width", "pcie_width_max", String)),
        told("↑", said("pcie_sent_rate_bytes_per_second", per_second)),
        told("↓", said("pcie_received_rate_bytes_per_second", per_second)),
        told(t("fact.replays"), said("pcie_replays", String)),
      ),
    ],
    [
      "NVLink",
      line(
        told(t("fact.active"), links),
        told("↑", said("nvlink_sent_rate_bytes_per_second", per_second)),
        told("↓", said("nvlink_received_rate_bytes_per_second", per_second)),
        told(t("fact.errors"), said("nvlink_data_errors", String)),
      ),
    ],
    [
      t("extra.activity"),
      line(
        told("SM", said("activity_sm_percent", percent)),
        told("Tensor", said("activity_tensor_percent", percent)),
        told(t("fact.memory"), said("activity_dram_percent", percent)),
        told(t("fact.occupancy"), said("activity_occupancy_percent", percent)),
      ),
    ],
    [
      "ECC",
      line(
        typeof ecc === "boolean" ? t(ecc ? "fact.on" : "fact.off") : null,
        told(t("fact.corrected"), said("ecc_corrected_errors", String)),
        told(t("fact.uncorrected"), said("ecc_uncorrected_errors", String)),
        told(t("fact.lifetime"), said("ecc_uncorrected_aggregate_total", String)),
        told(t("fact.remapped"), said("remapped_rows_uncorrectable", String)),
      ),
    ],
    ["MIG", typeof mig === "boolean" ? t(mig ? "fact.on" : "fact.off") : null],
    [t("fact.neighbours"), neighbours_of(device.id, topology, overview)],
    [
      t("fact.place"),
      line(
        text("pci_address"),
        told("NUMA", said("numa_node", String)),
        told("CPU", text("cpu_affinity")),
      ),
    ],
    [
      t("fact.card"),
      line(
        text("architecture"),
        told("SM", said("multiprocessors", String)),
        told(t("fact.bandwidth"), said("memory_bandwidth_bytes_per_second", per_second)),
        told("VBIOS", text("vbios_version")),
      ),
    ],
  ];
}

/// "NV18: 1-7": the cards by how they are joined to this one.
function neighbours_of(
  id: string,
  topology: Topology | null,
  overview: Overview,
): string | null {
  const own = topology?.devices.find((place) => place.id === id);
  if (!topology || !own) return null;
  const by_link = new Map<string, string[]>();
  topology.devices.forEach((place, i) => {
    const link = own.links[i];
    const other = overview.devices.find((device) => device.id === place.id);
    if (!link || place.id === id || !other) return;
    by_link.set(link, [...(by_link.get(link) ?? []), label_of(other)]);
  });
  return (
    [...by_link]
      .map(([link, labels]) => {
        const numbers = labels.map(Number);
        const said = numbers.every(Number.isInteger) ? ranges_of(numbers) : labels.join(", ");
        return `${link}: ${said}`;
      })
      .join("  ·  ") || null
  );
}
