// Leases and runs per GPU over time. The wheel zooms once the picture has the focus, or with Ctrl. Dragging moves it,
// and so do the keys. A table says the same in words.

import { get } from "../api";
import { el, roving, section, set_attribute, set_text } from "../dom/element";
import { Table } from "../dom/table";
import { clock_time, dash, day as date_of, duration, moment } from "../model/format";
import { address_of } from "../model/route";
import { moved, place_in, stacked, time_ticks, zoomed, type Window } from "../model/scale";
import { label_of } from "../model/state";
import type { Span, Timeline } from "../model/wire";
import { t } from "../words/translate";
import { choice, day, failure, hour, left_out_text, waiting, type View, type PageContext } from "./view";

const lengths = { h1: hour, h6: 6 * hour, d1: day, d7: 7 * day, d30: 30 * day } as const;
type Length = keyof typeof lengths;
const row_height = 22;
const most_rows = 200;

export function timeline_view(context: PageContext): View {
  let length: Length = "d1";
  let window: Window = around_now(lengths.d1);
  let timeline: Timeline | null = null;
  let loaded: Window | null = null;
  let stop = new AbortController();
  let later: ReturnType<typeof setTimeout> | undefined;

  function around_now(ms: number): Window {
    const now = context.server_now();
    return { from: now - ms, to: now + 0.02 * ms };
  }

  const pick = choice(
    t("timeline.range"),
    (Object.keys(lengths) as Length[]).map((key) => [key, t(`range.${key}`)] as const),
    length,
    (value) => {
      length = value;
      show(around_now(lengths[value]));
    },
  );
  const tool = (text: string, label: string, act: () => void): HTMLButtonElement =>
    el("button", { type: "button", "aria-label": label, title: label, click: act }, text);
  const middle = (): number => (window.from + window.to) / 2;
  const tools = el(
    "div",
    { class: "choice", role: "group", "aria-label": t("timeline.move") },
    tool("◀", t("timeline.earlier"), () => show(moved(window, -(window.to - window.from) / 3))),
    tool("▶", t("timeline.later"), () => show(moved(window, (window.to - window.from) / 3))),
    tool("+", t("timeline.closer"), () => show(zoomed(window, middle(), 0.5))),
    tool("−", t("timeline.farther"), () => show(zoomed(window, middle(), 2))),
    tool(t("timeline.now"), t("timeline.to_now"), () => show(around_now(window.to - window.from))),
  );
  const reading = el("span", { class: "muted small" });
  const axis = el("div", { class: "gantt-axis", "aria-hidden": "true" });
  const rows = el("div", { class: "gantt-rows" });
  const gantt = el(
    "div",
    { class: "gantt", tabindex: 0, role: "group", "aria-label": t("timeline.describe") },
    axis,
    rows,
  );
  const notice = el("div", {}, waiting());
  const table = new Table<Span>(
    t("timeline.table"),
    t("timeline.nothing"),
    [
      { title: "GPU", text: (span) => gpu_label(span.device) },
      { title: t("timeline.kind"), text: (span) => t(`timeline.${span.kind}`) },
      { title: t("column.user"), text: (span) => span.user ?? dash },
      {
        title: t("timeline.what"),
        kind: "code",
        minor: true,
        text: (span) => span.title ?? span.id ?? dash,
      },
      { title: t("timeline.from"), kind: "number", text: (span) => moment(span.from_unix_ms) },
      {
        title: t("timeline.to"),
        kind: "number",
        text: (span) =>
          span.to_unix_ms === null ? t("timeline.goes_on") : moment(span.to_unix_ms),
      },
    ],
    key_of,
  );
  const left_out = el("p", { class: "muted small" });
  const not_in_table = el("p", { class: "muted small" });
  const details = el(
    "details",
    { class: "as-table", toggle: () => fill_table() },
    el("summary", {}, t("chart.table")),
    table.root,
    not_in_table,
  );
  const legend = el(
    "p",
    { class: "legend", "aria-hidden": "true" },
    ...(["lease", "run", "user", "health"] as const).map((kind) =>
      el("span", {}, el("i", { "data-kind": kind }), t(`timeline.${kind}`)),
    ),
  );

  function gpu_label(id: string): string {
    const known = timeline?.devices.find((device) => device.id === id);
    return known ? label_of({ id, index: known.index }) : id.slice(0, 8);
  }

  function show(next: Window): void {
    window = next;
    draw();
    // Asked again once the hand has come to rest; until then what is loaded is moved.
    clearTimeout(later);
    later = setTimeout(() => void ask(), 250);
  }

  async function ask(): Promise<void> {
    stop.abort();
    const own = (stop = new AbortController());
    const margin = 0.5 * (window.to - window.from);
    const wanted = { from: window.from - margin, to: window.to + margin };
    const answer = await get<Timeline>(
      "api/v1/timeline",
      { since: Math.round(wanted.from), until: Math.round(wanted.to) },
      own.signal,
    );
    if (own.signal.aborted) return;
    if (answer.ok) {
      timeline = answer.value;
      loaded = wanted;
      notice.replaceChildren();
      set_text(left_out, left_out_text(timeline.left_out));
    } else {
      notice.replaceChildren(failure(answer));
    }
    draw();
  }

  function visible_spans(): Span[] {
    const now = context.server_now();
    return (timeline?.spans ?? []).filter(
      (span) => span.from_unix_ms < window.to && (span.to_unix_ms ?? now) > window.from,
    );
  }

  function fill_table(): void {
    if (!details.open) return;
    const spans = visible_spans().sort((a, b) => b.from_unix_ms - a.from_unix_ms);
    table.update(spans.slice(0, most_rows));
    set_text(not_in_table, left_out_text(spans.length - most_rows));
  }

  function bar_of(span: Span, row: number, now: number): HTMLElement {
    const end = span.to_unix_ms ?? now;
    const left = Math.max(0, place_in(window, span.from_unix_ms));
    const right = Math.min(1.01, place_in(window, end));
    const who = [span.user, span.title].filter(Boolean).join("  ");
    const label = `${t(`timeline.${span.kind}`)}, GPU ${gpu_label(span.device)}, ${who}, ${moment(span.from_unix_ms)}, ${duration(end - span.from_unix_ms)}`;
    const href =
      span.kind === "run" && span.id !== null
        ? address_of({ view: "run", id: span.id })
        : address_of({ view: "gpu", id: span.device });
    const bar = el(
      "a",
      {
        class: "span",
        href,
        tabindex: -1,
        "data-kind": span.kind,
        title: label,
        "aria-label": label,
        "data-key": key_of(span),
        "data-open": span.to_unix_ms === null,
        "data-cut": span.from_unix_ms < window.from,
      },
      el("span", {}, who),
    );
    bar.style.setProperty("left", `${(100 * left).toFixed(3)}%`);
    bar.style.setProperty("width", `max(2px, ${(100 * (right - left)).toFixed(3)}%)`);
    bar.style.setProperty("top", `${row * row_height + 2}px`);
    return bar;
  }

  function draw(): void {
    const now = context.server_now();
    const ticks = time_ticks(window, Math.max(3, Math.floor(gantt.clientWidth / 90)));
    axis.replaceChildren(
      ...ticks.map((tick) => {
        const mark = el("span", { class: tick.is_day ? "day" : null }, tick.text);
        mark.style.setProperty("left", `${100 * place_in(window, tick.at)}%`);
        return mark;
      }),
    );
    set_text(
      reading,
      `${date_of(window.from)} ${clock_time(window.from, false)} – ${date_of(window.to)} ${clock_time(window.to, false)}`,
    );
    // Drawn anew, but what has the focus keeps it: a bar, or the name of a GPU.
    const at = document.activeElement;
    const had = at && rows.contains(at) ? focus_key(at) : null;
    const spans = visible_spans();
    rows.replaceChildren(
      ...(timeline?.devices ?? []).map((device) => {
        const placed = stacked(
          spans.filter((span) => span.device === device.id),
          now,
        );
        const deep = Math.max(1, ...placed.map(({ row }) => row + 1));
        const lane = el(
          "div",
          { class: "lane" },
          ...placed.map(({ span, row }) => bar_of(span, row, now)),
        );
        lane.style.setProperty("height", `${deep * row_height + 4}px`);
        const at_now = place_in(window, now);
        if (at_now > 0 && at_now < 1) {
          const line = el("i", { class: "now" });
          line.style.setProperty("left", `${100 * at_now}%`);
          lane.append(line);
        }
        return el(
          "div",
          { class: "gantt-row" },
          el(
            "a",
            { class: "gantt-name", href: address_of({ view: "gpu", id: device.id }) },
            `GPU ${label_of(device)}`,
          ),
          lane,
        );
      }),
    );
    const first = rows.querySelector<HTMLElement>(".span");
    if (first) first.tabIndex = 0;
    if (had !== null)
      [...rows.querySelectorAll<HTMLElement>("a")]
        .find((link) => focus_key(link) === had)
        ?.focus({ preventScroll: true });
    set_attribute(gantt, "data-loaded", loaded ? "yes" : "no");
    fill_table();
  }

  function time_under(x: number): number {
    const lane = rows.querySelector(".lane")?.getBoundingClientRect();
    if (!lane || lane.width === 0) return middle();
    return window.from + ((x - lane.left) / lane.width) * (window.to - window.from);
  }

  gantt.addEventListener(
    "wheel",
    (event) => {
      const wanted = event.ctrlKey || event.metaKey || gantt.contains(document.activeElement);
      if (!wanted) return;
      event.preventDefault();
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (sideways)
        show(moved(window, (event.deltaX / gantt.clientWidth) * (window.to - window.from)));
      else show(zoomed(window, time_under(event.clientX), event.deltaY > 0 ? 1.25 : 0.8));
    },
    { passive: false },
  );

  let drag: { x: number; window: Window; moved: boolean } | null = null;
  rows.addEventListener("pointerdown", (event) => {
    if (event.button === 0) drag = { x: event.clientX, window, moved: false };
  });
  rows.addEventListener("dragstart", (event) => event.preventDefault());
  rows.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const lane = rows.querySelector(".lane")?.clientWidth ?? 1;
    const by = event.clientX - drag.x;
    if (!drag.moved && Math.abs(by) < 4) return;
    if (!drag.moved) rows.setPointerCapture(event.pointerId);
    drag.moved = true;
    show(moved(drag.window, -(by / lane) * (drag.window.to - drag.window.from)));
  });
  const let_go = (): void => {
    if (drag?.moved) {
      // The click that ends a drag, if one comes, follows no link.
      const swallow = (event: Event): void => event.preventDefault();
      rows.addEventListener("click", swallow, { capture: true });
      setTimeout(() => rows.removeEventListener("click", swallow, { capture: true }), 0);
    }
    drag = null;
  };
  rows.addEventListener("pointerup", let_go);
  rows.addEventListener("pointercancel", let_go);

  gantt.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const width = window.to - window.from;
    const on_bar = event.target !== gantt;
    const acts: Record<string, () => void> = {
      "+": () => show(zoomed(window, middle(), 0.7)),
      "=": () => show(zoomed(window, middle(), 0.7)),
      "-": () => show(zoomed(window, middle(), 1.4)),
    };
    if (!on_bar) {
      acts["ArrowLeft"] = () => show(moved(window, -width / 8));
      acts["ArrowRight"] = () => show(moved(window, width / 8));
      acts["Home"] = () => show(around_now(width));
    }
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  roving(rows, "a.span", () => 1);

  const root = el(
    "div",
    {},
    el("h1", {}, t("nav.timeline")),
    section(
      t("timeline.title"),
      2,
      el("div", { class: "bar-of-tools" }, pick.root, tools, reading, legend),
      notice,
      gantt,
      left_out,
      el("p", { class: "muted small" }, t("timeline.hint")),
      details,
    ),
  );
  void ask();
  let drawn_ms = 0;
  return {
    title: t("nav.timeline"),
    root,
    update: () => {
      // Open spans grow; once in 10 s is enough to see it, and nothing moves under a hand.
      if (drag || performance.now() - drawn_ms < 10_000) return;
      drawn_ms = performance.now();
      if (timeline) show(window);
    },
    close: () => {
      stop.abort();
      clearTimeout(later);
    },
  };
}

/// What a link of the picture is of; its words hold how long it has lasted, which changes.
function focus_key(link: Element): string {
  return link.getAttribute("data-key") ?? link.getAttribute("href") ?? "";
}

function key_of(span: Span): string {
  return `${span.kind} ${span.id} ${span.device} ${span.from_unix_ms}`;
}
