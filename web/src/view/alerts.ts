// Alerts, health events, XIDs and problems as items of a list: when, on which GPU, what, what to do.

import { el, Parts, set_attribute, set_hidden, set_text, type Part } from "../dom/element";
import { dash, moment } from "../model/format";
import { address_of } from "../model/route";
import { find_device, is_firing, is_mended, label_of, sorted_alerts } from "../model/state";
import type { HealthEvent } from "../model/events";
import type { Alert, HealthState, Problem } from "../model/wire";
import { advice_text, alert_text, finding_title } from "../words/findings";
import { t } from "../words/translate";
import type { PageContext } from "./view";

interface Said {
  state: string;
  /// Stands before the text in a frame; null: nothing.
  badge: string | null;
  time: number | null;
  device: string | null;
  text: string;
  advice: string;
}

function item(context: PageContext): { root: HTMLElement; set(said: Said): void } {
  const time = el("time", { class: "muted" });
  const badge = el("span", { class: "badge" });
  const device = el("a", {});
  const text = el("span", { class: "event-text" });
  const advice = el("span", { class: "advice" });
  const root = el("li", { class: "event" }, time, badge, device, text, advice);
  return {
    root,
    set: (said) => {
      set_attribute(root, "data-health", said.state);
      set_text(time, said.time === null ? "" : moment(said.time));
      set_hidden(time, said.time === null);
      set_text(badge, said.badge ?? "");
      set_hidden(badge, said.badge === null);
      const known = said.device && find_device(context.state().overview, said.device);
      set_text(device, known ? `GPU ${label_of(known)}` : (said.device ?? ""));
      set_attribute(device, "href", said.device && address_of({ view: "gpu", id: said.device }));
      set_hidden(device, said.device === null);
      set_text(text, said.text);
      set_text(advice, said.advice);
    },
  };
}

const state_of: Record<Alert["severity"], HealthState> = {
  notice: "notice",
  warning: "degraded",
  critical: "failed",
};

/// All of a list of alerts; `update` takes them in any order.
export function alert_list(context: PageContext): { root: HTMLElement; update(alerts: Alert[]): void } {
  const root = el("ul", { class: "events" });
  const parts = new Parts<Alert>(
    root,
    (alert) => alert.id,
    () => alert_item(context),
  );
  return { root, update: (alerts) => parts.update(sorted_alerts(alerts)) };
}

function alert_item(context: PageContext): Part<Alert> {
  const own = item(context);
  return {
    root: own.root,
    update: (alert) => {
      const firing = is_firing(alert);
      const simulated = alert.simulated ? `${t("alerts.simulated")}: ` : "";
      own.set({
        state: firing ? state_of[alert.severity] : is_mended(alert) ? "ok" : "notice",
        badge: firing ? t(`severity.${alert.severity}`) : t(`alerts.${alert.ending ?? "resolved"}`),
        time: alert.since_unix_ms,
        device: alert.device,
        text: simulated + alert_text(alert),
        advice: firing ? advice_text(alert.advice) : "",
      });
    },
  };
}

export function event_item(context: PageContext): Part<HealthEvent> {
  const own = item(context);
  return {
    root: own.root,
    update: (event) => {
      const is_xid = event.kind === "xid";
      const { code } = event;
      const told = "text" in event ? event.text : event.evidence;
      const title = is_xid ? `XID ${code}` : finding_title(code);
      own.set({
        state: event.state ?? (is_xid ? "degraded" : "notice"),
        badge: null,
        time: event.at_unix_ms,
        // The log has errors of cards that are not known.
        device: event.device || null,
        text: [title, told].filter(Boolean).join(": ") || code || dash,
        advice: advice_text(event.advice ?? ""),
      });
    },
  };
}

/// What the server could not find out, and what would let it.
export function problem_item(context: PageContext): Part<Problem> {
  const own = item(context);
  return {
    root: own.root,
    update: (problem) =>
      own.set({
        state: "degraded",
        badge: problem.source,
        time: null,
        device: problem.device,
        text: problem.message,
        advice: problem.remedy,
      }),
  };
}
