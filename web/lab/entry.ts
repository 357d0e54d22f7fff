// The panel as JupyterLab and Notebook 7 load it: a container of module federation, made by hand. A container that
// throws, or a module without `__esModule`, keeps JupyterLab itself from starting. So whatever goes wrong here is said
// on the console, and the lab gets an empty list of plugins.

import style from "./panel.css";
import { Panel } from "./panel";
import { Asking, type LabOverview } from "./overview";
import { words_of } from "./words";

type Scope = Record<string, Record<string, { get(): Promise<() => unknown> }>>;

interface Widget {
  id: string;
  node: HTMLElement;
  title: { caption: string; iconClass: string };
}
interface Shell {
  add(widget: Widget, area: string, how: { rank: number }): void;
  currentWidget: { sessionContext?: { session?: { kernel?: { id: string } | null } | null } } | null;
  currentChanged?: { connect(listener: () => void): void };
}
interface Lab {
  shell: Shell;
  serviceManager: {
    serverSettings: { baseUrl: string; token: string; fetch: typeof fetch };
    kernels: { shutdown(id: string): Promise<void> };
    sessions: {
      running(): Iterable<{ id: string; kernel: { id: string } | null }>;
      shutdown(id: string): Promise<void>;
    };
  };
}
type WidgetClass = new (how: { node: HTMLElement }) => Widget;
interface Translation {
  ITranslator: unknown;
}

let scope: Scope = {};

/// A module that JupyterLab has loaded for everybody.
async function shared<T>(name: string): Promise<T> {
  const version = Object.values(scope[name] ?? {}).at(-1);
  if (!version) throw new Error(`${name} is not shared here`);
  return (await version.get())() as T;
}

function begin(lab: Lab, Widget: WidgetClass, language: string): void {
  const { serverSettings, kernels, sessions } = lab.serviceManager;
  const say = words_of(language);
  const panel = new Panel({
    say,
    kernel_in_front: () => lab.shell.currentWidget?.sessionContext?.session?.kernel?.id ?? null,
    // As the lab's own list of what runs does it: a session ends with its kernel.
    shut_down: async (id) => {
      const session = [...sessions.running()].find((one) => one.kernel?.id === id);
      await (session ? sessions.shutdown(session.id) : kernels.shutdown(id));
      asking.now();
    },
    page: `${serverSettings.baseUrl}berth/page/`,
  });
  let tag: string | null = null;
  let last: LabOverview | null = null;
  const asking = new Asking(async () => {
    try {
      const headers: Record<string, string> = {};
      if (serverSettings.token) headers["authorization"] = `token ${serverSettings.token}`;
      if (tag) headers["if-none-match"] = tag;
      const address = `${serverSettings.baseUrl}berth/api/overview`;
      const response = await fetch(address, { headers, cache: "no-store", signal: AbortSignal.timeout(10_000) });
      if (response.status !== 304) {
        if (!response.ok) throw new Error(`HTTP ${response.status}`);
        last = (await response.json()) as LabOverview;
        tag = response.headers.get("etag");
      }
      // By the server's clock, as all that it says.
      if (last) panel.update(last, Date.parse(response.headers.get("date") ?? "") || Date.now());
      return true;
    } catch (error) {
      panel.unreachable(error instanceof Error ? error.message : String(error));
      return false;
    }
  });
  let is_shown = false;
  const look = (): void => asking.watch(is_shown && !document.hidden);
  new IntersectionObserver((entries) => {
    is_shown = entries.at(-1)!.isIntersecting;
    look();
  }).observe(panel.root);
  document.addEventListener("visibilitychange", look);
  lab.shell.currentChanged?.connect(() => panel.show_here());

  document.head.append(Object.assign(document.createElement("style"), { textContent: style }));
  const widget = new Widget({ node: panel.root });
  widget.id = "berth-lab-panel";
  widget.title.caption = say("title");
  widget.title.iconClass = "berth-lab-icon jp-SideBar-tabIcon";
  lab.shell.add(widget, "left", { rank: 850 });
}

async function plugins(): Promise<unknown[]> {
  const { Widget } = await shared<{ Widget: WidgetClass }>("@lumino/widgets");
  const translation = await shared<Translation>("@jupyterlab/translation").catch(() => null);
  return [
    {
      id: "@berth/lab:panel",
      description: "GPUs, who holds them, and idle kernels that do",
      autoStart: true,
      optional: translation ? [translation.ITranslator] : [],
      activate: (lab: Lab, translator: { languageCode?: string } | null) => {
        try {
          begin(lab, Widget, translator?.languageCode ?? "en");
        } catch (error) {
          console.warn("berth: there is no panel:", error);
        }
      },
    },
  ];
}

export const container = {
  init(given: Scope): void {
    scope = given;
  },
  async get(name: string): Promise<() => { __esModule: true; default: unknown[] }> {
    let found: unknown[] = [];
    try {
      if (name === "./extension") found = await plugins();
    } catch (error) {
      console.warn("berth: there is no panel:", error);
    }
    return () => ({ __esModule: true, default: found });
  },
};

const all = ((globalThis as { _JUPYTERLAB?: Record<string, unknown> })._JUPYTERLAB ??= {});
all["@berth/lab"] = container;
