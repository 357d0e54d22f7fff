// How many cards are free, leased, busy, …: buttons of which one shows only those.

import { el, set_attribute, set_hidden, set_text } from "../dom/element";
import { shape_of } from "../dom/shapes";
import { standings, type Standing } from "../model/state";
import { t } from "../words/translate";

export interface CountRow {
  root: HTMLElement;
  /// The standing that was picked; null: all are shown.
  only(): Standing | null;
  update(numbers: Record<Standing, number>): void;
}

export function count_row(label: string, picked: () => void): CountRow {
  let only: Standing | null = null;
  const counts = standings.map(
    (standing) =>
      new Count(standing, () => {
        only = only === standing ? null : standing;
        picked();
      }),
  );
  return {
    root: el(
      "div",
      { class: "counts", role: "group", "aria-label": label },
      ...counts.map((count) => count.root),
    ),
    only: () => only,
    update: (numbers) => {
      for (const count of counts) count.update(numbers[count.standing], only);
    },
  };
}

class Count {
  readonly root: HTMLButtonElement;
  private readonly number = el("span", { class: "count-number" });

  constructor(
    readonly standing: Standing,
    pick: () => void,
  ) {
    this.root = el(
      "button",
      { type: "button", class: "count", "data-standing": standing, click: pick },
      this.number,
      el("span", { class: "count-word" }, shape_of(standing), t(`standing.${standing}`)),
    );
  }

  update(number: number, only: Standing | null): void {
    set_text(this.number, String(number));
    set_attribute(this.root, "aria-pressed", String(only === this.standing));
    this.root.classList.toggle("zero", number === 0);
    // Rare ones have a place only when there are some.
    const rare = ["reserved", "unknown", "divided"].includes(this.standing);
    set_hidden(this.root, rare && number === 0 && only !== this.standing);
  }
}
