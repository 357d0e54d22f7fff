// What is not well with one device: evidence, and what to do.

import { el } from "../dom/element";
import type { DeviceHealth } from "../model/wire";
import { t } from "../words/translate";

export function findings_list(device: DeviceHealth): HTMLElement {
  if (device.findings.length === 0 && device.not_examined.length === 0) {
    return el("p", { class: "nothing" }, t("health.all_well"));
  }
  const items = device.findings.map((finding) =>
    el(
      "li",
      { class: "event", "data-health": finding.state },
      el("span", { class: "badge", "data-health": finding.state }, t(`health.${finding.state}`)),
      el("span", { class: "event-text" }, finding.evidence),
      el("span", { class: "advice" }, finding.advice),
    ),
  );
  const unread = device.not_examined.length
    ? el(
        "p",
        { class: "muted small" },
        t("health.unread", { list: device.not_examined.join("; ") }),
      )
    : null;
  return el("div", {}, el("ul", { class: "events" }, ...items), unread);
}
