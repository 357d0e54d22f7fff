// The server at a glance: how many GPUs are free, a tile per GPU, users and waiters.

import { get } from "../api";
import { el, Parts, roving, section, set_hidden, set_text, type Part } from "../dom/element";
import { gib, percent, watts } from "../model/format";
import { address_of } from "../model/route";
import {
  by_card,
  is_firing,
  memory_used_by,
  state_counts,
  standing_of,
  sum_of,
  type State,
  type Sum,
} from "../model/state";
import type { Overview, Place, Problem, Recent, Topology } from "../model/wire";
import { t } from "../words/translate";
import { alert_list, problem_item } from "./alerts";
import { count_row } from "./counts";
import { process_table, waiter_table } from "./people";
import { ServerChart } from "./server_chart";
import { CardTile, spark_points, type Card } from "./tile";
import type { View, PageContext } from "./view";

export function overview_view(context: PageContext): View {
  let oldest = new Map<string, number>();

  const counts = count_row(t("overview.counts"), () => draw(context.state()));
  const sums = el("p", { class: "sums" });
  const tiles = el("ul", { class: "tiles", "aria-label": t("overview.gpus") });
  roving(tiles, "a.tile", () => columns_of(tiles));
  const parts = new Parts<Card | string>(
    tiles,
    (one) => (typeof one === "string" ? one : one.card.id),
    (one) =>
      typeof one === "string"
        ? group_head(one)
        : (new CardTile(context, (id) => oldest.get(id) ?? null) as Part<Card | string>),
  );
  const stop = new AbortController();
  let topology: Topology | null = null;
  const together = new ServerChart(context);
  const nothing = el("p", { class: "nothing" }, t("overview.no_gpu"));

  const processes = process_table(context, true);
  const waiters = waiter_table(context);
  const problems = el("ul", { class: "events" });
  const problem_parts = new Parts<Problem>(
    problems,
    ({ source, device, message }) => `${source} ${device} ${message}`,
    () => problem_item(context),
  );
  const problems_panel = section(t("overview.problems"), 2, problems);
  const alerts = alert_list(context);
  const alerts_panel = section(t("alerts.title"), 2, alerts.root);

  const root = el(
    "div",
    { class: "overview needs-look" },
    el("h1", { class: "unseen" }, t("nav.overview")),
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
    together.root,
    el(
      "div",
      { class: "columns" },
      section(t("overview.processes"), 2, processes.root),
      section(
        t("overview.queue"),
        2,
        waiters.root,
        el("p", {}, el("a", { href: address_of({ view: "queue" }) }, t("overview.to_queue"))),
      ),
    ),
  );

  /// What the server remembers of before this page was opened; without it all goes on from now.
  async function learn(): Promise<void> {
    const until = Math.round(context.server_now());
    const since = until - spark_points * 1_000;
    const [past, places] = await Promise.all([
      get<Recent>(
        "api/v1/recent",
        { metric: "utilization_gpu_percent", since, until, points: spark_points },
        stop.signal,
      ),
      get<Topology>("api/v1/topology", {}, stop.signal),
    ]);
    if (stop.signal.aborted) return;
    const { series } = context.state();
    if (past.ok)
      for (const { id, values } of past.value.devices)
        series.get(id)?.learn_before(values, past.value.since_unix_ms, past.value.step_ms);
    topology = places.ok ? places.value : null;
    draw(context.state());
  }
  let has_drawn = false;

  /// Work that waits until the first picture is seen, and for nothing else.
  function go_on(): void {
    requestAnimationFrame(() =>
      setTimeout(() => {
        if (stop.signal.aborted) return;
        draw(context.state());
        void learn();
      }, 0),
    );
  }

  function draw(state: State): void {
    const overview = state.overview;
    if (!overview) return;
    const is_first = !has_drawn;
    has_drawn = true;
    if (is_first) go_on();
    counts.update(state_counts(overview.devices));
    set_text(sums, sums_text(overview));
    const cards = overview.devices.filter((device) => device.parent === null).length;
    tiles.classList.toggle("dense", cards > 16);
    tiles.classList.toggle("roomy", cards <= 8);
    oldest = oldest_starts(overview);
    const only = counts.only();
    const shown = overview.devices.filter(
      (device) => only === null || standing_of(device) === only,
    );
    parts.update(in_groups(by_card(shown), topology));
    if (!tiles.querySelector('[tabindex="0"]'))
      tiles.querySelector("a")?.setAttribute("tabindex", "0");
    set_hidden(nothing, overview.devices.length > 0);
    problem_parts.update(overview.problems);
    set_hidden(problems_panel, overview.problems.length === 0);
    const firing = state.alerts.filter(is_firing);
    alerts.update(firing);
    set_hidden(alerts_panel, firing.length === 0);
    // Below the tiles: half of what a first picture with 64 of them would cost.
    if (is_first) return;
    together.update(state);
    processes.update(overview.processes);
    waiters.update(overview.queue);
  }

  return {
    title: t("nav.overview"),
    root,
    update: draw,
    recolour: () => together.recolour(),
    close: () => {
      stop.abort();
      together.close();
    },
  };
}

function group_head(title: string): Part<Card | string> {
  const root = el("li", { class: "group-head" }, title);
  return { root, update: () => undefined };
}

/// Under a heading for each group that NVLinks join, else for each NUMA node; of one group none.
function in_groups(cards: Card[], topology: Topology | null): (Card | string)[] {
  const places = new Map(topology?.devices.map((place) => [place.id, place]));
  const by = (of: (place: Place) => string | null): Map<string, Card[]> => {
    const groups = new Map<string, Card[]>();
    for (const card of cards) {
      const place = places.get(card.card.id);
      const name = (place && of(place)) ?? t("overview.group_none");
      groups.set(name, [...(groups.get(name) ?? []), card]);
    }
    return groups;
  };
  const linked = [...new Set(topology?.devices.map((place) => place.nvlink_group))];
  const number = (group: number | null): string | null =>
    group === null ? null : t("overview.group_nvlink", { n: 1 + linked.indexOf(group) });
  let groups = by((place) => number(place.nvlink_group));
  if (groups.size < 2)
    groups = by(({ numa_node: node }) => (node === null ? null : t("overview.group_numa", { n: node })));
  // If each group has one card there is nothing to group.
  if (groups.size < 2 || groups.size === cards.length) return cards;
  return [...groups].flatMap(([name, own]) => [name, ...own]);
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
  return t("overview.sums", {
    load: percent(mean),
    used: at_least(memory_used_by(cards), (value) => gib(value, 0)),
    total: at_least(sum_of(cards.map((card) => card.memory_total_bytes)), (value) => gib(value, 0)),
    power: at_least(sum_of(cards.map((card) => card.power_draw_milliwatts)), watts),
  });
}

function columns_of(grid: HTMLElement): number {
  return getComputedStyle(grid).gridTemplateColumns.split(" ").length;
}
