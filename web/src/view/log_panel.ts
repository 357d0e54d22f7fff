// The log of a run: a window of lines that follows the cursor on the charts. Only lines near it are in the document. So
// a log of a million lines costs no more than a short one.

import { get, type Answer } from "../api";
import { el, set_attribute, set_hidden, set_text } from "../dom/element";
import { clock_time } from "../model/format";
import { coloured, line_at, timed_lines, type LogLine } from "../model/log_times";
import type { Run, RunLog } from "../model/wire";
import { t } from "../words/translate";
import { failure, waiting } from "./view";

const piece_bytes = 256 * 1024;
const most_bytes = 4 * 1024 * 1024;
/// What a download holds in the browser's memory at most.
const most_download_bytes = 512 * 1024 * 1024;
const shown_lines = 400;

export class LogPanel {
  readonly root: HTMLElement;
  private text = "";
  private read_to = 0;
  private loaded = false;
  private is_reading = false;
  private lines: LogLine[] = [];
  private start = 0;
  /// Where the cursor is on the charts, which may be there before the log is.
  private wanted: number | null = null;
  private readonly list = el("ol", { class: "log", tabindex: 0, "aria-label": t("run.log") });
  private readonly note = el("p", { class: "muted small" });
  private readonly place = el("div", {}, waiting());
  private readonly search = el("input", {
    type: "search",
    placeholder: t("run.search"),
    "aria-label": t("run.search"),
    input: () => this.find(0),
    keydown: (event: KeyboardEvent) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.find(event.shiftKey ? -1 : 1);
    },
  });
  private readonly found = el("span", { class: "muted", role: "status" });
  private at_match = 0;
  private readonly save = el(
    "button",
    { type: "button", click: () => void this.download() },
    t("run.download"),
  );
  private readonly tools = el("div", { class: "bar-of-tools" }, this.search, this.found, this.save);
  private readonly earlier = el(
    "button",
    { type: "button", click: () => this.draw(this.start - shown_lines / 2) },
    t("run.earlier"),
  );
  private readonly later = el(
    "button",
    { type: "button", click: () => this.draw(this.start + shown_lines / 2) },
    t("run.later"),
  );

  constructor(
    private readonly run: Run,
    private readonly signal: AbortSignal,
    private readonly point: (time: number | null) => void,
  ) {
    this.root = el(
      "div",
      {},
      this.place,
      this.note,
      this.tools,
      this.list,
      el("div", { class: "bar-of-tools" }, this.earlier, this.later),
    );
    for (const part of [this.list, this.earlier, this.later, this.tools]) set_hidden(part, true);
    void this.load();
  }

  private piece(offset: number): Promise<Answer<RunLog>> {
    const run = encodeURIComponent(`${this.run.id}@${this.run.uid}`);
    return get<RunLog>(`api/v1/runs/${run}/log`, { offset, limit: piece_bytes }, this.signal);
  }

  /// Reads what there is from where it stopped before, to the end or to the most that is shown.
  private async read(): Promise<Answer<{ total: number }>> {
    for (;;) {
      const answer = await this.piece(this.read_to);
      if (!answer.ok) return answer;
      const { next, total, text } = answer.value;
      this.text += text;
      if (next > this.read_to) this.read_to = next;
      else return answer;
      if (this.read_to >= total || this.read_to >= most_bytes) return answer;
    }
  }

  private async load(): Promise<void> {
    const answer = await this.read();
    if (this.signal.aborted) return;
    if (answer.ok) {
      this.loaded = true;
      this.take(answer.value.total);
      this.to_end();
      if (this.wanted !== null) this.show_at(this.wanted);
      return;
    }
    this.place.replaceChildren(
      answer.status === 404 ? el("p", { class: "nothing" }, t("run.no_log")) : failure(answer),
    );
  }

  /// The lines that a running run has written since. A reader at the end goes on with it. A reader who has gone back
  /// stays there.
  async follow(): Promise<void> {
    // A slow disk: two readers would both go on from the same place.
    if (!this.loaded || this.is_reading || this.read_to >= most_bytes) return;
    const { scrollTop, clientHeight, scrollHeight } = this.list;
    const at_end = scrollTop + clientHeight >= scrollHeight - 4 && this.later.hidden;
    const before = this.text.length;
    this.is_reading = true;
    const answer = await this.read();
    this.is_reading = false;
    if (this.signal.aborted || !answer.ok || this.text.length === before) return;
    this.take(answer.value.total);
    if (at_end) this.to_end();
    else {
      this.draw(this.start);
      this.list.scrollTop = scrollTop;
    }
  }

  private take(total: number): void {
    this.lines = timed_lines(this.text, this.run.started_unix_ms);
    this.place.replaceChildren();
    set_hidden(this.tools, this.lines.length === 0);
    const timed = this.lines.some((line) => line.at !== null);
    const notes = [
      this.lines.length === 0
        ? t("run.empty_log")
        : timed
          ? t("run.timed_log")
          : t("run.untimed_log"),
      this.read_to < total ? t("run.cut_log") : "",
    ];
    set_text(this.note, notes.filter(Boolean).join(" "));
  }

  /// All of it, also what is too long to be shown here.
  private async download(): Promise<void> {
    this.save.disabled = true;
    const pieces: string[] = [];
    let offset = 0;
    let refused: Answer<RunLog> | null = null;
    while (offset < most_download_bytes) {
      const answer = await this.piece(offset);
      if (this.signal.aborted) return;
      if (!answer.ok) refused = answer;
      if (!answer.ok || answer.value.next <= offset) break;
      pieces.push(answer.value.text);
      offset = answer.value.next;
    }
    this.save.disabled = false;
    if (refused && !refused.ok) return this.place.replaceChildren(failure(refused));
    const address = URL.createObjectURL(new Blob(pieces, { type: "text/plain" }));
    el("a", { href: address, download: `${this.run.id}.log` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }

  /// Goes to the next line with what is searched for, or the one before.
  private find(by: number): void {
    const wanted = this.search.value.toLowerCase();
    const matches = wanted
      ? this.lines.flatMap((line, i) => (line.text.toLowerCase().includes(wanted) ? [i] : []))
      : [];
    // Typing on keeps the newest match in sight: what went wrong stands near the end.
    this.at_match = by === 0 ? matches.length - 1 : this.at_match + by;
    if (matches.length) this.at_match = (this.at_match + matches.length) % matches.length;
    const at = matches[this.at_match];
    const place = { n: this.at_match + 1, all: matches.length };
    set_text(this.found, !wanted ? "" : at === undefined ? t("run.not_found") : t("run.found", place));
    if (at !== undefined) this.show_line(at, (item) => item === at);
  }

  private to_end(): void {
    this.draw(Math.max(0, this.lines.length - shown_lines));
    this.list.scrollTop = this.list.scrollHeight;
  }

  private draw(start: number): void {
    this.start = Math.max(0, Math.min(start, this.lines.length - shown_lines));
    const shown = this.lines.slice(this.start, this.start + shown_lines);
    this.list.replaceChildren(
      ...shown.map((line, i) =>
        el(
          "li",
          { "data-line": this.start + i, mouseenter: () => this.point(line.at) },
          el("time", { class: "muted" }, line.at === null ? "" : clock_time(line.at)),
          el("span", {}, ...parts_of(line)),
        ),
      ),
    );
    set_hidden(this.list, shown.length === 0);
    set_hidden(this.earlier, this.start === 0);
    set_hidden(this.later, this.start + shown_lines >= this.lines.length);
  }

  /// Shows the lines of that moment: the last one written by then, and its neighbours of that second.
  show_at(time: number): void {
    this.wanted = time;
    const at = line_at(this.lines, time);
    if (at === null) return;
    const stamp = this.lines[at]!.at!;
    const is_near = (line: LogLine | undefined): boolean =>
      line?.at !== null && line?.at !== undefined && Math.abs(line.at - stamp) < 1_000;
    this.show_line(at, (item) => is_near(this.lines[item]));
  }

  private show_line(at: number, is_current: (line: number) => boolean): void {
    if (at < this.start || at >= this.start + shown_lines) this.draw(at - shown_lines / 2);
    for (const item of this.list.children) {
      const is_one = is_current(Number(item.getAttribute("data-line")));
      set_attribute(item, "aria-current", is_one ? "true" : null);
    }
    const item = this.list.children[at - this.start] as HTMLElement | undefined;
    if (item) this.list.scrollTop = item.offsetTop - this.list.clientHeight / 2;
  }
}

function parts_of(line: LogLine): (Node | string)[] {
  if (line.raw === null) return [line.text];
  return coloured(line.raw).map(({ text, look }) => (look ? el("span", { class: look }, text) : text));
}
