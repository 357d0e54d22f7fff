// The interface of every view, and what it may ask of the page around it.

import type { Answer } from "../api";
import type { State } from "../model/state";
import type { Route } from "../model/route";
import { t } from "../words/translate";
import { el, set_text } from "../dom/element";

export interface PageContext {
  state(): State;
  /// The server's own time now, as far as the last look tells; before the first, the browser's.
  server_now(): number;
  go(route: Route): void;
  /// Says it to screen readers, once, when they are free.
  announce(text: string): void;
}

export interface View {
  title: string;
  root: HTMLElement;
  /// A new look, or a changed link.
  update?(state: State): void;
  /// Colours have changed: what is painted on a canvas must be painted again.
  recolour?(): void;
  close?(): void;
}

/// Stands in place of an answer that did not come: what happened, and what to do.
export function failure(answer: Answer<unknown> & { ok: false }): HTMLElement {
  const { code, message, remedy } = answer.error;
  const title =
    code === "no_history"
      ? t("failure.no_history")
      : answer.status === 0
        ? t("failure.unreachable")
        : answer.status === 404
          ? t("failure.not_found")
          : answer.status === 401 || answer.status === 403
            ? t("failure.not_allowed")
            : t("failure.other");
  const advice =
    remedy ||
    (code === "no_history"
      ? t("failure.no_history_remedy")
      : answer.status === 401 || answer.status === 403
        ? t("failure.not_allowed_remedy")
        : null);
  return el(
    "div",
    { class: "failure", role: "status" },
    el("strong", {}, title),
    code === "no_history" || answer.status === 0 ? null : el("p", {}, message),
    advice ? el("p", {}, advice) : null,
  );
}

export function waiting(): HTMLElement {
  return el("p", { class: "nothing", role: "status" }, t("waiting"));
}

/// For a list that is cut to its newest.
export function left_out_text(count: number): string {
  return count > 0 ? t("list.left_out", { n: count }) : "";
}

/// Copies what stands in the line, and says so.
export function copy_button(
  context: PageContext,
  title: string,
  line: HTMLElement,
): { button: HTMLButtonElement; said: HTMLElement } {
  const said = el("span", { class: "muted", role: "status" });
  const copy = async (): Promise<void> => {
    let done = false;
    try {
      await navigator.clipboard.writeText(line.textContent ?? "");
      done = true;
    } catch {
      // Without HTTPS a browser gives no clipboard: the line is selected, and the person copies it.
      const range = document.createRange();
      range.selectNodeContents(line);
      const selection = getSelection();
      selection?.removeAllRanges();
      selection?.addRange(range);
      done = document.execCommand("copy");
    }
    set_text(said, done ? t("compose.copied") : t("compose.selected"));
    if (done) context.announce(t("compose.copied"));
  };
  return { button: el("button", { type: "button", click: () => void copy() }, title), said };
}

/// Buttons of which one is pressed.
export function choice<T extends string>(
  label: string,
  options: readonly (readonly [T, string])[],
  chosen: T,
  pick: (value: T) => void,
): { root: HTMLElement; set(value: T): void } {
  const buttons = new Map<T, HTMLButtonElement>();
  const set = (value: T): void => {
    for (const [key, button] of buttons) button.setAttribute("aria-pressed", String(key === value));
  };
  const root = el("div", { class: "choice", role: "group", "aria-label": label });
  for (const [value, text] of options) {
    const button = el(
      "button",
      {
        type: "button",
        click: () => {
          set(value);
          pick(value);
        },
      },
      text,
    );
    buttons.set(value, button);
    root.append(button);
  }
  set(chosen);
  return { root, set };
}

/// A list of pairs "term: value". A pair without a value is left out.
export function facts(pairs: [string, string | null | undefined][]): HTMLElement {
  return el(
    "dl",
    { class: "facts" },
    ...pairs
      .filter(([, value]) => value)
      .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value ?? ""))),
  );
}

export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;
