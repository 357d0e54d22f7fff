// What stands around every view: name and host, navigation, the age of the numbers. Also language, colours, and a token
// to be known by.

import { set_token, token } from "../api";
import { el, set_attribute, set_hidden, set_text } from "../dom/element";
import { clock_time, day, duration } from "../model/format";
import { address_of, type Route } from "../model/route";
import { freshness_of, type Freshness, type State } from "../model/state";
import type { Overview } from "../model/wire";
import { language, t, type Language } from "../words/translate";

export type Theme = "system" | "light" | "dark";
const views = ["overview", "timeline", "usage", "health", "runs", "queue", "compose", "hosts"] as const;

export interface ShellActs {
  retry(): void;
  set_language(language: Language): void;
  set_theme(theme: Theme): void;
  theme(): Theme;
}

export class Shell {
  readonly root = el("div", { class: "shell" });
  readonly main = el("main", { id: "main", tabindex: -1 });
  /// Stands in place of a view until the first look.
  private readonly until_look = el(
    "p",
    { class: "until-look nothing", role: "status" },
    t("waiting"),
  );
  private readonly host = el("span", { class: "host" });
  private readonly fresh = el("span", { class: "fresh" });
  private readonly simulated = el("div", { class: "banner simulated", role: "note" });
  private readonly notice = el("div", { class: "banner notice", role: "alert" });
  private readonly trouble_text = el("span");
  private readonly trouble: HTMLElement;
  private readonly links = new Map<string, HTMLAnchorElement>();
  private readonly live = el("div", { class: "unseen", "aria-live": "polite", role: "status" });
  private readonly asker = el("button", { type: "button", class: "quiet" }, t("asker.nobody"));
  private readonly version = el("span", { class: "muted" });
  private readonly retry: HTMLButtonElement;
  private told = "";

  constructor(acts: ShellActs) {
    this.retry = el("button", { type: "button", click: acts.retry }, t("link.retry"));
    this.trouble = el(
      "div",
      // A countdown must not be read out each second: announce() says that it began and is over.
      { class: "banner trouble", role: "alert", "aria-live": "off" },
      this.trouble_text,
      this.retry,
    );
    const nav = el(
      "nav",
      { "aria-label": t("nav.label") },
      ...views.map((view) => {
        const link = el("a", { href: address_of({ view }) }, t(`nav.${view}`));
        this.links.set(view, link);
        return link;
      }),
    );
    const { dialog, open } = token_dialog(acts.retry);
    this.asker.addEventListener("click", open);
    const other: Language = language() === "en" ? "zh" : "en";
    const themes: Theme[] = ["system", "light", "dark"];
    const theme = el(
      "button",
      {
        type: "button",
        class: "quiet",
        click: () => {
          acts.set_theme(themes[(themes.indexOf(acts.theme()) + 1) % 3]!);
          set_text(theme, t(`theme.${acts.theme()}`));
        },
      },
      t(`theme.${acts.theme()}`),
    );
    theme.setAttribute("aria-description", t("theme.label"));
    this.root.append(
      el(
        "a",
        {
          class: "skip",
          href: "#main",
          click: (event: Event) => {
            event.preventDefault();
            this.main.focus();
          },
        },
        t("nav.skip"),
      ),
      el(
        "header",
        {},
        el("a", { class: "brand", href: "#/" }, "berth"),
        this.host,
        nav,
        el(
          "div",
          { class: "tools" },
          this.fresh,
          this.asker,
          theme,
          el(
            "button",
            {
              type: "button",
              class: "quiet",
              lang: other === "zh" ? "zh-CN" : "en",
              click: () => acts.set_language(other),
            },
            other === "zh" ? "中文" : "English",
          ),
        ),
      ),
      el("section", { "aria-label": t("banner.label") }, this.simulated, this.notice, this.trouble),
      this.until_look,
      this.main,
      el("footer", {}, this.version),
      dialog,
      this.live,
    );
    set_hidden(this.trouble, true);
    set_hidden(this.simulated, true);
    set_hidden(this.notice, true);
  }

  /// A message for a reader who has just come; null: none.
  tell(text: string | null): void {
    set_hidden(this.notice, text === null);
    set_text(this.notice, text ?? "");
  }

  show_route(route: Route): void {
    const of = { gpu: "overview", run: "runs", compare: "runs" } as Record<string, string>;
    const at = of[route.view] ?? route.view;
    for (const [view, link] of this.links)
      set_attribute(link, "aria-current", view === at ? "page" : null);
  }

  announce(text: string): void {
    set_text(this.live, text);
  }

  /// Called each second and at each piece of news.
  update(state: State, now_ms: number): void {
    const overview = state.overview;
    const fresh = freshness_of(state, now_ms);
    set_attribute(this.root, "data-fresh", fresh);
    set_attribute(this.root, "data-looked", overview ? "yes" : "no");
    // Nobody need look for other servers where there are none.
    set_hidden(this.links.get("hosts")!, !overview?.joined);
    set_hidden(this.links.get("queue")!, !overview?.queue.length);
    if (overview) {
      set_text(this.host, overview.host.name ?? "");
      const sim = overview.simulated;
      set_hidden(this.simulated, sim === null);
      if (sim !== null) set_text(this.simulated, t("banner.simulated", { name: sim }));
      const { user, admin, sees } = overview.asker;
      const words = [user ?? (admin ? null : t("asker.nobody")), t(`sees.${admin ? "admin" : sees}`)];
      set_text(this.asker, words.filter(Boolean).join(" · "));
      set_text(
        this.version,
        [
          overview.host.driver_version ? `driver ${overview.host.driver_version}` : "",
          `berth ${overview.version}`,
        ]
          .filter(Boolean)
          .join(" · "),
      );
    }
    set_text(this.fresh, overview ? sign_of(overview, fresh) : t("link.connecting"));
    const trouble = trouble_of(state, fresh, now_ms);
    set_hidden(this.trouble, trouble === null);
    set_hidden(this.retry, state.link.kind !== "waiting");
    if (trouble !== null) set_text(this.trouble_text, trouble);
    this.speak_of(fresh);
  }

  /// Once, when it changes; that all is well from the beginning is no news.
  private speak_of(fresh: Freshness): void {
    const before = this.told;
    this.told = fresh;
    if (fresh === before || fresh === "none") return;
    if (fresh === "live" && (before === "" || before === "none")) return;
    this.announce(t(`spoken.${fresh}`));
  }
}

/// In the head, in a word: of when the numbers are, or since when the driver is silent.
function sign_of(overview: Overview, fresh: Freshness): string {
  const silent = fresh === "unanswered" ? overview.unanswered_since_unix_ms : null;
  return t(`fresh.${fresh}`, { time: clock_time(silent ?? overview.taken_unix_ms) });
}

/// Why the numbers are not to be taken as they stand; null: they are.
function trouble_of(state: State, fresh: Freshness, now_ms: number): string | null {
  const { overview, link } = state;
  if (link.kind === "waiting") {
    if (link.refused) return t("banner.token_wanted");
    const seconds = Math.max(0, Math.ceil((link.retry_at_ms - now_ms) / 1000));
    if (!overview) return t("banner.unreachable", { seconds });
    return t("banner.disconnected", { age: duration(now_ms - state.received_ms), seconds });
  }
  if (fresh === "disconnected") return t("banner.again");
  if (!overview || (fresh !== "stale" && fresh !== "unanswered")) return null;
  const since = overview.unanswered_since_unix_ms;
  const time = clock_time(overview.taken_unix_ms);
  if (since === null) return t("banner.stale", { time });
  const silent = { since: clock_time(since), day: day(since) };
  return fresh === "stale"
    ? t("banner.unanswered", { ...silent, time })
    : t("banner.part_unanswered", silent);
}

function token_dialog(retry: () => void): { dialog: HTMLDialogElement; open(): void } {
  const input = el("input", { type: "password", autocomplete: "off", id: "token" });
  const forget = el(
    "button",
    {
      type: "button",
      click: () => {
        set_token(null);
        dialog.close();
        retry();
      },
    },
    t("token.forget"),
  );
  const dialog: HTMLDialogElement = el(
    "dialog",
    { "aria-labelledby": "token-title" },
    el(
      "form",
      {
        method: "dialog",
        submit: () => {
          set_token(input.value.trim() || null);
          input.value = "";
          retry();
        },
      },
      el("h2", { id: "token-title" }, t("token.title")),
      el("p", {}, t("token.explain")),
      el("label", { for: "token" }, t("token.label")),
      input,
      el(
        "div",
        { class: "bar-of-tools" },
        el("button", { type: "submit", class: "primary" }, t("token.use")),
        el("button", { type: "button", click: () => dialog.close() }, t("token.cancel")),
        forget,
      ),
    ),
  );
  const open = (): void => {
    set_hidden(forget, token() === null);
    dialog.showModal();
  };
  return { dialog, open };
}
