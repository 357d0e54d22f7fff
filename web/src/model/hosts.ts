// Other servers as one look over all of them: how they stand together, and which to show.

import { state_counts, standing_of, standings, type Standing } from "./state";
import type { HostDevice, JoinedHost, Overview } from "./wire";

/// The cards of which something is known now. A server that does not answer claims nothing. What it had when it was
/// last seen does not count as free.
export function known_devices(host: JoinedHost): HostDevice[] {
  return host.state === "ok" ? host.devices : [];
}

export interface Together {
  hosts: number;
  answering: number;
  counts: Record<Standing, number>;
}
export function together(hosts: readonly JoinedHost[]): Together {
  return {
    hosts: hosts.length,
    answering: hosts.filter((host) => host.state === "ok").length,
    counts: state_counts(hosts.flatMap(known_devices)),
  };
}

/// Hosts with a card of that standing and with `words` in their name or among their users.
export function chosen_hosts(
  hosts: readonly JoinedHost[],
  only: Standing | null,
  words: string,
): JoinedHost[] {
  const wanted = words.trim().toLowerCase();
  return hosts.filter((host) => {
    const devices = known_devices(host);
    if (only !== null && !devices.some((device) => standing_of(device) === only)) return false;
    if (wanted === "") return true;
    const said = [host.name, host.address, ...devices.flatMap((device) => device.users)];
    return said.some((text) => text.toLowerCase().includes(wanted));
  });
}

/// Servers that do not answer come first, as somebody must see to them. Then by name, "gpu2" before "gpu10".
export function ordered(hosts: readonly JoinedHost[]): JoinedHost[] {
  // Made here: who sees one server should not wait for it.
  const collator = new Intl.Collator("en", { numeric: true });
  const rank = (host: JoinedHost): number => (host.state === "ok" ? 1 : 0);
  return [...hosts].sort((a, b) => rank(a) - rank(b) || collator.compare(a.name, b.name));
}

/// "5 free, 3 leased", for readers who do not see the cells. `word` names a standing.
export function counted(host: JoinedHost, word: (standing: Standing) => string): string {
  const counts = state_counts(host.devices);
  return standings
    .filter((standing) => counts[standing] > 0)
    .map((standing) => `${counts[standing]} ${word(standing)}`)
    .join(", ");
}

/// A link that is one: other servers' words are theirs, and "javascript:" is no page.
export function page_of(host: JoinedHost): string | null {
  return host.page !== null && /^https?:\/\//i.test(host.page) ? host.page : null;
}

/// This server as one of them.
export function this_host(overview: Overview): JoinedHost {
  return {
    name: overview.host.name ?? "localhost",
    address: "",
    state: overview.stale ? "stale" : "ok",
    why: null,
    remedy: null,
    asked_unix_ms: overview.taken_unix_ms,
    taken_unix_ms: overview.taken_unix_ms,
    simulated: overview.simulated,
    version: overview.version,
    counts: {},
    devices: overview.devices,
    queue: overview.queue.length,
    alerts: overview.alerts.length,
    page: "#/",
  };
}

/// A name in three parts: the beginning and the end that all others share, and the part between. That part tells it
/// apart and must never be cut.
export type NameParts = [string, string, string];
export function name_parts(names: readonly string[]): (name: string) => NameParts {
  const shared = (all: readonly string[]): number => {
    const [first = "", ...others] = all;
    let length = 0;
    while (length < first.length && others.every((name) => name[length] === first[length]))
      length += 1;
    return length;
  };
  if (names.length < 2) return (name) => ["", name, ""];
  const before = shared(names);
  const reversed = names.map((name) => [...name.slice(before)].reverse().join(""));
  const behind = shared(reversed);
  return (name) => [
    name.slice(0, before),
    name.slice(before, name.length - behind),
    name.slice(name.length - behind),
  ];
}
