// The room at a glance: how many are free, a tile per GPU, who computes where, who waits.

import { el, Parts, roving, section, set_attribute, set_hidden, set_text } from "../dom/element";
import { shape_of } from "../dom/shapes";
import { gib, percent, watts } from "../model/format";
import {
  is_firing,
  problem_text,
  room_counts,
  standing_of,
  standings,
  sum_of,
  type Standing,
  type State,
  type Sum,
} from "../model/state";
import type { Alert, Device, Overview, Problem } from "../model/wire";
import { t } from "../words/translate";
import { alert_item } from "./alerts";
import { process_table, waiter_table } from "./people";
import { Tile } from "./tile";
import type { View, World } from "./view";

export function room_view(world: World): View {
  let only: Standing | null = null;
  let oldest = new Map<string, number>();

  const counts = standings.map(
    (standing) =>
      new Count(standing, () => {
        only = only === standing ? null : standing;
        draw(world.state());
      }),
  );
  const sums = el("p", { class: "sums" });
  const tiles = el("ul", { class: "tiles", "aria-label": t("room.gpus") });
  roving(tiles, "a.tile", () => columns_of(tiles));
  const parts = new Parts<Device>(
    tiles,
    (device) => device.id,
    () => new Tile(world, (id) => oldest.get(id) ?? null),
  );
  const nothing = el("p", { class: "nothing" }, t("room.no_gpu"));

  const processes = process_table(world, true);
  const waiters = waiter_table(world);
  const problems = el("ul", { class: "problems" });
  const problem_parts = new Parts<string>(
    problems,
    (text) => text,
    () => {
      const root = el("li");
      return { root, update: (text) => set_text(root, text) };
    },
  );
  const problems_panel = section(t("room.problems"), 2, problems);
  const alerts = el("ul", { class: "events" });
  const alert_parts = new Parts<Alert>(
    alerts,
    (alert) => `${alert.id} ${alert.rule} ${alert.device}`,
    () => alert_item(world),
  );
  const alerts_panel = section(t("alerts.title"), 2, alerts);

  const root = el(
    "div",
    { class: "room needs-look" },
    el("h1", { class: "unseen" }, t("nav.room")),
    el(
      "div",
      { class: "glance" },
      el(
        "div",
        { class: "counts", role: "group", "aria-label": t("room.counts") },
        ...counts.map((count) => count.root),
      ),
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
    const numbers = room_counts(overview.devices);
    for (const count of counts) count.update(numbers[count.standing], only);
    set_text(sums, sums_text(overview));
    tiles.classList.toggle("dense", overview.devices.length > 16);
    tiles.classList.toggle("roomy", overview.devices.length <= 8);
    oldest = oldest_starts(overview);
    const shown = overview.devices.filter(
      (device) => only === null || standing_of(device) === only,
    );
    parts.update(shown);
    if (!tiles.querySelector('[tabindex="0"]'))
      tiles.querySelector("a")?.setAttribute("tabindex", "0");
    set_hidden(nothing, overview.devices.length > 0);
    processes.update(overview.processes);
    waiters.update(overview.queue);
    problem_parts.update(overview.problems.map(with_remedy));
    set_hidden(problems_panel, overview.problems.length === 0);
    const firing = state.alerts.filter(is_firing);
    alert_parts.update(firing);
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

function with_remedy(problem: Problem): string {
  return problem.remedy ? `${problem_text(problem)}. ${problem.remedy}` : problem_text(problem);
}

class Count {
  readonly root: HTMLButtonElement;
  private readonly number = el("span", { class: "count-number" });

  constructor(
    readonly standing: Standing,
    pick: () => void,
  ) {
    this.root = el(
      "button",
      { type: "button", class: "count", "data-standing": standing, click: pick },
      this.number,
      el("span", { class: "count-word" }, shape_of(standing), t(`standing.${standing}`)),
    );
  }

  update(number: number, only: Standing | null): void {
    set_text(this.number, String(number));
    set_attribute(this.root, "aria-pressed", String(only === this.standing));
    this.root.classList.toggle("zero", number === 0);
    // Rare ones have a place only when there are some.
    const rare = this.standing === "unknown" || this.standing === "divided";
    set_hidden(this.root, rare && number === 0 && only !== this.standing);
  }
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
