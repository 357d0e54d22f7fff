// What the page knows, and how each piece of news changes it. No DOM, no clock: the caller says
// what time it is.

import type { Alert, Device, HealthNews, HostDevice, Overview } from "./wire";
import { LiveSeries, longest_look_ms } from "./series";

/// A device's state as the overview tells it. `broken` gathers what no job should be given: lost,
/// unusable, or called failed by a health rule.
export type Standing =
  "free" | "reserved" | "leased" | "busy" | "held" | "broken" | "unknown" | "divided";
export const standings: Standing[] = [
  "free",
  "reserved",
  "leased",
  "busy",
  "held",
  "broken",
  "unknown",
  "divided",
];

/// How near a card is to slowing itself down for its heat. Its server judges by the card's own limits. A card that
/// tells no limit has no heat.
export function heat_of(device: Device): NonNullable<Device["heat"]> {
  return device.heat ?? "normal";
}

/// What a card of this server or of another one says of itself.
type Told = Pick<HostDevice, "state" | "health">;

export function standing_of(device: Told): Standing {
  if (device.health === "failed" || device.state === "lost" || device.state === "unusable") {
    return "broken";
  }
  // Another server, a newer one, may know of more states than this page.
  return standings.find((standing) => standing === device.state) ?? "unknown";
}

export type Link =
  | { kind: "connecting" }
  | { kind: "live" }
  /// `refused`: the server wants to know who asks.
  | { kind: "waiting"; retry_at_ms: number; attempts: number; refused: boolean };

/// Monotonic milliseconds (performance.now), never the calendar: the server's clock may differ.
export interface State {
  overview: Overview | null;
  /// When the newest look first came. One that is only said again is none the newer for it.
  received_ms: number;
  link: Link;
  series: Map<string, LiveSeries>;
  events: HealthNews[];
  alerts: Alert[];
}

export function empty_state(): State {
  return {
    overview: null,
    received_ms: 0,
    link: { kind: "connecting" },
    series: new Map(),
    events: [],
    alerts: [],
  };
}

const most_events = 200;

export type News =
  | { kind: "overview"; overview: Overview; now_ms: number }
  | { kind: "health"; event: HealthNews }
  | { kind: "alert"; alert: Alert }
  | { kind: "link"; link: Link };

/// The state after the news. The series grow in place: copying them each second would be the most
/// expensive thing the page does.
export function after(state: State, news: News): State {
  switch (news.kind) {
    case "overview": {
      const firing = news.overview.alerts;
      const over = state.alerts.filter(
        (one) => !is_firing(one) && firing.every((other) => other.id !== one.id),
      );
      const series = state.series;
      const seen = new Set<string>();
      for (const device of news.overview.devices) {
        seen.add(device.id);
        let own = series.get(device.id);
        if (!own) series.set(device.id, (own = new LiveSeries()));
        own.add(news.overview.taken_unix_ms, device);
      }
      for (const id of series.keys()) if (!seen.has(id)) series.delete(id);
      const is_known = state.overview?.taken_unix_ms === news.overview.taken_unix_ms;
      return {
        ...state,
        overview: news.overview,
        received_ms: is_known ? state.received_ms : news.now_ms,
        link: { kind: "live" },
        alerts: [...firing, ...over].slice(0, most_events),
      };
    }
    case "health":
      return { ...state, events: [news.event, ...state.events].slice(0, most_events) };
    case "alert":
      return { ...state, alerts: with_alert(state.alerts, news.alert) };
    case "link":
      return { ...state, link: news.link };
  }
}

/// One entry per alert: a resolved one replaces the firing one.
export function with_alert(alerts: Alert[], alert: Alert): Alert[] {
  return [alert, ...alerts.filter((other) => other.id !== alert.id)].slice(0, most_events);
}

export function is_firing(alert: Alert): boolean {
  return alert.resolved_unix_ms === null;
}

/// An alert that is over need not be mended.
export function is_mended(alert: Alert): boolean {
  return alert.ending === "resolved";
}

/// Alerts that fire come first, the gravest first. Then those that are over, the latest first.
const gravity = { critical: 0, warning: 1, notice: 2 };
export function sorted_alerts(alerts: Alert[]): Alert[] {
  const rank = (alert: Alert): number => (is_firing(alert) ? gravity[alert.severity] : 3);
  const time = (alert: Alert): number => alert.resolved_unix_ms ?? alert.since_unix_ms;
  return [...alerts].sort((a, b) => rank(a) - rank(b) || time(b) - time(a));
}

/// The server's own time, as far as its looks tell; null: there was none yet.
export function server_time(state: State, now_ms: number): number | null {
  return state.overview && state.overview.taken_unix_ms + (now_ms - state.received_ms);
}

/// How the numbers on the page are to be taken. "unanswered": looks go on, without the driver or a
/// part of it.
export type Freshness = "none" | "live" | "unanswered" | "stale" | "disconnected";

export function freshness_of(state: State, now_ms: number): Freshness {
  if (state.link.kind === "waiting") return "disconnected";
  if (!state.overview) return "none";
  const patience = Math.max(10_000, 5 * state.overview.interval_ms);
  if (state.overview.stale || now_ms - state.received_ms > patience) return "stale";
  if (state.link.kind !== "live") return "disconnected";
  const since = state.overview.unanswered_since_unix_ms;
  // Until then a driver is slow and does not hang.
  const hangs = since !== null && server_time(state, now_ms)! - since > longest_look_ms;
  return hangs ? "unanswered" : "live";
}

export function state_counts(devices: readonly Told[]): Record<Standing, number> {
  const counts = Object.fromEntries(standings.map((standing) => [standing, 0])) as Record<
    Standing,
    number
  >;
  for (const device of devices) counts[standing_of(device)] += 1;
  return counts;
}

/// The users on it. If there are none: those that it is reserved for.
export function people_of(device: Pick<Device, "state" | "users" | "reserved_for">): string[] {
  const nobody = device.users.length === 0;
  return nobody && device.state === "reserved" ? device.reserved_for : device.users;
}

/// The memory used on all cards. A lower bound if one card tells only that.
export function memory_used_by(cards: Device[]): Sum {
  const sum = sum_of(cards.map((card) => card.memory_used_bytes));
  return { ...sum, partial: sum.partial || cards.some((card) => card.memory_used_is_bound) };
}

/// A sum of readings some of which may be missing: then it is a lower bound, and says so.
export interface Sum {
  value: number;
  partial: boolean;
  parts: number;
}
export function sum_of(readings: (number | null)[]): Sum {
  const known = readings.filter((value): value is number => value !== null);
  return {
    value: known.reduce((a, b) => a + b, 0),
    partial: known.length < readings.length,
    parts: known.length,
  };
}

/// What a screen reader should hear of: cards that changed their standing.
export interface Change {
  device: Device;
  from: Standing;
  to: Standing;
}
export function changes_between(before: Overview | null, now: Overview): Change[] {
  if (!before) return [];
  const old = new Map(before.devices.map((device) => [device.id, standing_of(device)]));
  const changes: Change[] = [];
  for (const device of now.devices) {
    const from = old.get(device.id);
    const to = standing_of(device);
    if (from !== undefined && from !== to) changes.push({ device, from, to });
  }
  return changes;
}

/// "3", or "0:2" for the instance 2 of card 0; an instance shares its card's index.
export function label_of(
  device: Pick<Device, "index" | "id"> & Partial<Pick<Device, "mig" | "parent">>,
): string {
  const index = device.index === null ? device.id.slice(0, 8) : String(device.index);
  if (device.mig) return `${index}:${device.mig.gpu_instance}`;
  return device.parent ? `${index}:${device.id.replace(/^MIG-/, "").slice(0, 4)}` : index;
}

/// Cards, each with its instances behind it. An instance whose card is not in the list stands alone.
export function by_card(devices: readonly Device[]): { card: Device; instances: Device[] }[] {
  const cards = new Map<string, { card: Device; instances: Device[] }>();
  for (const device of devices)
    if (device.parent === null) cards.set(device.id, { card: device, instances: [] });
  for (const device of devices) {
    if (device.parent === null) continue;
    const above = cards.get(device.parent);
    if (above) above.instances.push(device);
    else cards.set(device.id, { card: device, instances: [] });
  }
  return [...cards.values()];
}

/// Whether the server would let this asker end or signal what is `owner`'s. It does for the asker's own things, or for
/// everything. The server decides; this only hides buttons that could do nothing.
export function may_act_for(asker: Overview["asker"], owner: string | null): boolean {
  return asker.admin || (asker.user !== null && asker.user === owner);
}

export function find_device(overview: Overview | null, id: string): Device | null {
  return overview?.devices.find((device) => device.id === id) ?? null;
}

export function command_text(command: string[] | null): string | null {
  return command && command.map(as_word).join(" ");
}

/// As a shell would want it typed.
export function as_word(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
