// The form behind `berth run`: its values as one would type them behind the options of that name.

export interface Wishes {
  devices: number;
  memory: "whole" | "gib" | "percent";
  memory_amount: number;
  prefer: "best-fit" | "most-free" | "spread";
  idle_minutes: number;
  needs_bf16: boolean;
  needs_fp8: boolean;
  command: string;
}

export const no_wishes: Wishes = {
  devices: 1,
  memory: "whole",
  memory_amount: 10,
  prefer: "best-fit",
  idle_minutes: 0,
  needs_bf16: false,
  needs_fp8: false,
  command: "python train.py",
};

export function request_of(wishes: Wishes): Record<string, unknown> {
  const request: Record<string, unknown> = { devices: wishes.devices };
  if (wishes.memory === "gib") request["memory"] = `${wishes.memory_amount}G`;
  if (wishes.memory === "percent") request["memory"] = `${wishes.memory_amount}%`;
  if (wishes.prefer !== "best-fit") request["prefer"] = wishes.prefer;
  if (wishes.idle_minutes > 0) request["idle_for"] = `${wishes.idle_minutes}m`;
  const needs = [wishes.needs_bf16 && "bf16", wishes.needs_fp8 && "fp8"].filter(Boolean);
  if (needs.length) request["need"] = needs.join(",");
  return request;
}

/// The server's line with the person's own command behind the dashes, as it was typed.
export function whole_command(line: string, command: string): string {
  const head = line.replace(/\s*--(\s.*)?$/s, "");
  const wanted = command.trim();
  return wanted === "" ? `${head} -- …` : `${head} -- ${wanted}`;
}
