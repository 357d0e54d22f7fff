// The form behind `berth run`: its values as one would type them behind the options of that name.

import type { Placement } from "./wire";

export interface FormValues {
  devices: number;
  memory: "whole" | "gib" | "percent";
  memory_amount: number;
  prefer: "best-fit" | "most-free" | "spread";
  idle_minutes: number;
  wait: "not" | "forever" | "hours";
  wait_hours: number;
  needs_bf16: boolean;
  needs_fp8: boolean;
  command: string;
}

export const first_values: FormValues = {
  devices: 1,
  memory: "whole",
  memory_amount: 10,
  prefer: "best-fit",
  idle_minutes: 0,
  wait: "not",
  wait_hours: 1,
  needs_bf16: false,
  needs_fp8: false,
  command: "python train.py",
};

export function request_of(values: FormValues): Record<string, unknown> {
  const request: Record<string, unknown> = { devices: values.devices };
  if (values.memory === "gib") request["memory"] = `${values.memory_amount}G`;
  if (values.memory === "percent") request["memory"] = `${values.memory_amount}%`;
  if (values.prefer !== "best-fit") request["prefer"] = values.prefer;
  if (values.idle_minutes > 0) request["idle_for"] = `${values.idle_minutes}m`;
  const needs = [values.needs_bf16 && "bf16", values.needs_fp8 && "fp8"].filter(Boolean);
  if (needs.length) request["need"] = needs.join(",");
  if (values.wait === "forever") request["wait"] = "forever";
  if (values.wait === "hours") request["wait"] = `${values.wait_hours}h`;
  return request;
}

/// What the command would do if it were typed now.
export function outcome_of(
  composed: Pick<Placement, "possible" | "does">,
): Placement["does"] | "never" {
  return composed.possible ? composed.does : "never";
}

/// The server's line with the person's own command behind the dashes, as it was typed.
export function whole_command(line: string, command: string): string {
  const head = line.replace(/\s*--(\s.*)?$/s, "");
  const wanted = command.trim();
  return wanted === "" ? `${head} -- …` : `${head} -- ${wanted}`;
}
