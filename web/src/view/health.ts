// How well the cards are: what the rules find now with what to do, alerts, and what happened.

import { get, type Answer } from "../api";
import { el, Parts, section, set_hidden, set_text } from "../dom/element";
import { event_key, events_of, type HealthEvent } from "../model/events";
import { find_device, is_firing, label_of, type State } from "../model/state";
import type { Alert, Alerts, DeviceHealth, EventsLog, Finding, Health } from "../model/wire";
import { address_of } from "../model/route";
import { advice_text, finding_title } from "../words/findings";
import { t } from "../words/translate";
import { alert_list, event_item } from "./alerts";
import { day, failure, left_out_text, waiting, type View, type PageContext } from "./view";

const most_events = 200;

export function health_view(context: PageContext): View {
  let asked_ms = -Infinity;
  const stop = new AbortController();
  const now_place = el("div", {}, waiting());
  const alerts = alert_list(context);
  const alert_place = el("div", {}, waiting());
  const no_alert = el("p", { class: "nothing" }, t("alerts.none"));
  const log_place = el("div", {}, waiting());
  const log = el("ul", { class: "events" });
  const log_parts = new Parts<HealthEvent>(log, event_key, () => event_item(context));
  const no_event = el("p", { class: "nothing" }, t("health.no_event"));
  const left_out = el("p", { class: "muted small" });
  let earlier: Pick<EventsLog, "left_out" | "events"> = { left_out: 0, events: [] };
  let over: Alert[] = []; // what fired lately, from before this page was opened
  let found: DeviceHealth[] = []; // by the rules, at the last asking
  let shown_health = "";

  function card_of(device: DeviceHealth): HTMLElement {
    const known = find_device(context.state().overview, device.id);
    const name = `GPU ${known ? label_of(known) : (device.index ?? device.id)}`;
    return el(
      "article",
      { class: "health-card" },
      el(
        "h3",
        {},
        el("a", { href: address_of({ view: "gpu", id: device.id }) }, name),
        el("span", { class: "badge", "data-health": device.state }, t(`health.${device.state}`)),
      ),
      findings_list(device),
    );
  }

  async function ask(): Promise<void> {
    asked_ms = performance.now();
    const [health, events, lately] = await Promise.all([
      get<Health>("api/v1/health", {}, stop.signal),
      get<EventsLog>(
        "api/v1/events-log",
        { since: Math.round(context.server_now() - 30 * day) },
        stop.signal,
      ),
      get<Alerts>("api/v1/alerts", {}, stop.signal),
    ]);
    if (stop.signal.aborted) return;
    show_health(health);
    found = health.ok ? health.value.devices : [];
    earlier = events.ok ? events.value : { left_out: 0, events: [] };
    log_place.replaceChildren(...(events.ok ? [] : [failure(events)]));
    over = lately.ok ? lately.value.alerts.filter((alert) => !is_firing(alert)) : [];
    alert_place.replaceChildren(...(lately.ok ? [] : [failure(lately)]));
    update(context.state());
  }

  function show_health(health: Answer<Health>): void {
    // Unchanged lines stay: a link in one may have the focus.
    const told = JSON.stringify(health);
    if (told === shown_health) return;
    shown_health = told;
    if (!health.ok) {
      now_place.replaceChildren(failure(health));
      return;
    }
    const { devices, problems } = health.value;
    const order = ["failed", "degraded", "unknown", "notice", "ok"];
    const unwell = devices
      .filter((device) => device.state !== "ok")
      .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
    now_place.replaceChildren(
      ...problems.map((problem) => el("p", { class: "failure" }, problem)),
      el(
        "p",
        { class: "muted" },
        t("health.summary", { well: devices.length - unwell.length, all: devices.length }),
      ),
      el("div", { class: "health-cards" }, ...unwell.map(card_of)),
    );
  }

  function update(state: State): void {
    if (!state.overview) return;
    const newest_first = events_of(earlier.events, state.events, found);
    log_parts.update(newest_first.slice(0, most_events));
    const more = Math.max(0, newest_first.length - most_events);
    set_text(left_out, left_out_text(earlier.left_out + more));
    set_hidden(no_event, newest_first.length > 0 || log_place.childElementCount > 0);
    const known = new Set(state.alerts.map((alert) => alert.id));
    const all = [...state.alerts, ...over.filter((alert) => !known.has(alert.id))];
    alerts.update(all);
    set_hidden(no_alert, all.length > 0 || alert_place.childElementCount > 0);
    if (performance.now() - asked_ms > 30_000) void ask();
  }

  const root = el(
    "div",
    {},
    el("h1", {}, t("nav.health")),
    section(t("health.now"), 2, now_place),
    section(t("alerts.title"), 2, alert_place, no_alert, alerts.root),
    section(t("health.events"), 2, log_place, no_event, log, left_out),
  );
  return { title: t("nav.health"), root, update, close: () => stop.abort() };
}

function finding_item(finding: Finding): HTMLElement {
  const title = finding_title(finding.code);
  return el(
    "li",
    { class: "event", "data-health": finding.state },
    el("span", { class: "badge", "data-health": finding.state }, t(`health.${finding.state}`)),
    title === null ? null : el("strong", {}, title),
    el("span", { class: "event-text", lang: "en" }, finding.evidence),
    el("span", { class: "advice" }, advice_text(finding.advice)),
  );
}

/// What is not well with one device: evidence, and what to do.
export function findings_list(device: DeviceHealth): HTMLElement {
  if (device.findings.length === 0 && device.not_examined.length === 0) {
    return el("p", { class: "nothing" }, t("health.all_well"));
  }
  const unread = device.not_examined.length
    ? el(
        "p",
        { class: "muted small" },
        t("health.unread", { list: device.not_examined.join("; ") }),
      )
    : null;
  const found = device.findings.length
    ? el("ul", { class: "events" }, ...device.findings.map(finding_item))
    : null;
  return el("div", {}, found, unread);
}
