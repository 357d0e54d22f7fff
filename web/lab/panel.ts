// The panel: every GPU, this notebook's memory, this user's kernels, the leases. Text goes in as text nodes alone
// (src/dom/element.ts): a job may call itself whatever it likes.

import { Parts, el, set_attribute, set_hidden, set_share, set_text, type Part } from "../src/dom/element";
import { bytes, duration, memory_of, percent, short_name } from "../src/model/format";
import {
  idle_holders,
  numbers_of,
  uses_gpu,
  type Holder,
  type LabDevice,
  type LabKernel,
  type LabOverview,
} from "./overview";
import { state_word, type Say } from "./words";

/// What the panel wants of JupyterLab.
export interface LabShell {
  say: Say;
  /// The kernel of the notebook or console in front.
  kernel_in_front(): string | null;
  shut_down(kernel: string): Promise<void>;
  page: string;
}

interface Numbered {
  devices: LabDevice[];
  now_ms: number;
}

export class Panel {
  readonly root: HTMLElement;
  private readonly note = el("p", { class: "note", role: "status" });
  private readonly told = el("p", { class: "note", role: "status" });
  private readonly here = el("p");
  private readonly page: HTMLAnchorElement;
  private readonly devices: List<LabDevice>;
  private readonly kernels: List<LabKernel>;
  private readonly idle: List<LabKernel>;
  private readonly holders: List<Holder>;
  private shown: LabOverview | null = null;
  private numbered: Numbered = { devices: [], now_ms: 0 };

  constructor(private readonly lab: LabShell) {
    const { say } = lab;
    this.devices = new List(
      (one) => one.id,
      () => device_part(say),
    );
    this.kernels = new List(
      (one) => one.id,
      () => this.kernel_part(),
    );
    this.idle = new List(
      (one) => one.id,
      () => this.idle_part(),
    );
    this.holders = new List(
      (one) => `${one.device}/${one.pid}`,
      () => this.holder_part(),
    );
    this.page = el("a", { href: lab.page, target: "_blank", rel: "noopener" }, say("page"));
    this.root = el(
      "div",
      { class: "berth-lab", role: "region", "aria-label": say("title"), tabindex: 0 },
      this.note,
      this.told,
      part(say("gpus"), this.devices.root),
      part(say("here"), this.here),
      part(say("idle"), this.idle.root),
      part(say("mine"), this.kernels.root),
      part(say("holders"), this.holders.root),
      this.page,
    );
    this.page.hidden = true;
  }

  update(said: LabOverview, now_ms: number): void {
    const { say } = this.lab;
    this.shown = said;
    this.numbered = { devices: said.devices, now_ms };
    const problem = said.problem && [said.problem.message, said.problem.remedy].filter(Boolean).join(": ");
    set_text(this.note, problem ?? (said.simulated ? say("simulated", { name: said.simulated }) : ""));
    this.devices.update(said.devices, problem ? "" : say("no_gpus"));
    this.show_here();
    const using = said.kernels.filter(uses_gpu);
    const others = said.kernels.length - using.length;
    this.kernels.update(using, say("mine_none", { count: others }), others ? say("mine_others", { count: others }) : "");
    this.holders.update(said.holders, say("holders_none"));
    set_hidden(this.page, said.source !== "serve");
  }

  /// Also when another notebook comes to the front.
  show_here(): void {
    if (!this.shown) return;
    const { say } = this.lab;
    const id = this.lab.kernel_in_front();
    const kernel = this.shown.kernels.find((one) => one.id === id);
    set_text(
      this.here,
      kernel ? (uses_gpu(kernel) ? this.use_of(kernel) : say("here_none")) : say("here_no_kernel"),
    );
    this.idle.update(idle_holders(this.shown.kernels, id), say("idle_none"));
  }

  unreachable(why: string): void {
    set_text(this.note, this.lab.say("unreachable", { why }));
  }

  private use_of(kernel: LabKernel): string {
    return this.lab.say("on", {
      gpus: numbers_of(kernel.devices, this.numbered.devices),
      memory: kernel.memory_used_bytes === null ? this.lab.say("not_known") : bytes(kernel.memory_used_bytes),
    });
  }

  private since(kernel: LabKernel): string {
    const { say } = this.lab;
    if (kernel.idle_since_unix_ms === null) return kernel.state === "busy" ? say("busy") : kernel.state;
    return say("idle_for", { time: duration(this.numbered.now_ms - kernel.idle_since_unix_ms) });
  }

  private kernel_part(): Part<LabKernel> {
    const name = el("span", { class: "mine" });
    const use = el("span");
    const since = el("span");
    return {
      root: el("li", {}, el("div", { class: "line" }, name, since), use),
      update: (kernel) => {
        set_text(name, kernel.name);
        set_attribute(name, "title", kernel.path);
        set_text(since, this.since(kernel));
        set_text(use, this.use_of(kernel));
      },
    };
  }

  private idle_part(): Part<LabKernel> {
    const name = el("span");
    const use = el("span");
    let shown: LabKernel;
    const button = el("button", { type: "button", click: () => this.ask(shown) }, this.lab.say("shut_down"));
    return {
      root: el("li", {}, el("div", { class: "line" }, name, button), use),
      update: (kernel) => {
        shown = kernel;
        set_text(name, kernel.name);
        set_attribute(name, "title", kernel.path);
        set_attribute(button, "aria-label", this.lab.say("shut_down_which", { name: kernel.name }));
        set_text(use, `${this.use_of(kernel)}, ${this.since(kernel)}`);
      },
    };
  }

  private holder_part(): Part<Holder> {
    const who = el("span");
    const memory = el("span");
    const command = el("div");
    const { say } = this.lab;
    return {
      root: el("li", {}, el("div", { class: "line" }, who, memory), command),
      update: (one) => {
        const yours = one.kernel === null ? "" : ` (${say("yours")})`;
        set_attribute(who, "class", one.kernel === null ? null : "mine");
        set_text(who, `GPU ${numbers_of([one.device], this.numbered.devices)} · ${one.user ?? say("not_known")}${yours}`);
        set_text(memory, bytes(one.memory_used_bytes));
        set_text(command, one.command ?? String(one.pid));
      },
    };
  }

  /// Nothing is shut down that was not asked about.
  private ask(kernel: LabKernel): void {
    const { say } = this.lab;
    const more = say("ask_more", {
      memory: kernel.memory_used_bytes === null ? say("not_known") : bytes(kernel.memory_used_bytes),
      gpus: numbers_of(kernel.devices, this.numbered.devices),
    });
    const title = el("h2", { id: "berth-lab-ask" }, say("ask", { name: kernel.name }));
    const dialog = el("dialog", { class: "berth-lab-ask", "aria-labelledby": title.id }, title, el("p", {}, more));
    const act = (): void => {
      dialog.close();
      this.lab.shut_down(kernel.id).then(
        () => set_text(this.told, say("done", { name: kernel.name })),
        (error: unknown) => set_text(this.told, say("failed", { name: kernel.name, why: String(error) })),
      );
    };
    dialog.append(
      el(
        "div",
        {},
        el("button", { type: "button", autofocus: true, click: () => dialog.close() }, say("cancel")),
        el("button", { type: "button", click: act }, say("shut_down")),
      ),
    );
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }
}

/// A list, or what is said where it has nothing.
class List<T> {
  private readonly list = el("ul");
  private readonly words = el("p");
  readonly root = el("div", {}, this.list, this.words);
  private readonly parts: Parts<T>;

  constructor(key_of: (item: T) => string, make: () => Part<T>) {
    this.parts = new Parts(this.list, key_of, make);
  }

  update(items: readonly T[], none: string, more = ""): void {
    this.parts.update(items);
    set_hidden(this.list, items.length === 0);
    set_text(this.words, items.length === 0 ? none : more);
  }
}

/// Named by itself: an id could be one of a notebook's own headings.
function part(title: string, body: HTMLElement): HTMLElement {
  return el("section", { "aria-label": title }, el("h2", {}, title), body);
}

function meter(kind: string): { root: HTMLElement; show(label: string, share: number | null, text: string): void } {
  const fill = el("div");
  const root = el("div", { class: `bar ${kind}`, role: "meter", "aria-valuemin": 0, "aria-valuemax": 100 }, fill);
  return {
    root,
    show(label, share, text) {
      set_attribute(root, "aria-label", label);
      set_attribute(root, "aria-valuenow", String(Math.round(100 * (share ?? 0))));
      set_attribute(root, "aria-valuetext", text);
      set_share(fill, "--share", share ?? 0);
    },
  };
}

function device_part(say: Say): Part<LabDevice> {
  const name = el("span");
  const state = el("span");
  const memory = meter("memory");
  const load = meter("load");
  const numbers = el("span");
  const users = el("span");
  return {
    root: el(
      "li",
      {},
      el("div", { class: "line" }, name, state),
      memory.root,
      load.root,
      el("div", { class: "line" }, numbers, users),
    ),
    update: (device) => {
      const gpu = String(device.index ?? "?");
      const used = memory_of(device);
      const busy = percent(device.utilization_gpu_percent);
      const { memory_used_bytes: have, memory_total_bytes: all } = device;
      set_text(name, `GPU ${gpu} · ${short_name(device.name)}`);
      set_text(state, state_word(say, device.state));
      memory.show(say("memory", { gpu }), have === null || !all ? null : have / all, used);
      load.show(
        say("load", { gpu }),
        device.utilization_gpu_percent === null ? null : device.utilization_gpu_percent / 100,
        busy,
      );
      set_text(numbers, `${used} · ${busy}`);
      set_text(users, device.users.join(", "));
    },
  };
}
