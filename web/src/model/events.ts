// Events of the cards as one list: those that the history kept, and those of the stream since.

import type { DeviceHealth, Finding, HealthNews, HealthState, LoggedEvent } from "./wire";

/// As the stream told it, or as the log has it with what the rules still say of it.
export type HealthEvent = HealthNews | (LoggedEvent & { state: HealthState | null });

/// What tells one event from another. The end of one has a kind of its own in the log, and none in the stream. But its
/// moment is its own.
export function event_key({ at_unix_ms, device, code }: HealthNews | LoggedEvent): string {
  return `${at_unix_ms} ${device} ${code}`;
}

const is_xid = (event: LoggedEvent): boolean => event.kind === "xid";
// The log has the moment of an error, the stream that of the look which saw it.
const longest_until_told_ms = 60_000;

/// An error that the stream told as a finding and the log keeps as itself.
function is_kept(told: HealthNews, logged: readonly LoggedEvent[]): boolean {
  const [, code] = /^xid_(\d+)$/.exec(told.code) ?? [];
  if (code === undefined) return false;
  return logged.some(
    (one) =>
      is_xid(one) &&
      one.device === told.device &&
      one.code === code &&
      Math.abs(told.at_unix_ms - one.at_unix_ms) < longest_until_told_ms,
  );
}

/// What the rules still find because of it; what is over, or was never a rule's, has none.
function finding_of(event: LoggedEvent, health: readonly DeviceHealth[]): Finding | undefined {
  const code = is_xid(event) ? `xid_${event.code}` : event.kind === "health" ? event.code : null;
  if (code === null) return undefined;
  return health
    .find((device) => device.id === event.device)
    ?.findings.find((finding) => finding.code === code);
}

/// Each once, the newest first. For a rule's finding the log keeps neither how grave it is nor what to do. The rules
/// say both, as long as they find it.
export function events_of(
  logged: readonly LoggedEvent[],
  told: readonly HealthNews[],
  health: readonly DeviceHealth[],
): HealthEvent[] {
  const by_key = new Map<string, HealthEvent>();
  for (const event of logged) {
    const { state, advice } = finding_of(event, health) ?? {
      state: event.kind === "health_over" ? "ok" : null,
      advice: null,
    };
    by_key.set(event_key(event), { ...event, state, advice: event.advice ?? advice });
  }
  // What the stream told says more of it than the log.
  for (const event of told) if (!is_kept(event, logged)) by_key.set(event_key(event), event);
  return [...by_key.values()].sort((a, b) => b.at_unix_ms - a.at_unix_ms);
}
