// Builds and updates elements. Text goes in as text nodes and attributes only. No way leads from
// here to innerHTML, so a process may call itself whatever it likes.

type Child = Node | string | null;
type Attributes = Record<
  string,
  string | number | boolean | null | undefined | ((event: never) => void)
>;

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null) element.append(child);
}

/// el("a", {href: "#/", click: go}, "Overview"): a function is a listener, null leaves it out.
export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  fill(element, attributes, children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  fill(element, attributes, children);
  return element;
}

/// Writing what is already there costs a layout; so it is not written.
export function set_text(element: Element, text: string): void {
  const only = element.firstChild;
  if (only instanceof Text && only === element.lastChild) {
    if (only.data !== text) only.data = text;
  } else if (element.textContent !== text) {
    element.textContent = text;
  }
}

export function set_attribute(element: Element, name: string, value: string | null): void {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

export function set_hidden(element: HTMLElement, hidden: boolean): void {
  if (element.hidden !== hidden) element.hidden = hidden;
}

/// A custom property for the style sheet: widths of bars, places on an axis.
export function set_share(element: HTMLElement | SVGElement, name: string, share: number): void {
  const text = share.toFixed(4);
  if (element.style.getPropertyValue(name) !== text) element.style.setProperty(name, text);
}

export interface Part<T> {
  root: Element;
  update(item: T): void;
}

/// Children of `parent` that follow a list, one part per key. Parts are made, moved and removed as
/// the list says. A part that stays is updated.
export class Parts<T> {
  private parts = new Map<string, Part<T>>();

  constructor(
    private readonly parent: Element,
    private readonly key_of: (item: T) => string,
    private readonly make: (item: T) => Part<T>,
  ) {}

  update(items: readonly T[]): void {
    const wanted = new Set<string>();
    let next = this.parent.firstElementChild;
    for (const item of items) {
      const key = this.key_of(item);
      if (wanted.has(key)) continue;
      wanted.add(key);
      let part = this.parts.get(key);
      if (!part) this.parts.set(key, (part = this.make(item)));
      part.update(item);
      if (part.root === next) next = next.nextElementSibling;
      else this.parent.insertBefore(part.root, next);
    }
    for (const [key, part] of this.parts) {
      if (wanted.has(key)) continue;
      part.root.remove();
      this.parts.delete(key);
    }
  }

  get(key: string): Part<T> | undefined {
    return this.parts.get(key);
  }
}

/// A heading over a part of the page, named for the landmark it makes.
export function section(title: string, level: 2 | 3, ...children: Child[]): HTMLElement {
  const heading = el(level === 2 ? "h2" : "h3", {}, title);
  heading.id = `heading-${++headings}`;
  return el("section", { "aria-labelledby": heading.id, class: "panel" }, heading, ...children);
}
let headings = 0;

/// Arrow keys among siblings of which one at a time can be reached by Tab.
export function roving(container: HTMLElement, selector: string, columns: () => number): void {
  const all = (): HTMLElement[] =>
    [...container.querySelectorAll<HTMLElement>(selector)].filter(
      (one) => !one.closest("[hidden]"),
    );
  container.addEventListener("focusin", (event) => {
    const at = (event.target as Element).closest<HTMLElement>(selector);
    if (at) for (const one of all()) one.tabIndex = one === at ? 0 : -1;
  });
  container.addEventListener("keydown", (event) => {
    const at = (event.target as Element).closest<HTMLElement>(selector);
    if (!at || event.ctrlKey || event.altKey || event.metaKey) return;
    const items = all();
    const step: Record<string, number> = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: columns(),
      ArrowUp: -columns(),
      Home: -items.length,
      End: items.length,
    };
    const by = step[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const to = Math.min(items.length - 1, Math.max(0, items.indexOf(at) + by));
    items[to]?.focus();
  });
}
