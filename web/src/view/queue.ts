// The queue: who is next, what each waiter wants, and what is in the way. It also shows what is
// kept together for which waiter, and when it is to start.

import { get } from "../api";
import { el, section, set_attribute, set_hidden, set_text } from "../dom/element";
import { Table } from "../dom/table";
import { dash, duration, moment } from "../model/format";
import { address_of } from "../model/route";
import type { Planned, Waiter } from "../model/wire";
import { t } from "../words/translate";
import { labels_of } from "./people";
import { failure, waiting, type View, type PageContext } from "./view";

interface Queue {
  queue: Waiter[];
}
const between_questions_ms = 5_000;

export function queue_view(context: PageContext): View {
  const stop = new AbortController();
  let queue: Waiter[] = [];
  let asked_ms = -Infinity;
  /// The waiters of the queue at the last answer.
  let known = "";

  const starts = (waiter: Waiter): string => {
    if (!waiter.why_not_yet) return t("queue.now");
    const at = waiter.expected_start_unix_ms ?? null;
    return at === null ? dash : t("queue.in", { time: duration(at - context.server_now()) });
  };
  const gathered = (waiter: Waiter): string => {
    const gpus = labels_of(
      waiter.gathered.map((device) => ({ device })),
      context,
    );
    const until = waiter.gathers_until_unix_ms;
    if (!gpus) return labels_of(waiter.reserved, context) || dash;
    return until === null ? `GPU ${gpus}` : t("queue.until", { gpus, when: moment(until) });
  };
  const table = new Table<Waiter>(
    t("nav.queue"),
    t("people.nobody_waits"),
    [
      {
        title: t("queue.place"),
        kind: "number",
        text: (waiter) => String(1 + queue.indexOf(waiter)),
      },
      { title: t("column.user"), text: (waiter) => waiter.user ?? dash },
      {
        title: t("queue.priority"),
        minor: true,
        text: (waiter) => t(`priority.${waiter.priority}`),
      },
      { title: t("column.wants"), kind: "code", text: (waiter) => waiter.wants || dash },
      {
        title: t("column.waits"),
        kind: "number",
        text: (waiter) => duration(context.server_now() - waiter.since_unix_ms),
      },
      { title: t("queue.starts"), text: starts, hint: (waiter) => when_of(waiter) },
      { title: t("queue.why"), text: (waiter) => waiter.why_not_yet || dash },
      { title: t("queue.gathers"), text: gathered },
      {
        title: t("column.run"),
        minor: true,
        cell: (cell) => {
          const link = el("a");
          cell.append(link);
          return (waiter) => {
            set_text(link, waiter.run);
            const address = waiter.run ? address_of({ view: "run", id: waiter.run }) : null;
            set_attribute(link, "href", address);
          };
        },
      },
    ],
    (waiter) => waiter.id,
  );
  const note = el("p", { class: "muted" }, t("queue.unknown"));
  const planned = el("ul", { class: "planned" });
  let planned_shown = "";
  const place = el("div", {}, waiting());
  set_hidden(note, true);
  set_hidden(table.root, true);

  async function ask(): Promise<void> {
    asked_ms = performance.now();
    const answer = await get<Queue>("api/v1/queue", { limit: 500 }, stop.signal);
    if (stop.signal.aborted) return;
    place.replaceChildren(...(answer.ok ? [] : [failure(answer)]));
    if (!answer.ok) return;
    queue = answer.value.queue;
    set_hidden(table.root, false);
    draw();
  }

  function draw(): void {
    table.update(queue);
    const is_unknown = (one: Waiter): boolean =>
      Boolean(one.why_not_yet) && (one.expected_start_unix_ms ?? null) === null;
    set_hidden(note, !queue.some(is_unknown));
  }

  void ask();
  return {
    title: t("nav.queue"),
    root: el(
      "div",
      { class: "needs-look" },
      el("h1", {}, t("nav.queue")),
      section(t("queue.title"), 2, place, table.root, note, planned),
    ),
    update: ({ overview }) => {
      const now = JSON.stringify(overview?.queue.map((one) => one.id));
      // Each job that comes or goes changes it for all the others.
      if (now !== known || performance.now() - asked_ms > between_questions_ms) void ask();
      else draw();
      known = now;
      const lines = (overview?.planned ?? []).map(planned_line);
      // What is unchanged stays, with what somebody has marked in it.
      if (lines.join("\n") === planned_shown) return;
      planned_shown = lines.join("\n");
      planned.replaceChildren(...lines.map((line) => el("li", {}, line)));
    },
    close: () => stop.abort(),
  };
}

function planned_line(one: Planned): string {
  const line = t("queue.planned", {
    user: one.user ?? dash,
    from: moment(one.starts_unix_ms),
    until: moment(one.ends_unix_ms),
    wants: one.wants || "-n 1",
  });
  return one.failed ? `${line} ${t("queue.planned_failed", { why: one.failed })}` : line;
}

function when_of(waiter: Waiter): string | null {
  const at = waiter.expected_start_unix_ms ?? null;
  return at === null ? null : moment(at);
}
