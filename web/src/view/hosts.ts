// The other servers that this one asks. Each is a block, with a cell per GPU, filled by its load. Made for hundreds:
// what is out of sight is not laid out, and what has not changed is not written.

import { Repeated } from "../api";
import { el, Parts, roving, set_attribute, set_hidden, set_share, set_text } from "../dom/element";
import type { Part } from "../dom/element";
import { change_shape, shape_of } from "../dom/shapes";
import { dash, duration, percent } from "../model/format";
import {
  chosen_hosts,
  counted,
  name_parts,
  ordered,
  page_of,
  this_host,
  together,
  type NameParts,
} from "../model/hosts";
import { standing_of, type Standing } from "../model/state";
import type { HostDevice, Hosts, JoinedHost } from "../model/wire";
import { t } from "../words/translate";
import { count_row } from "./counts";
import { HeatMap } from "./heat_map";
import { failure, waiting, type View, type PageContext } from "./view";

const between_questions_ms = 5_000;
const many = 24; // blocks beyond which they are drawn small
const most_blocks = 250; // beyond it they are a heat map

export function hosts_view(context: PageContext): View {
  const stop = new AbortController();
  const repeated = new Repeated<Hosts>("api/v1/hosts");
  let hosts: readonly JoinedHost[] = [];
  let words = "";
  const counts = count_row(t("hosts.counts"), () => draw());
  const sums = el("p", { class: "sums" });
  const search = el("input", {
    type: "search",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: t("hosts.search"),
    "aria-label": t("hosts.search"),
    input: () => {
      words = search.value;
      draw();
    },
  });
  const list = el("ul", { class: "hosts", "aria-label": t("nav.hosts") });
  roving(list, "a.host-link", () => getComputedStyle(list).gridTemplateColumns.split(" ").length);
  const parts = new Parts<JoinedHost>(
    list,
    (host) => `${host.address} ${host.name}`,
    () => new HostBlock(context, (name) => parts_of(name)),
  );
  let parts_of: (name: string) => NameParts = (name) => ["", name, ""];
  const map = new HeatMap();
  let others: readonly JoinedHost[] = [];
  const place = el("div", {}, waiting());
  const nothing = el("p", { class: "nothing" }, t("hosts.nothing"));
  set_hidden(nothing, true);

  async function ask(): Promise<void> {
    const answer = await repeated.ask(stop.signal);
    if (stop.signal.aborted) return;
    if (answer.ok) {
      others = answer.value.hosts;
      parts_of = name_parts(others.map((host) => host.name));
      place.replaceChildren();
      draw();
    } else {
      place.replaceChildren(failure(answer));
    }
  }

  function draw(): void {
    const { overview } = context.state();
    hosts = ordered(overview ? [this_host(overview), ...others] : others);
    const all = together(hosts);
    counts.update(all.counts);
    set_text(sums, t("hosts.sums", { answering: all.answering, all: all.hosts }));
    list.classList.toggle("dense", hosts.length > many);
    const shown = chosen_hosts(hosts, counts.only(), words);
    // Very many hosts are a map, until a search leaves few.
    const is_map = shown.length > most_blocks;
    parts.update(is_map ? [] : shown);
    set_hidden(map.root, !is_map);
    if (is_map) map.draw(shown);
    if (!list.querySelector('[tabindex="0"]'))
      list.querySelector("a.host-link")?.setAttribute("tabindex", "0");
    set_hidden(nothing, shown.length > 0 || place.childElementCount > 0);
  }

  const root = el(
    "div",
    { class: "needs-look" },
    el("h1", { class: "unseen" }, t("nav.hosts")),
    el("div", { class: "glance" }, counts.root, sums),
    el("div", { class: "bar-of-tools" }, search),
    place,
    map.root,
    list,
    nothing,
  );
  void ask();
  const timer = setInterval(() => {
    if (!document.hidden) void ask();
  }, between_questions_ms);
  return {
    title: t("nav.hosts"),
    root,
    recolour: () => draw(),
    close: () => {
      stop.abort();
      clearInterval(timer);
    },
  };
}

class HostBlock implements Part<JoinedHost> {
  readonly root = el("li", { class: "host-block" });
  private readonly link = el("a", { class: "host-link", tabindex: -1 });
  private readonly name = ["same", "own", "same end"].map((part) => el("span", { class: part }));
  private readonly is_this = el("span", { class: "badge host-this", "data-health": "run" }, t("hosts.this"));
  private readonly free = el("span", { class: "host-free" });
  private readonly badge = el("span", { class: "badge" });
  private readonly alerts_number = el("span", { "aria-hidden": "true" });
  private readonly alerts_words = el("span", { class: "unseen" });
  private readonly alerts = el(
    "span",
    { class: "badge", "data-health": "failed" },
    this.alerts_number,
    this.alerts_words,
  );
  private readonly simulated = el("span", { class: "badge", "data-health": "degraded" });
  private readonly cells = el("div", { class: "cells", role: "img" });
  private readonly parts = new Parts<HostDevice>(
    this.cells,
    (device) => device.id,
    () => new Cell(),
  );
  private readonly foot = el("p", { class: "host-foot" });

  constructor(
    private readonly context: PageContext,
    private readonly parts_of: (name: string) => NameParts,
  ) {
    this.link.append(...this.name);
    set_text(this.simulated, t("hosts.simulated"));
    this.root.append(
      el(
        "div",
        { class: "host-head" },
        this.link,
        this.is_this,
        this.badge,
        this.simulated,
        this.alerts,
        this.free,
      ),
      this.cells,
      this.foot,
    );
  }

  update(host: JoinedHost): void {
    const { devices } = host;
    const ok = host.state === "ok";
    set_attribute(this.root, "data-state", host.state);
    const is_this = host.page === "#/";
    const name: NameParts = is_this ? ["", host.name, ""] : this.parts_of(host.name);
    name.forEach((part, i) => set_text(this.name[i]!, part));
    // A screen reader would read three parts as three words.
    set_attribute(this.link, "aria-label", host.name);
    set_attribute(this.link, "href", is_this ? host.page : page_of(host));
    set_attribute(this.link, "title", [host.name, host.address].filter(Boolean).join("  "));
    set_hidden(this.is_this, !is_this);
    set_hidden(this.badge, ok);
    set_text(this.badge, t(`host.${host.state}`));
    set_attribute(this.badge, "data-health", host.state === "stale" ? "degraded" : "failed");
    set_hidden(this.simulated, !host.simulated);
    set_hidden(this.alerts, !host.alerts);
    set_text(this.alerts_number, `! ${host.alerts ?? 0}`);
    set_text(this.alerts_words, t("hosts.alerts", { n: host.alerts ?? 0 }));
    this.parts.update(devices);
    set_hidden(this.cells, devices.length === 0);
    set_attribute(this.cells, "aria-label", this.told(host));
    const free = devices.filter((device) => standing_of(device) === "free").length;
    set_text(this.free, ok ? t("hosts.free", { free, all: devices.length }) : "");
    set_attribute(this.free, "data-standing", free > 0 ? "free" : "unknown");
    set_text(this.foot, ok ? this.who(host, devices) : this.trouble(host));
  }

  /// The cells in words; of a server that does not answer, what they were.
  private told(host: JoinedHost): string {
    const counts = counted(host, (standing: Standing) => t(`standing.${standing}`));
    return host.state === "ok" ? counts : t("hosts.were", { counts });
  }

  private who(host: JoinedHost, devices: readonly HostDevice[]): string {
    const users = [...new Set(devices.flatMap((device) => device.users))].sort().join(", ");
    const queue = host.queue ? t("hosts.queue", { n: host.queue }) : "";
    return [users || dash, queue].filter(Boolean).join("  ·  ");
  }

  private trouble(host: JoinedHost): string {
    const seen =
      host.taken_unix_ms === null
        ? ""
        : t("hosts.seen", { age: duration(this.context.server_now() - host.taken_unix_ms) });
    return [host.why, host.remedy, seen].filter(Boolean).join(" · ");
  }
}

class Cell implements Part<HostDevice> {
  readonly root = el("i", { class: "cell" });
  private readonly shape = shape_of("unknown");

  constructor() {
    this.root.append(this.shape);
  }

  update(device: HostDevice): void {
    const standing = standing_of(device);
    set_attribute(this.root, "data-standing", standing);
    change_shape(this.shape, standing);
    const load = device.utilization_gpu_percent;
    // In eighths: more is not to be seen in a cell, and less is drawn anew.
    set_share(this.root, "--load", load === null ? 0 : Math.round((8 * load) / 100) / 8);
    set_attribute(
      this.root,
      "title",
      [`GPU ${device.index ?? ""}`, t(`standing.${standing}`), percent(load), ...device.users].join(
        "  ",
      ),
    );
  }
}
