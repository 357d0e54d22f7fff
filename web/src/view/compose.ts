// A form that composes a `berth run` command. It asks the server on every change. So one sees what would be chosen now
// before one types anything into a shell. Nothing is taken.

import { post } from "../api";
import { el, section, set_hidden, set_text } from "../dom/element";
import { first_values, outcome_of, request_of, whole_command, type FormValues } from "../model/compose";
import { label_of } from "../model/state";
import type { Placement } from "../model/wire";
import { t } from "../words/translate";
import { copy_button, failure, type View, type PageContext } from "./view";

let fields = 0;
function field(label: string, input: HTMLElement): HTMLElement {
  input.id = `field-${++fields}`;
  return el("div", { class: "field" }, el("label", { for: input.id }, label), input);
}
function wide(element: HTMLElement): HTMLElement {
  element.classList.add("wide");
  return element;
}

const verdicts = {
  starts: { word: "compose.starts_now", health: "ok" },
  waits: { word: "compose.would_wait", health: "notice" },
  ends: { word: "compose.would_end", health: "degraded" },
  never: { word: "compose.never", health: "failed" },
} as const;

let values: FormValues = { ...first_values }; // kept while the page is open

export function compose_view(context: PageContext): View {
  let later: ReturnType<typeof setTimeout> | undefined;
  let asked = 0;
  const line = el("code", { class: "command", tabindex: 0 });
  const { button: copy, said: copied } = copy_button(context, t("compose.copy"), line);
  copy.classList.add("primary");
  const verdict = el("p", { class: "verdict", role: "status" });
  const chosen = el("ul", { class: "chosen" });
  const refused = el("ul", { class: "events" });
  const refused_place = el(
    "details",
    { class: "as-table" },
    el("summary", {}, t("compose.refused")),
    refused,
  );
  const place = el("div");

  function change(part: Partial<FormValues>): void {
    values = { ...values, ...part };
    set_hidden(amount, values.memory === "whole");
    set_hidden(hours, values.wait !== "hours");
    clearTimeout(later);
    later = setTimeout(() => void ask(), 200);
  }

  const number = (
    label: string,
    key: "devices" | "memory_amount" | "idle_minutes" | "wait_hours",
    least: number,
  ): HTMLElement => {
    const input = el("input", {
      type: "number",
      min: least,
      max: 1024,
      step: key === "memory_amount" ? "any" : 1,
      value: values[key],
      input: (event: Event) => {
        const value = Number((event.target as HTMLInputElement).value);
        if (Number.isFinite(value) && value >= least) change({ [key]: value });
      },
    });
    return field(label, input);
  };
  const select = <K extends "memory" | "prefer" | "wait">(
    label: string,
    key: K,
    options: readonly [FormValues[K], string][],
  ): HTMLElement => {
    const input = el(
      "select",
      { change: (event: Event) => change({ [key]: (event.target as HTMLSelectElement).value }) },
      ...options.map(([value, text]) =>
        el("option", { value, selected: values[key] === value }, text),
      ),
    );
    return field(label, input);
  };
  const tick = (label: string, key: "needs_bf16" | "needs_fp8"): HTMLElement =>
    el(
      "label",
      { class: "tick" },
      el("input", {
        type: "checkbox",
        checked: values[key],
        change: (event: Event) => change({ [key]: (event.target as HTMLInputElement).checked }),
      }),
      el("span", {}, label),
    );

  const amount = number(t("compose.amount"), "memory_amount", 0.1);
  set_hidden(amount, values.memory === "whole");
  const hours = number(t("compose.hours"), "wait_hours", 1);
  set_hidden(hours, values.wait !== "hours");
  const command = el("input", {
    type: "text",
    value: values.command,
    spellcheck: "false",
    autocomplete: "off",
    input: (event: Event) => change({ command: (event.target as HTMLInputElement).value }),
  });
  const form = el(
    "form",
    { class: "form", submit: (event: Event) => event.preventDefault() },
    number(t("compose.devices"), "devices", 1),
    select(t("compose.memory"), "memory", [
      ["whole", t("compose.whole")],
      ["gib", t("compose.gib")],
      ["percent", t("compose.percent")],
    ]),
    amount,
    select(t("compose.prefer"), "prefer", [
      ["best-fit", t("compose.best_fit")],
      ["most-free", t("compose.most_free")],
      ["spread", t("compose.spread")],
    ]),
    number(t("compose.idle"), "idle_minutes", 0),
    el(
      "fieldset",
      {},
      el("legend", {}, t("compose.needs")),
      tick("bf16", "needs_bf16"),
      tick("fp8", "needs_fp8"),
    ),
    select(t("compose.wait"), "wait", [
      ["not", t("compose.wait_not")],
      ["forever", t("compose.wait_forever")],
      ["hours", t("compose.wait_hours")],
    ]),
    hours,
    wide(field(t("compose.command"), command)),
  );

  async function ask(): Promise<void> {
    const own = ++asked;
    const answer = await post<Placement>("api/v1/compose", request_of(values));
    if (own !== asked) return;
    set_text(copied, "");
    if (!answer.ok) {
      place.replaceChildren(failure(answer));
      return;
    }
    place.replaceChildren();
    const composed = answer.value;
    set_text(line, whole_command(composed.command, values.command));
    const { word, health } = verdicts[outcome_of(composed)];
    set_text(verdict, t(word));
    verdict.dataset["health"] = health;
    chosen.replaceChildren(
      ...composed.chosen.map((device) =>
        el("li", {}, el("strong", {}, `GPU ${label_of(device)}`), " ", device.reason),
      ),
    );
    refused.replaceChildren(
      ...composed.refused.map((device) =>
        el(
          "li",
          { class: "event" },
          el("strong", {}, `GPU ${label_of(device)}`),
          el("span", { class: "event-text" }, device.text),
        ),
      ),
    );
    set_hidden(refused_place, composed.refused.length === 0);
  }

  const root = el(
    "div",
    {},
    el("h1", {}, t("nav.compose")),
    el(
      "div",
      { class: "columns even" },
      section(t("compose.what"), 2, form),
      section(
        t("compose.result"),
        2,
        place,
        line,
        el("div", { class: "bar-of-tools" }, copy, copied),
        verdict,
        chosen,
        refused_place,
      ),
    ),
  );
  void ask();
  let asked_ms = performance.now();
  return {
    title: t("nav.compose"),
    root,
    update: () => {
      if (performance.now() - asked_ms < 5_000) return;
      asked_ms = performance.now();
      void ask();
    },
    close: () => clearTimeout(later),
  };
}
