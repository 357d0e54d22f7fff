// Server-sent events, parsed from pieces of text as they arrive. The browser's EventSource hides
// keep-alive comments and cannot carry a token; with fetch and this, the page has both.

export interface ServerEvent {
  event: string;
  data: string;
  id: string | null;
}

/// A comment (keep-alive) is an event named "comment".
export class EventStreamParser {
  private rest = "";
  private event = "";
  private data: string[] = [];
  private id: string | null = null;

  feed(text: string): ServerEvent[] {
    const found: ServerEvent[] = [];
    this.rest += text;
    for (;;) {
      const end = this.rest.search(/\r\n|\n|\r(?=.)/s);
      if (end < 0) return found;
      const line = this.rest.slice(0, end);
      this.rest = this.rest.slice(end + (this.rest.startsWith("\r\n", end) ? 2 : 1));
      const done = this.take(line);
      if (done) found.push(done);
    }
  }

  private take(line: string): ServerEvent | null {
    if (line === "") {
      const done = this.data.length
        ? { event: this.event || "message", data: this.data.join("\n"), id: this.id }
        : null;
      this.event = "";
      this.data = [];
      return done;
    }
    if (line.startsWith(":")) return { event: "comment", data: line.slice(1).trim(), id: this.id };
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.event = value;
    if (field === "data") this.data.push(value);
    if (field === "id") this.id = value;
    return null;
  }
}

/// How long to wait before the next try: a second, then twice as long each time, at most 30 s. A
/// little chance keeps many pages from asking all at once.
export function wait_before(attempt: number, chance: number): number {
  const base = Math.min(30_000, 1_000 * 2 ** Math.min(attempt, 6));
  return Math.round(base * (1 + 0.25 * chance));
}
