// Numbers as people read them. What is absent is a dash; units are written once, here.

import type { Device } from "./wire";

export const dash = "–";
type Maybe = number | null | undefined;

export function percent(value: Maybe): string {
  return value === null || value === undefined ? dash : `${Math.round(value)} %`;
}

export function gib(bytes: Maybe, digits = 1): string {
  return bytes === null || bytes === undefined ? dash : (bytes / 2 ** 30).toFixed(digits);
}

export function bytes(value: Maybe): string {
  if (value === null || value === undefined) return dash;
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let scaled = value;
  let unit = 0;
  while (Math.abs(scaled) >= 1024 && unit < units.length - 1) {
    scaled /= 1024;
    unit += 1;
  }
  return `${unit === 0 || Math.abs(scaled) >= 100 ? Math.round(scaled) : scaled.toFixed(1)} ${units[unit]}`;
}

export function gib_axis(value: Maybe): string {
  if (value === null || value === undefined) return dash;
  return `${value % 2 ** 30 === 0 ? value / 2 ** 30 : gib(value)} GiB`;
}
export const gib_steps = [0.25, 0.5, 1, 2, 4, 5, 8, 10, 16, 20, 32, 40, 64, 80, 100, 128, 256].map(
  (n) => n * 2 ** 30,
);

/// `is_bound`: at least so much is used.
export function used_of(used: Maybe, total: Maybe, is_bound = false): string {
  if ((used ?? null) === null && (total ?? null) === null) return dash;
  return at_least(`${gib(used)} / ${gib(total)} GiB`, is_bound && (used ?? null) !== null);
}

/// The used part of a card's memory, and the whole.
export function memory_of(
  device: Pick<Device, "memory_used_bytes" | "memory_used_is_bound" | "memory_total_bytes">,
): string {
  const { memory_used_bytes: used, memory_total_bytes: total } = device;
  return used_of(used, total, device.memory_used_is_bound);
}

export function watts(milliwatts: Maybe): string {
  if (milliwatts === null || milliwatts === undefined) return dash;
  const watts = milliwatts / 1000;
  return watts >= 10_000 ? `${(watts / 1000).toFixed(1)} kW` : `${Math.round(watts)} W`;
}

export function celsius(value: Maybe): string {
  return value === null || value === undefined ? dash : `${Math.round(value)} °C`;
}

export function energy(joules: Maybe): string {
  if (joules === null || joules === undefined) return dash;
  const kwh = joules / 3.6e6;
  if (joules < 3_600) return `${Math.round(joules)} J`;
  if (kwh < 1) return `${Math.round(joules / 3_600)} Wh`;
  return `${kwh < 100 ? kwh.toFixed(1) : Math.round(kwh)} kWh`;
}

/// What is a sum of known parts alone says so; what is absent is no bound of anything.
export function at_least(text: string, is_bound: boolean): string {
  return is_bound && text !== dash ? `≥ ${text}` : text;
}

export function hours(value: Maybe): string {
  if (value === null || value === undefined) return dash;
  if (value === 0) return "0";
  return value < 10 ? value.toFixed(1) : String(Math.round(value));
}

export function money(value: Maybe, currency: string | null): string {
  if (value === null || value === undefined) return dash;
  return currency ? `${value.toFixed(2)} ${currency}` : value.toFixed(2);
}

/// "42s", "3m20s", "5h02m", "3d07h": as the program's own tables write it.
export function duration(ms: Maybe): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return dash;
  const two = (n: number): string => String(n).padStart(2, "0");
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${two(seconds % 60)}s`;
  const all_hours = Math.floor(minutes / 60);
  if (all_hours < 24) return `${all_hours}h${two(minutes % 60)}m`;
  return `${Math.floor(all_hours / 24)}d${two(all_hours % 24)}h`;
}

/// Local calendar parts of a moment; the browser's zone, which is the reader's.
export function clock_time(unix_ms: number, with_seconds = true): string {
  const at = new Date(unix_ms);
  const two = (n: number): string => String(n).padStart(2, "0");
  const hm = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return with_seconds ? `${hm}:${two(at.getSeconds())}` : hm;
}

export function day(unix_ms: number): string {
  const at = new Date(unix_ms);
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

export function moment(unix_ms: Maybe): string {
  if (unix_ms === null || unix_ms === undefined) return dash;
  return `${day(unix_ms)} ${clock_time(unix_ms)}`;
}

/// "H100 80GB HBM3": makers' names cost room and tell nothing on a page about GPUs.
export function short_name(name: string | null): string {
  return name === null ? dash : name.replace(/^NVIDIA /, "").replace(/^(GeForce|Tesla) /, "");
}

/// "1g.10gb": what of a card an instance is, from the name that its driver gives it.
export function mig_profile(name: string | null): string {
  return /\bMIG (\S+)/.exec(name ?? "")?.[1] ?? "";
}

/// "{count} of {all}" with its values put in.
export function filled(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) =>
    name in values ? String(values[name]) : whole,
  );
}
