// What is not well with one device: evidence, and what to do.

import { el } from "../dom/element";
import type { DeviceHealth, Finding } from "../model/wire";
import { advice_text, finding_title } from "../words/findings";
import { t } from "../words/translate";

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
