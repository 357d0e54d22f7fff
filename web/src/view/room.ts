// The room at a glance: how many are free, a tile per GPU, who computes where, who waits.

import { el, Parts, roving, section, set_hidden, set_text } from "../dom/element";
import { gib, percent, watts } from "../model/format";
import {
  by_card,
  is_firing,
  room_counts,
  standing_of,
  sum_of,
  type State,
  type Sum,
} from "../model/state";
import type { Overview, Problem } from "../model/wire";
import { t } from "../words/translate";
import { alert_list, problem_item } from "./alerts";
import { count_row } from "./counts";
import { process_table, waiter_table } from "./people";
import { CardTile, type Card } from "./tile";
import type { View, World } from "./view";

export function room_view(world: World): View {
  let oldest = new Map<string, number>();

  const counts = count_row(t("room.counts"), () => draw(world.state()));
  const sums = el("p", { class: "sums" });
  const tiles = el("ul", { class: "tiles", "aria-label": t("room.gpus") });
  roving(tiles, "a.tile", () => columns_of(tiles));
  const parts = new Parts<Card>(
    tiles,
    ({ card }) => card.id,
    () => new CardTile(world, (id) => oldest.get(id) ?? null),
  );
  const nothing = el("p", { class: "nothing" }, t("room.no_gpu"));

  const processes = process_table(world, true);
  const waiters = waiter_table(world);
  const problems = el("ul", { class: "events" });
  const problem_parts = new Parts<Problem>(
    problems,
    ({ source, device, message }) => `${source} ${device} ${message}`,
    () => problem_item(world),
  );
  const problems_panel = section(t("room.problems"), 2, problems);
  const alerts = alert_list(world);
  const alerts_panel = section(t("alerts.title"), 2, alerts.root);

  const root = el(
    "div",
    { class: "room needs-look" },
    el("h1", { class: "unseen" }, t("nav.room")),
    el(
      "div",
      { class: "glance" },
      counts.root,
      sums,
    ),
    alerts_panel,
    problems_panel,
    tiles,
    nothing,
    el(
      "div",
      { class: "columns" },
      section(t("room.processes"), 2, processes.root),
      section(t("room.queue"), 2, waiters.root),
    ),
  );

  function draw(state: State): void {
    const overview = state.overview;
    if (!overview) return;
    counts.update(room_counts(overview.devices));
    set_text(sums, sums_text(overview));
    const cards = overview.devices.filter((device) => device.parent === null).length;
    tiles.classList.toggle("dense", cards > 16);
    tiles.classList.toggle("roomy", cards <= 8);
    oldest = oldest_starts(overview);
    const only = counts.only();
    const shown = overview.devices.filter(
      (device) => only === null || standing_of(device) === only,
    );
    parts.update(by_card(shown));
    if (!tiles.querySelector('[tabindex="0"]'))
      tiles.querySelector("a")?.setAttribute("tabindex", "0");
    set_hidden(nothing, overview.devices.length > 0);
    processes.update(overview.processes);
    waiters.update(overview.queue);
    problem_parts.update(overview.problems);
    set_hidden(problems_panel, overview.problems.length === 0);
    const firing = state.alerts.filter(is_firing);
    alerts.update(firing);
    set_hidden(alerts_panel, firing.length === 0);
  }

  return { title: t("nav.room"), root, update: draw };
}

/// Since when each device has been computed on, by the oldest of its processes.
function oldest_starts(overview: Overview): Map<string, number> {
  const oldest = new Map<string, number>();
  for (const { device, started_unix_ms: started } of overview.processes) {
    if (started !== null) oldest.set(device, Math.min(started, oldest.get(device) ?? started));
  }
  return oldest;
}

function at_least(sum: Sum, text: (value: number) => string): string {
  return sum.parts === 0 ? "–" : `${sum.partial ? "≥ " : ""}${text(sum.value)}`;
}

function sums_text(overview: Overview): string {
  // A card and its instances share one memory: only cards are added up.
  const cards = overview.devices.filter((device) => device.parent === null);
  const load = cards
    .map((card) => card.utilization_gpu_percent)
    .filter((value): value is number => value !== null);
  const mean = load.length ? load.reduce((a, b) => a + b, 0) / load.length : null;
  return t("room.sums", {
    load: percent(mean),
    used: at_least(sum_of(cards.map((card) => card.memory_used_bytes)), (value) => gib(value, 0)),
    total: at_least(sum_of(cards.map((card) => card.memory_total_bytes)), (value) => gib(value, 0)),
    power: at_least(sum_of(cards.map((card) => card.power_draw_milliwatts)), watts),
  });
}

function columns_of(grid: HTMLElement): number {
  return getComputedStyle(grid).gridTemplateColumns.split(" ").length;
}
