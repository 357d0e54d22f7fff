// Tables with a heading row, whose rows follow a list.

import { el, Parts, set_attribute, set_hidden, set_text, type Part } from "./element";

export interface TableColumn<T> {
  title: string;
  /// "number": to the right, in figures of one width.
  kind?: "number" | "text" | "code";
  text?: (item: T) => string;
  /// For cells that are more than text: builds once, and gives back what updates it.
  cell?: (cell: HTMLTableCellElement) => (item: T) => void;
  /// A cell's hint: the whole of a text that is cut short, or why there is nothing.
  hint?: (item: T) => string | null;
  /// Left out on narrow screens.
  minor?: boolean;
  /// A column of buttons, whose title only a screen reader needs.
  acts?: boolean;
}

export class Table<T> {
  readonly root: HTMLElement;
  private readonly parts: Parts<T>;
  private readonly empty: HTMLElement;
  private readonly table: HTMLTableElement;

  constructor(
    caption: string,
    nothing: string,
    columns: TableColumn<T>[],
    key_of: (item: T) => string,
  ) {
    const body = el("tbody");
    const head = columns.map((column) =>
      el(
        "th",
        { scope: "col", class: class_of(column) },
        column.acts ? el("span", { class: "unseen" }, column.title) : column.title,
      ),
    );
    this.table = el(
      "table",
      {},
      el("caption", { class: "unseen" }, caption),
      el("thead", {}, el("tr", {}, ...head)),
      body,
    );
    this.empty = el("p", { class: "nothing" }, nothing);
    // Wide tables scroll in themselves, never the page; then the keyboard must reach them.
    this.root = el(
      "div",
      { class: "scrolls", tabindex: 0, role: "group", "aria-label": caption },
      this.table,
      this.empty,
    );
    this.parts = new Parts(body, key_of, () => row_of(columns));
    this.update([]);
  }

  update(items: readonly T[]): void {
    this.parts.update(items);
    set_hidden(this.empty, items.length > 0);
    set_hidden(this.table, items.length === 0);
  }
}

function class_of<T>(column: TableColumn<T>): string | null {
  const classes = [column.kind, column.minor && "minor", column.acts && "acts"];
  return classes.filter(Boolean).join(" ") || null;
}

function row_of<T>(columns: TableColumn<T>[]): Part<T> {
  const updates: ((item: T) => void)[] = [];
  const cells = columns.map((column) => {
    const cell = el("td", { class: class_of(column) });
    if (column.cell) updates.push(column.cell(cell));
    else if (column.text) {
      const text = column.text;
      updates.push((item) => set_text(cell, text(item)));
    }
    const hint = column.hint;
    if (hint) updates.push((item) => set_attribute(cell, "title", hint(item)));
    return cell;
  });
  return {
    root: el("tr", {}, ...cells),
    update: (item) => updates.forEach((update) => update(item)),
  };
}
