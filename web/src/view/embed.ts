// A card for other pages' frames: a GPU or the whole server in numbers. It asks as nobody in
// particular, shows no names, and has nothing to press.

import { el, set_attribute, set_hidden, set_share, set_text } from "../dom/element";
import { change_shape, shape_of } from "../dom/shapes";
import {
  at_least,
  celsius,
  clock_time,
  dash,
  gib,
  memory_of,
  percent,
  short_name,
  watts,
} from "../model/format";
import {
  find_device,
  heat_of,
  label_of,
  memory_used_by,
  standing_of,
  sum_of,
} from "../model/state";
import type { Device, Overview } from "../model/wire";
import { t } from "../words/translate";

const between_questions_ms = 5_000;

/// `up`: from this address to the server's root. `of`: an index or id; null: the whole server.
export function embed(up: string, of: string | null): HTMLElement {
  const title = el("h1");
  const mark = el("span", { class: "badge", "data-health": "degraded" }, t("hosts.simulated"));
  const shape = shape_of("unknown");
  const word = el("span");
  const standing = el("span", { class: "standing" }, shape, word);
  const load = el("span", { class: "tile-load" });
  const bar = el("span", { class: "bar" });
  const line = el("span", { class: "tile-row" });
  const told = el("span", { class: "muted small", role: "status" }, t("waiting"));
  const root = el(
    "main",
    { class: "embed panel" },
    el("div", { class: "heading" }, title, standing, mark),
    load,
    line,
    bar, // of the memory above it
    told,
  );
  set_hidden(mark, true);

  function show(overview: Overview): void {
    set_hidden(mark, overview.simulated === null);
    set_text(told, `${overview.host.name ?? ""}  ${clock_time(overview.taken_unix_ms)}`);
    const device = of === null ? null : device_of(overview, of);
    if (of !== null && !device) {
      set_text(told, t("gpu.gone"));
      return;
    }
    if (device) show_device(device);
    else show_server(overview.devices.filter((one) => one.parent === null));
  }

  function show_device(device: Device): void {
    const now = standing_of(device);
    set_text(title, `GPU ${label_of(device)}  ${short_name(device.name)}`);
    set_standing(now, t(`standing.${now}`));
    set_text(load, percent(device.utilization_gpu_percent));
    set_memory(device.memory_used_bytes, device.memory_total_bytes);
    const heat = celsius(device.temperature_celsius);
    set_text(line, [memory_of(device), watts(device.power_draw_milliwatts), heat].join("  ·  "));
    set_attribute(line, "data-heat", heat_of(device));
  }

  function show_server(cards: Device[]): void {
    const free = cards.filter((card) => standing_of(card) === "free").length;
    set_text(title, t("overview.server"));
    set_standing(
      free > 0 ? "free" : "leased",
      t("hosts.free", { free, all: cards.length }),
    );
    const mean = sum_of(cards.map((card) => card.utilization_gpu_percent));
    set_text(load, mean.parts ? percent(mean.value / mean.parts) : dash);
    const { value: used, partial } = memory_used_by(cards);
    const total = sum_of(cards.map((card) => card.memory_total_bytes)).value;
    set_memory(used, total);
    const power = sum_of(cards.map((card) => card.power_draw_milliwatts));
    const drawn = power.parts ? watts(power.value) : dash;
    const memory = at_least(`${gib(used, 0)} / ${gib(total, 0)} GiB`, partial);
    set_text(line, [memory, drawn].join("  ·  "));
  }

  function set_standing(now: ReturnType<typeof standing_of>, text: string): void {
    set_attribute(standing, "data-standing", now);
    change_shape(shape, now);
    set_text(word, text);
  }
  function set_memory(used: number | null, total: number | null): void {
    set_share(bar, "--share", used !== null && total ? Math.min(1, used / total) : 0);
  }

  async function ask(): Promise<void> {
    try {
      const response = await fetch(`${up}api/v1/overview`, { cache: "no-cache", credentials: "omit" });
      if (!response.ok) throw new Error(String(response.status));
      show((await response.json()) as Overview);
    } catch {
      set_text(told, t("failure.unreachable"));
    }
  }
  void ask();
  setInterval(() => {
    if (!document.hidden) void ask();
  }, between_questions_ms);
  return root;
}

function device_of(overview: Overview, name: string): Device | null {
  const by_index = overview.devices.find(
    (device) => device.parent === null && String(device.index) === name,
  );
  return by_index ?? find_device(overview, name);
}
