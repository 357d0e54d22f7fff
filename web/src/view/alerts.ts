// An alert, and a health event or XID, as items of a list.

import { el, set_attribute, set_text, type Part } from "../dom/element";
import { dash, moment } from "../model/format";
import { address_of } from "../model/route";
import { find_device, is_firing, label_of } from "../model/state";
import type { Alert, HealthEvent } from "../model/wire";
import { t } from "../words/translate";
import type { World } from "./view";

function gpu_words(world: World, id: string | null | undefined): string {
  if (!id) return "";
  const device = find_device(world.state().overview, id);
  return device ? `GPU ${label_of(device)}` : id;
}

function item(): {
  root: HTMLElement;
  set(parts: {
    state: string;
    time: number | null;
    device: string;
    href: string | null;
    text: string;
    advice: string;
  }): void;
} {
  const time = el("time", { class: "muted" });
  const device = el("a", {});
  const text = el("span", { class: "event-text" });
  const advice = el("span", { class: "advice" });
  const root = el("li", { class: "event" }, time, device, text, advice);
  return {
    root,
    set: (parts) => {
      set_attribute(root, "data-health", parts.state);
      set_text(time, parts.time === null ? dash : moment(parts.time));
      set_text(device, parts.device);
      set_attribute(device, "href", parts.href);
      set_text(text, parts.text);
      set_text(advice, parts.advice);
    },
  };
}

export function alert_item(world: World): Part<Alert> {
  const own = item();
  return {
    root: own.root,
    update: (alert) =>
      own.set({
        state: !is_firing(alert) ? "ok" : alert.severity === "critical" ? "failed" : "degraded",
        time: alert.since_unix_ms ?? alert.at_unix_ms ?? null,
        device: gpu_words(world, alert.device),
        href: alert.device ? address_of({ view: "gpu", id: alert.device }) : null,
        text: `${is_firing(alert) ? "" : `${t("alerts.resolved")}: `}${alert.message ?? alert.rule ?? dash}`,
        advice: alert.remedy ?? "",
      }),
  };
}

export function event_item(world: World): Part<HealthEvent> {
  const own = item();
  return {
    root: own.root,
    update: (event) => {
      const is_xid = event.kind === "xid";
      const told = event.evidence ?? event.text ?? "";
      own.set({
        state: event.state ?? (is_xid ? "degraded" : "notice"),
        time: event.at_unix_ms,
        device: gpu_words(world, event.device),
        href: event.device ? address_of({ view: "gpu", id: event.device }) : null,
        text: is_xid ? `XID ${event.code ?? ""}: ${told}` : told || String(event.code ?? dash),
        advice: event.advice ?? "",
      });
    },
  };
}
