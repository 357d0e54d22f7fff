// The page: one state, one stream that changes it, one view at a time that shows it.

import { set_token, sign_in, take_link, token } from "./api";
import { Connection } from "./connection";
import { route_of, address_of, type Route } from "./model/route";
import {
  after,
  changes_between,
  empty_state,
  is_firing,
  label_of,
  server_time,
  type News,
  type State,
} from "./model/state";
import type { Alert, Overview } from "./model/wire";
import { compare_view } from "./view/compare";
import { compose_view } from "./view/compose";
import { embed } from "./view/embed";
import { gpu_view } from "./view/gpu";
import { health_view } from "./view/health";
import { hosts_view } from "./view/hosts";
import { queue_view } from "./view/queue";
import { overview_view } from "./view/overview";
import { run_view } from "./view/run";
import { runs_view } from "./view/runs";
import { Shell, type Theme } from "./view/shell";
import { timeline_view } from "./view/timeline";
import { usage_view } from "./view/usage";
import type { View, PageContext } from "./view/view";
import { alert_text } from "./words/findings";
import { language_from, set_language, t, type Language } from "./words/translate";

/// In a frame of another site a browser may refuse it.
function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

let state: State = empty_state();
let theme = (stored("berth-theme") ?? "system") as Theme;
let shell!: Shell;
let view: View | null = null;
let frame = 0;
let announced_ms = -Infinity;

const context: PageContext = {
  state: () => state,
  server_now: () => server_time(state, performance.now()) ?? Date.now(),
  go: (route) => {
    location.hash = address_of(route);
  },
  announce: (text) => shell.announce(text),
};

const connection = new Connection(hear, refused);

function hear(news: News): void {
  const before = state.overview;
  const came_back = news.kind === "overview" && state.link.kind === "waiting";
  state = after(state, news);
  // Answers that failed while the server was away are asked for again.
  if (came_back && shell.main.querySelector(".failure:not([hidden])")) show_route(false);
  if (news.kind === "overview") announce_changes(before);
  if (news.kind === "alert") context.announce(alert_words(news.alert));
  // Several pieces of news before the next picture are one picture; a hidden page draws none.
  if (!frame && !document.hidden) frame = requestAnimationFrame(draw);
}

/// A token that the server no longer knows: the server began anew, or the token is over. It is of no use, and stands in
/// the way of what everybody may see.
function refused(): void {
  if (token() === null) return;
  set_token(null);
  shell.tell(t("sign_in.over"));
  connection.open();
  show_route(false);
}

/// The look that index.html has asked for while this script was read. With it the first picture is a whole one. Nothing
/// if it does not come at once; the stream tells what is the matter.
async function first_look(): Promise<Overview | null> {
  const asked = fetch("api/v1/overview").then((response) =>
    response.ok ? (response.json() as Promise<Overview>) : null,
  );
  const patience = new Promise<null>((done) => setTimeout(() => done(null), 100));
  return Promise.race([asked.catch(() => null), patience]);
}

function alert_words(alert: Alert): string {
  if (is_firing(alert)) return alert_text(alert);
  return `${t(`alerts.${alert.ending ?? "resolved"}`)}: ${alert_text(alert)}`;
}

function announce_changes(before: State["overview"]): void {
  const changes = changes_between(before, state.overview!);
  // More than one sentence in three seconds would never come to an end.
  if (changes.length === 0 || performance.now() - announced_ms < 3_000) return;
  announced_ms = performance.now();
  context.announce(
    changes
      .slice(0, 5)
      .map(({ device, to }) =>
        t("spoken.change", { gpu: label_of(device), standing: t(`standing.${to}`) }),
      )
      .join(" "),
  );
}

function draw(): void {
  frame = 0;
  const begun = performance.now();
  shell.update(state, begun);
  view?.update?.(state);
  if (state.overview && !performance.getEntriesByName("berth-first-picture").length) {
    performance.mark("berth-first-picture");
  }
  performance.measure("berth-draw", { start: begun, end: performance.now() });
  if (performance.getEntriesByName("berth-draw").length > 600)
    performance.clearMeasures("berth-draw");
}

function view_of(route: Route): View {
  switch (route.view) {
    case "overview":
      return overview_view(context);
    case "gpu":
      return gpu_view(context, route.id);
    case "timeline":
      return timeline_view(context);
    case "usage":
      return usage_view(context);
    case "health":
      return health_view(context);
    case "runs":
      return runs_view(context);
    case "run":
      return run_view(context, route.id);
    case "compare":
      return compare_view(route.id);
    case "queue":
      return queue_view(context);
    case "compose":
      return compose_view(context);
    case "hosts":
      return hosts_view(context);
  }
}

function show_route(move_focus: boolean): void {
  const route = route_of(location.hash);
  view?.close?.();
  view = view_of(route);
  shell.main.replaceChildren(view.root);
  shell.show_route(route);
  document.title = `${view.title} – berth`;
  draw();
  if (move_focus) {
    shell.main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

function build(): void {
  document.documentElement.lang =
    language_from(stored("berth-language"), navigator.languages) === "zh"
      ? "zh-CN"
      : "en";
  shell = new Shell({
    retry: () => {
      shell.tell(null);
      connection.open();
    },
    theme: () => theme,
    set_theme: (wanted) => {
      theme = wanted;
      localStorage.setItem("berth-theme", wanted);
      apply_theme();
    },
    set_language: (wanted: Language) => {
      localStorage.setItem("berth-language", wanted);
      set_language(wanted);
      build();
    },
  });
  document.body.replaceChildren(shell.root);
  show_route(false);
}

/// The style sheet knows light and dark. Which of them the system wants is found out here. So each colour stands there
/// once per theme.
const system_dark = matchMedia("(prefers-color-scheme: dark)");
function apply_theme(): void {
  const dark = theme === "system" ? system_dark.matches : theme === "dark";
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  view?.recolour?.();
}

/// By the link in the address, where there is one. `failed`: what to say where it was of no use.
async function become_known(): Promise<{ tried: boolean; failed: string | null }> {
  const link = take_link();
  if (link === null) return { tried: false, failed: null };
  const error = await sign_in(link);
  const reason = error?.code === "link_over" ? "link_over" : "link_failed";
  return { tried: true, failed: error && t(`sign_in.${reason}`, { message: error.message }) };
}
async function start(): Promise<void> {
  const known = await become_known();
  // As nobody in particular sees it: who has a token sees more with the stream's first, a moment later.
  const first = await first_look();
  if (first) {
    state = after(state, { kind: "overview", overview: first, now_ms: performance.now() });
  }
  connection.open();
  build();
  shell.tell(known.failed);
  addEventListener("hashchange", async () => {
    const again = await become_known();
    if (!again.tried) return show_route(true);
    shell.tell(again.failed);
    connection.open();
    show_route(true);
  });
  system_dark.addEventListener("change", apply_theme);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) draw();
  });
  // The countdown, and noticing that nothing has come for a while.
  setInterval(() => {
    if (!document.hidden) shell.update(state, performance.now());
  }, 1_000);
}

set_language(language_from(stored("berth-language"), navigator.languages));
apply_theme();
const up = document.documentElement.dataset["embed"];
if (up === undefined) {
  await start();
} else {
  const [, name] = /\/embed\/gpu\/([^/]+)$/.exec(location.pathname) ?? [];
  document.body.append(embed(up, name ? decodeURIComponent(name) : null));
  system_dark.addEventListener("change", apply_theme);
}
