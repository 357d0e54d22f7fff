// Acts on what one sees: releases a lease, signals a process. It asks first, and offers only what the server would
// allow. The server's objection stands where the question stood.

import { post, type Answer } from "../api";
import { el, set_hidden, set_text } from "../dom/element";
import { dash } from "../model/format";
import { command_text, label_of, may_act_for } from "../model/state";
import type { Lease, Overview, Process, Run } from "../model/wire";
import { t } from "../words/translate";
import { failure, type PageContext } from "./view";

const signals = ["TERM", "INT", "KILL"] as const;
type Signal = (typeof signals)[number];

export function may_release(overview: Overview | null, lease: Lease): boolean {
  return overview !== null && may_act_for(overview.asker, lease.user);
}

/// A simulated process has nobody behind it. A process without its start cannot be told from another that has its
/// number by now.
export function may_signal(overview: Overview | null, process: Process): boolean {
  if (overview === null || overview.simulated !== null || !process.start_ticks) return false;
  return may_act_for(overview.asker, process.user);
}

interface Confirmation {
  title: string;
  about: string;
  warning: string;
  /// Stands between the question and the buttons.
  more?: HTMLElement;
  act: string;
  /// Made from what the server answered.
  done: (answer: unknown) => string;
  send(): Promise<Answer<unknown>>;
}

/// Asks, sends, and says how it went. Focus goes back to where it came from. If something was ended, focus goes to the
/// page, as the button is gone.
function ask_first(context: PageContext, asked: Confirmation): void {
  const from = document.activeElement as HTMLElement | null;
  let done = false;
  const place = el("div", { role: "status" });
  const yes = el("button", { type: "button", class: "danger" }, asked.act);
  const no = el("button", { type: "button", autofocus: true }, t("act.cancel"));
  const title = el("h2", { id: "act-title" }, asked.title);
  const dialog = el(
    "dialog",
    { "aria-labelledby": "act-title", "aria-describedby": "act-about" },
    title,
    el(
      "div",
      { id: "act-about" },
      el("p", { class: "code" }, asked.about),
      el("p", {}, asked.warning),
    ),
    asked.more ?? null,
    place,
    el("div", { class: "bar-of-tools" }, yes, no),
  );
  const send = async (): Promise<void> => {
    yes.disabled = true;
    set_text(place, t("act.waiting"));
    const answer = await asked.send();
    if (!dialog.isConnected) return;
    if (answer.ok) {
      done = true;
      context.announce(asked.done(answer.value));
      dialog.close();
      return;
    }
    // A refused act would be refused again: only the way back is left.
    place.replaceChildren(failure(answer));
    set_hidden(yes, true);
    set_text(no, t("act.close"));
    no.focus();
  };
  yes.addEventListener("click", () => void send());
  no.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (!done && from?.isConnected) from.focus();
    else document.getElementById("main")?.focus({ preventScroll: true });
  });
  document.body.append(dialog);
  dialog.showModal();
}

export function ask_release(context: PageContext, lease: Lease): void {
  ask_first(context, {
    title: t("act.release_title"),
    about: `${lease.user ?? dash}  ${lease.run || lease.id}`,
    warning: t(lease.run ? "act.release_run" : "act.release_lease"),
    act: t("act.release"),
    done: () => t("act.released"),
    send: () => post(`api/v1/leases/${encodeURIComponent(lease.id)}/release`, {}),
  });
}

export function may_stop(overview: Overview | null, run: Run): boolean {
  return (
    overview !== null &&
    run.state === "running" &&
    run.lease !== "" &&
    may_act_for(overview.asker, run.user)
  );
}

/// `said` is told what became of it, as it was stopped from there.
export function ask_stop(context: PageContext, run: Run, said: (text: string) => void): void {
  const words = {
    ended: "run.stop_ended",
    killed: "run.stop_killed",
    "had ended": "run.stop_had_ended",
  } as const;
  ask_first(context, {
    title: t("run.stop_title"),
    about: `${run.user}  ${run.id}  ${command_text(run.command) ?? ""}`,
    warning: t("run.stop_warning", { gpus: run.given.devices.map(label_of).join(", ") || dash }),
    act: t("run.stop"),
    done: (answer) => {
      const text = t(words[(answer as { end: keyof typeof words }).end]);
      said(text);
      return text;
    },
    send: () => post(`api/v1/leases/${encodeURIComponent(run.lease)}/release`, {}),
  });
}

export function ask_signal(context: PageContext, process: Process): void {
  let signal: Signal = "TERM";
  const choices = signals.map((one) =>
    el(
      "label",
      { class: "tick" },
      el("input", {
        type: "radio",
        name: "signal",
        value: one,
        checked: one === signal,
        change: () => {
          signal = one;
        },
      }),
      el("span", {}, el("strong", {}, one), ` ${t(`signal.${one}`)}`),
    ),
  );
  ask_first(context, {
    title: t("act.signal_title"),
    about: `${process.user ?? dash}  ${process.pid}  ${process.command ?? ""}`,
    warning: t("act.signal_warning"),
    more: el("fieldset", { class: "signals" }, el("legend", {}, t("act.which")), ...choices),
    act: t("act.signal"),
    done: () => t("act.signalled", { pid: process.pid }),
    send: () =>
      post(`api/v1/processes/${process.pid}/signal`, { signal, start_ticks: process.start_ticks }),
  });
}

/// A cell of a table with one button, there only while it may be used.
export function act_cell<T>(
  title: string,
  label: (item: T) => string,
  may: (item: T) => boolean,
  act: (item: T) => void,
): (cell: HTMLTableCellElement) => (item: T) => void {
  return (cell) => {
    let now: T | null = null;
    const button = el(
      "button",
      {
        type: "button",
        class: "small",
        click: () => {
          if (now !== null) act(now);
        },
      },
      title,
    );
    set_hidden(button, true);
    cell.append(button);
    return (item) => {
      now = item;
      button.setAttribute("aria-label", label(item));
      set_hidden(button, !may(item));
    };
  };
}
