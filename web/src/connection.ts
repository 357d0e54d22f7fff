// The stream of looks: opened, read, and opened again when it breaks, with a pause that grows.

import { credentials, headers } from "./api";
import { EventStreamParser, wait_before, type ServerEvent } from "./model/event_stream";
import type { News } from "./model/state";
import type { Alert, HealthNews, Overview } from "./model/wire";

// The server sends a comment every 15 s where it has nothing else to say.
const longest_silence_ms = 40_000;

class Refused extends Error {}

export class Connection {
  private stop: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private attempts = 0;
  private last_id: string | null = null;

  /// `refused`: who asks is not known there.
  constructor(
    private readonly tell: (news: News) => void,
    private readonly refused: () => void,
  ) {}

  open(): void {
    this.close();
    const stop = (this.stop = new AbortController());
    this.read(stop.signal).then(
      () => this.again(stop, false),
      (error: unknown) => this.again(stop, error instanceof Refused),
    );
  }

  close(): void {
    clearTimeout(this.timer);
    this.stop?.abort();
    this.stop = null;
  }

  private again(stop: AbortController, refused: boolean): void {
    if (this.stop !== stop) return;
    stop.abort();
    this.stop = null;
    const wait = wait_before(this.attempts, Math.random());
    this.attempts += 1;
    const retry_at_ms = performance.now() + wait;
    this.tell({
      kind: "link",
      link: { kind: "waiting", retry_at_ms, attempts: this.attempts, refused },
    });
    this.timer = setTimeout(() => this.open(), wait);
    if (refused) this.refused();
  }

  private async read(signal: AbortSignal): Promise<void> {
    const own: Record<string, string> = { ...headers(), accept: "text/event-stream" };
    if (this.last_id !== null) own["last-event-id"] = this.last_id;
    const how = { headers: own, credentials: credentials(), signal, cache: "no-store" } as const;
    const response = await fetch("api/v1/events", how);
    if (response.status === 401) throw new Refused();
    if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventStreamParser();
    for (;;) {
      const { done, value } = await within(longest_silence_ms, reader.read());
      if (done) return;
      for (const event of parser.feed(value)) this.hear(event);
    }
  }

  private hear(event: ServerEvent): void {
    this.attempts = 0;
    if (event.id !== null) this.last_id = event.id;
    const data = event.event === "comment" ? null : (JSON.parse(event.data) as unknown);
    if (event.event === "overview") {
      this.tell({ kind: "overview", overview: data as Overview, now_ms: performance.now() });
    } else if (event.event === "health") {
      this.tell({ kind: "health", event: data as HealthNews });
    } else if (event.event === "alert") {
      this.tell({ kind: "alert", alert: data as Alert });
    }
  }
}

function within<T>(ms: number, wanted: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("silence")), ms);
  });
  return Promise.race([wanted, late]).finally(() => clearTimeout(timer));
}
