// One GPU as a tile: its standing by colour, shape and word, its load now and over two minutes. Its
// MIG instances stand in it, one line each.

import {
  el,
  Parts,
  set_attribute,
  set_hidden,
  set_share,
  set_text,
  type Part,
} from "../dom/element";
import { change_shape, shape_of } from "../dom/shapes";
import { Spark } from "../dom/spark";
import {
  celsius,
  dash,
  duration,
  memory_of,
  mig_profile,
  percent,
  short_name,
  watts,
} from "../model/format";
import { address_of } from "../model/route";
import { heat_of, label_of, people_of, standing_of } from "../model/state";
import type { Device } from "../model/wire";
import { t } from "../words/translate";
import type { PageContext } from "./view";

export const spark_points = 120;

/// The instances of a card, a line each.
export function instance_list(): { root: HTMLElement; update(instances: Device[]): void } {
  const root = el("ul", { class: "instances", "aria-label": t("overview.instances") });
  const parts = new Parts<Device>(
    root,
    (device) => device.id,
    () => new InstanceTile(),
  );
  return {
    root,
    update: (instances) => {
      parts.update(instances);
      set_hidden(root, instances.length === 0);
    },
  };
}

export interface Card {
  card: Device;
  instances: Device[];
}

export class CardTile implements Part<Card> {
  readonly root = el("li");
  private readonly tile: Tile;
  private readonly instances = instance_list();

  constructor(context: PageContext, since: (id: string) => number | null) {
    this.tile = new Tile(context, since);
    this.root.append(this.tile.root, this.instances.root);
  }

  update({ card, instances }: Card): void {
    this.tile.update(card);
    this.instances.update(instances);
    this.root.classList.toggle("divided", instances.length > 0);
  }
}

class InstanceTile implements Part<Device> {
  readonly root = el("li");
  private readonly link = el("a", { class: "tile", tabindex: -1 });
  private readonly index = el("span", { class: "instance-index" });
  private readonly shape = shape_of("unknown");
  private readonly word = el("span", { class: "tile-word" });
  private readonly users = el("span", { class: "tile-users" });
  private readonly memory = el("span", { class: "instance-memory" });
  private readonly bar = el("span", { class: "bar" });

  constructor() {
    this.link.append(
      el("span", { class: "unseen" }, "GPU "),
      this.index,
      el("span", { class: "standing" }, this.shape, this.word),
      this.users,
      this.memory,
      this.bar,
    );
    this.root.append(this.link);
  }

  update(device: Device): void {
    const standing = standing_of(device);
    set_attribute(this.link, "href", address_of({ view: "gpu", id: device.id }));
    set_attribute(this.link, "data-standing", standing);
    set_text(this.index, label_of(device));
    change_shape(this.shape, standing);
    set_text(this.word, t(`tile.${standing}`));
    set_text(this.users, people_of(device).join(", ") || mig_profile(device.name));
    set_text(this.memory, memory_of(device));
    const { memory_used_bytes: used, memory_total_bytes: total } = device;
    set_share(this.bar, "--share", used !== null && total ? Math.min(1, used / total) : 0);
  }
}

class Tile implements Part<Device> {
  readonly root = el("a", { class: "tile", tabindex: -1 });
  private readonly index = el("span");
  private readonly shape = shape_of("unknown");
  private readonly word = el("span", { class: "tile-word" });
  private readonly name = el("span", { class: "tile-name" });
  private readonly load = el("span", { class: "tile-load" });
  private readonly spark = new Spark(spark_points);
  private readonly memory_bar = el("span", { class: "bar" });
  private readonly memory = el("span", {});
  private readonly power = el("span", {});
  private readonly heat = el("span", {});
  private readonly users = el("span", { class: "tile-users" });
  private readonly health = el("span", { class: "tile-health" });

  private readonly age = el("span", { class: "tile-age" });

  constructor(
    private readonly context: PageContext,
    private readonly since: (id: string) => number | null,
  ) {
    this.root.append(
      el(
        "span",
        { class: "tile-head" },
        el("span", { class: "tile-index" }, el("span", { class: "unseen" }, "GPU "), this.index),
        el("span", { class: "standing" }, this.shape, this.word),
      ),
      this.name,
      el(
        "span",
        { class: "tile-middle" },
        this.load,
        this.spark.root,
      ),
      this.memory_bar,
      el("span", { class: "tile-row" }, this.memory),
      el("span", { class: "tile-row" }, this.power, this.heat),
      el("span", { class: "tile-foot" }, this.users, this.age, this.health),
    );
  }

  update(device: Device): void {
    const standing = standing_of(device);
    set_attribute(this.root, "href", address_of({ view: "gpu", id: device.id }));
    set_attribute(this.root, "data-standing", standing);
    const who = people_of(device).join(", ");
    set_text(this.index, label_of(device));
    change_shape(this.shape, standing);
    set_text(this.word, t(`tile.${standing}`));
    set_text(this.name, short_name(device.name));
    set_text(this.load, percent(device.utilization_gpu_percent));
    set_text(this.memory, memory_of(device));
    set_text(this.power, watts(device.power_draw_milliwatts));
    set_text(this.heat, celsius(device.temperature_celsius));
    set_attribute(this.heat, "data-heat", heat_of(device));
    set_text(this.users, who || dash);
    const since = this.since(device.id);
    set_text(this.age, since === null ? "" : duration(this.context.server_now() - since));
    const unwell = device.health !== null && device.health !== "ok" && standing !== "broken";
    set_hidden(this.health, !unwell);
    if (unwell) {
      set_text(this.health, t(`health.${device.health as "notice"}`));
      set_attribute(this.health, "data-health", device.health);
    }
    const { memory_used_bytes: used, memory_total_bytes: total } = device;
    set_share(this.memory_bar, "--share", used !== null && total ? Math.min(1, used / total) : 0);
    const live = this.context.state().series.get(device.id);
    if (live) this.spark.show(live.last_load(spark_points));
  }
}
