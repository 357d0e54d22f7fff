// The users of a device over time: bands below the axis of a chart.

import { place_in, type Window } from "../model/scale";
import { el } from "./element";

/// Somebody had it for a time.
export interface Band {
  from: number;
  to: number;
  text: string;
  colour: string;
  /// Which of several rows: two may have it at once.
  row: number;
}
const most_rows = 4;

export class Bands {
  readonly root = el("div", { class: "bands", "aria-hidden": "true", hidden: true });
  private had: Band[] = [];

  set(bands: Band[]): void {
    this.had = bands;
    this.root.hidden = bands.length === 0;
    const rows = Math.min(most_rows, 1 + Math.max(0, ...bands.map(({ row }) => row)));
    this.root.style.setProperty("--rows", String(rows));
    this.root.replaceChildren(
      ...bands.map(({ text, colour, row }) => {
        const band = el("i", { title: text });
        band.style.setProperty("--row", String(row % most_rows));
        band.style.setProperty("--own", `var(${colour})`);
        return band;
      }),
    );
  }

  /// Moved along with the axis.
  show(window: Window): void {
    this.had.forEach(({ from, to }, i) => {
      const share = (at: number): number => Math.min(1, Math.max(0, place_in(window, at)));
      const band = this.root.children[i] as HTMLElement;
      band.style.left = `${(100 * share(from)).toFixed(2)}%`;
      band.style.width = `${(100 * Math.max(0, share(to) - share(from))).toFixed(2)}%`;
    });
  }
}
