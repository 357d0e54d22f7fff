// Each user's use: GPU-hours, how many of them idle, energy and waits, as bars and numbers.

import { get } from "../api";
import { el, section, set_hidden, set_share, set_text } from "../dom/element";
import { Table, type TableColumn } from "../dom/table";
import { at_least, energy, hours, money, moment } from "../model/format";
import { address_of } from "../model/route";
import { find_device, label_of } from "../model/state";
import { row_key } from "../model/usage";
import type { Usage, UsageRow } from "../model/wire";
import { t } from "../words/translate";
import { choice, day, failure, waiting, type View, type PageContext } from "./view";

const spans = { d1: day, d7: 7 * day, d30: 30 * day, d90: 90 * day } as const;
type Length = keyof typeof spans;
type By = "user" | "job" | "gpu" | "day";

const is_bound = (row: UsageRow): boolean => row.energy_at_least;
const energy_text = (row: UsageRow): string => at_least(energy(row.energy_joules), is_bound(row));

export function usage_view(context: PageContext): View {
  let by: By = "user";
  let length: Length = "d7";
  let stop = new AbortController();
  let most = 1;
  let usage: Usage | null = null;

  const by_pick = choice<By>(
    t("usage.by"),
    (["user", "job", "gpu", "day"] as const).map((key) => [key, t(`usage.by_${key}`)] as const),
    by,
    (value) => {
      by = value;
      void ask();
    },
  );
  const span_pick = choice<Length>(
    t("usage.span"),
    (Object.keys(spans) as Length[]).map((key) => [key, t(`range.${key}`)] as const),
    length,
    (value) => {
      length = value;
      void ask();
    },
  );
  const note = el("p", { class: "muted small" });
  const unwatched = el("p", { class: "muted small" });
  const place = el("div", {}, waiting());

  function key_text(row: UsageRow): string {
    const name = row.key || t(by === "job" ? "people.no_lease" : "usage.unseen");
    if (by !== "gpu") return [name, row.user].filter(Boolean).join(" · ");
    const device = find_device(context.state().overview, row.key);
    return device ? `GPU ${label_of(device)}` : row.key;
  }

  const columns: TableColumn<UsageRow>[] = [
    {
      title: t("usage.who"),
      cell: (cell) => {
        const text = el("span");
        const link = el("a");
        return (row) => {
          // A job is known by its run; one outside of berth by its lease, which has no page.
          const linked = by === "gpu" || (by === "job" && /^\d{8}-\d{6}-/.test(row.key));
          const shown = linked ? link : text;
          if (cell.firstChild !== shown) cell.replaceChildren(shown);
          set_text(shown, key_text(row));
          if (linked)
            link.setAttribute(
              "href",
              address_of(
                by === "gpu" ? { view: "gpu", id: row.key } : { view: "run", id: row.key },
              ),
            );
        };
      },
    },
    {
      title: t("usage.share"),
      cell: (cell) => {
        const bar = el(
          "span",
          { class: "usage-bar", "aria-hidden": "true" },
          el("i", { class: "busy" }),
          el("i", { class: "rest" }),
          el("i", { class: "idle" }),
        );
        cell.append(bar);
        cell.className = "usage-cell";
        return (row) => {
          const all = row.gpu_hours;
          const busy = Math.min(all, row.busy_gpu_hours);
          const idle = Math.min(all - busy, row.idle_held_hours);
          set_share(bar, "--busy", busy / most);
          set_share(bar, "--rest", Math.max(0, all - busy - idle) / most);
          set_share(bar, "--idle", idle / most);
        };
      },
    },
    { title: t("usage.gpu_hours"), kind: "number", text: (row) => hours(row.gpu_hours) },
    { title: t("usage.busy"), kind: "number", text: (row) => hours(row.busy_gpu_hours) },
    { title: t("usage.idle"), kind: "number", text: (row) => hours(row.idle_held_hours) },
    { title: t("usage.energy"), kind: "number", text: energy_text },
    {
      title: t("usage.cost"),
      kind: "number",
      minor: true,
      text: (row) => at_least(money(row.cost, usage?.currency ?? null), is_bound(row)),
    },
    {
      title: t("usage.runs"),
      kind: "number",
      minor: true,
      text: (row) => (row.runs === null ? "–" : String(row.runs)),
    },
    {
      title: t("usage.waited"),
      kind: "number",
      minor: true,
      text: (row) => hours(row.waited_hours),
    },
  ];
  const table = new Table<UsageRow>(t("nav.usage"), t("usage.nothing"), columns, row_key);
  const legend = el(
    "p",
    { class: "legend", "aria-hidden": "true" },
    el("span", {}, el("i", { "data-use": "busy" }), t("usage.busy")),
    el("span", {}, el("i", { "data-use": "rest" }), t("usage.rest")),
    el("span", {}, el("i", { "data-use": "idle" }), t("usage.idle")),
  );
  set_hidden(table.root, true);

  async function ask(): Promise<void> {
    stop.abort();
    const own = (stop = new AbortController());
    const until = Math.round(context.server_now());
    const answer = await get<Usage>(
      "api/v1/usage",
      { by, since: until - spans[length], until },
      own.signal,
    );
    if (own.signal.aborted) return;
    set_hidden(table.root, !answer.ok);
    set_hidden(unwatched, !answer.ok);
    if (!answer.ok) {
      place.replaceChildren(failure(answer));
      return;
    }
    place.replaceChildren();
    usage = answer.value;
    most = Math.max(1e-9, ...usage.rows.map((row) => row.gpu_hours));
    const known = usage.knows_since_unix_ms;
    set_text(
      note,
      known !== null && known > usage.since_unix_ms
        ? t("usage.knows_since", { when: moment(known) })
        : "",
    );
    // As berth usage has it: less would read as 0.0.
    const dark = usage.unwatched_hours;
    set_text(unwatched, dark >= 0.05 ? t("usage.unwatched", { hours: hours(dark) }) : "");
    const rows = [...usage.rows];
    if (by !== "day") rows.sort((a, b) => b.gpu_hours - a.gpu_hours);
    table.update(rows);
  }

  const root = el(
    "div",
    {},
    el("h1", {}, t("nav.usage")),
    section(
      t("usage.title"),
      2,
      el("div", { class: "bar-of-tools" }, by_pick.root, span_pick.root, legend),
      note,
      place,
      table.root,
      unwatched,
    ),
  );
  void ask();
  return { title: t("nav.usage"), root, close: () => stop.abort() };
}
