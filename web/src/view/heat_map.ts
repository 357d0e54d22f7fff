// Very many servers as one picture. Each is a block, with a cell per GPU in the colour of its standing. The colour is
// as strong as the GPU is loaded. A canvas: eight thousand elements would take a second to lay out.

import { el, set_attribute } from "../dom/element";
import { counted, known_devices, page_of, together } from "../model/hosts";
import { standing_of, standings, type Standing } from "../model/state";
import type { JoinedHost } from "../model/wire";
import { t } from "../words/translate";

const cell = 7;
const gap = 1;
const between = 5;

export class HeatMap {
  private readonly canvas = el("canvas", { role: "img" });
  private readonly said = el("p", { class: "muted", "aria-live": "off" }, t("hosts.map"));
  readonly root = el("div", { class: "heat-map", hidden: true }, this.said, this.canvas);
  private hosts: readonly JoinedHost[] = [];
  private columns = 1;
  private block = { width: 1, height: 1, across: 1 };

  constructor() {
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("click", (event) => {
      const page = this.at(event) && page_of(this.at(event)!);
      if (page) location.href = page;
    });
  }

  draw(hosts: readonly JoinedHost[]): void {
    const begun = performance.now();
    this.hosts = hosts;
    const width = this.root.clientWidth;
    if (width === 0) return;
    const most = Math.max(1, ...hosts.map((host) => host.devices.length));
    const across = Math.min(8, most);
    const step = cell + gap;
    const block = {
      across,
      width: across * step + between,
      height: Math.ceil(most / across) * step + between,
    };
    this.block = block;
    this.columns = Math.max(1, Math.floor(width / block.width));
    const height = Math.ceil(hosts.length / this.columns) * block.height;
    const ratio = devicePixelRatio;
    // A canvas that is given a size begins anew: only where it has another.
    const size = [Math.round(width * ratio), Math.round(height * ratio)] as const;
    if (this.canvas.width !== size[0] || this.canvas.height !== size[1]) {
      [this.canvas.width, this.canvas.height] = size;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const colours = colours_of();
    const places = new Map<string, [number, number][]>();
    hosts.forEach((host, i) => {
      const left = (i % this.columns) * block.width;
      const top = Math.floor(i / this.columns) * block.height;
      const is_known = host.state === "ok";
      for (let at = 0; at < Math.max(1, host.devices.length); ++at) {
        const device = is_known ? host.devices[at] : undefined;
        const standing = device ? standing_of(device) : "unknown";
        const load = device?.utilization_gpu_percent ?? 0;
        // In quarters: cells of one colour are painted together.
        const strength = Math.round(load / 25);
        const key = `${standing} ${is_known ? strength : 0}`;
        const x = left + (at % across) * step;
        const y = top + Math.floor(at / across) * step;
        const list = places.get(key);
        if (list) list.push([x, y]);
        else places.set(key, [[x, y]]);
      }
    });
    for (const [key, list] of places) {
      const [standing, strength] = key.split(" ") as [Standing, string];
      context.fillStyle = colours[standing];
      context.globalAlpha = 0.35 + 0.1625 * Number(strength);
      context.beginPath();
      for (const [x, y] of list) context.rect(x, y, cell, cell);
      context.fill();
    }
    context.globalAlpha = 1;
    this.describe();
    performance.measure("berth-map", { start: begun, end: performance.now() });
  }

  private describe(): void {
    const { counts, answering, hosts } = together(this.hosts);
    const told = standings
      .filter((standing) => counts[standing] > 0)
      .map((standing) => `${counts[standing]} ${t(`standing.${standing}`)}`);
    const words = [t("hosts.sums", { answering, all: hosts }), ...told].join(", ");
    set_attribute(this.canvas, "aria-label", words);
  }

  private at(event: MouseEvent): JoinedHost | null {
    const column = Math.floor(event.offsetX / this.block.width);
    const row = Math.floor(event.offsetY / this.block.height);
    if (column >= this.columns) return null;
    return this.hosts[row * this.columns + column] ?? null;
  }

  private point(event: MouseEvent): void {
    const host = this.at(event);
    const users = host ? [...new Set(known_devices(host).flatMap((one) => one.users))] : [];
    const standing = (word: Standing): string => t(`standing.${word}`);
    const told = host && [host.name, host.why ?? counted(host, standing), users.join(", ")];
    set_attribute(this.canvas, "title", told && told.filter(Boolean).join("  "));
    this.canvas.style.cursor = host && page_of(host) ? "pointer" : "default";
  }
}

function colours_of(): Record<Standing, string> {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(
    standings.map((standing) => [standing, style.getPropertyValue(`--${standing}`).trim()]),
  ) as Record<Standing, string>;
}
