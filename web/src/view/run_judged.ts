// The explanation of how a run went, and its report, as `berth explain` and `berth report` have them. Only those who
// may read its log see it.

import { get, get_text } from "../api";
import { el, section, set_hidden } from "../dom/element";
import type { Explanation, Run, RunFinding } from "../model/wire";
import { language, t } from "../words/translate";
import { failure, waiting } from "./view";

const badges = { hint: "notice", warning: "degraded", error: "failed" } as const;

export class RunJudged {
  readonly root: HTMLElement;
  private readonly place = el("div", { role: "status" });

  constructor(private readonly signal: AbortSignal) {
    this.root = section(t("run.explained"), 2, this.place);
    set_hidden(this.root, true);
  }

  private show(...parts: HTMLElement[]): void {
    this.place.replaceChildren(...parts);
    set_hidden(this.root, parts.length === 0);
  }

  async explain(run: Run): Promise<void> {
    this.show(waiting());
    const answer = await get<Explanation>(path_of(run, "explanation"), spoken(), this.signal);
    if (!this.signal.aborted) this.show(answer.ok ? told(answer.value) : failure(answer));
  }

  /// In a page of its own, which is there at once: a browser lets nobody open one later.
  async report(run: Run): Promise<void> {
    const page = window.open("about:blank", "_blank");
    const answer = await get_text(path_of(run, "report"), spoken(), this.signal);
    if (!answer.ok) {
      page?.close();
      if (!this.signal.aborted) this.show(failure(answer));
      return;
    }
    const file = new Blob([answer.value], { type: "text/html;charset=utf-8" });
    const address = URL.createObjectURL(file);
    if (page) page.location.replace(address);
    else el("a", { href: address, download: `report-${run.id}.html` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }
}

function path_of(run: Run, part: string): string {
  return `api/v1/runs/${encodeURIComponent(`${run.id}@${run.uid}`)}/${part}`;
}

function spoken(): { lang: string } {
  return { lang: language() };
}

function told({ findings, ended_well }: Explanation): HTMLElement {
  if (findings.length > 0) return el("ul", { class: "events" }, ...findings.map(item_of));
  const word = ended_well === false ? "run.unexplained" : "run.nothing_to_explain";
  return el("p", { class: "nothing" }, t(word));
}

function item_of(finding: RunFinding): HTMLElement {
  const look = badges[finding.severity];
  return el(
    "li",
    { class: "event", "data-health": look },
    el("span", { class: "badge", "data-health": look }, t(`severity.${finding.severity}`)),
    el("strong", {}, finding.title),
    el("ul", {}, ...finding.evidence.map((seen) => el("li", {}, seen))),
    el("p", {}, finding.meaning),
    ...finding.steps.map(({ what, command }) =>
      el("p", { class: "advice" }, what, command && ": ", command && el("code", {}, command)),
    ),
    finding.doubt && el("p", { class: "muted" }, t("run.doubt", { why: finding.doubt })),
  );
}
