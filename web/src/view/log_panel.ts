// The log of a run: a window of lines that follows the cursor on the charts. Only what is near is in
// the document, so a log of a million lines costs no more than a short one.

import { get, type Answer } from "../api";
import { el, set_attribute, set_hidden, set_text } from "../dom/element";
import { clock_time } from "../model/format";
import { line_at, timed_lines, type LogLine } from "../model/log_times";
import type { Run, RunLog } from "../model/wire";
import { t } from "../words/translate";
import { failure, waiting } from "./view";

const piece_bytes = 256 * 1024;
const most_bytes = 4 * 1024 * 1024;
const shown_lines = 400;

export class LogPanel {
  readonly root: HTMLElement;
  private text = "";
  private read_to = 0;
  private loaded = false;
  private lines: LogLine[] = [];
  private start = 0;
  /// Where the cursor is on the charts, which may be there before the log is.
  private wanted: number | null = null;
  private readonly list = el("ol", { class: "log", tabindex: 0, "aria-label": t("run.log") });
  private readonly note = el("p", { class: "muted small" });
  private readonly place = el("div", {}, waiting());
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
      this.list,
      el("div", { class: "bar-of-tools" }, this.earlier, this.later),
    );
    for (const part of [this.list, this.earlier, this.later]) set_hidden(part, true);
    void this.load();
  }

  /// Reads what there is from where it stopped before, to the end or to the most that is shown.
  private async read(): Promise<Answer<{ total: number }>> {
    for (;;) {
      const answer = await get<RunLog>(
        `api/v1/runs/${encodeURIComponent(`${this.run.id}@${this.run.uid}`)}/log`,
        { offset: this.read_to, limit: piece_bytes },
        this.signal,
      );
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

  /// The lines that a run which goes on has written since. Who looks at the end goes on with it; who
  /// has gone back to some place stays there.
  async follow(): Promise<void> {
    if (!this.loaded || this.read_to >= most_bytes) return;
    const { scrollTop, clientHeight, scrollHeight } = this.list;
    const at_end = scrollTop + clientHeight >= scrollHeight - 4 && this.later.hidden;
    const before = this.text.length;
    const answer = await this.read();
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
          el("span", {}, line.text),
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
    if (at < this.start || at >= this.start + shown_lines) this.draw(at - shown_lines / 2);
    const stamp = this.lines[at]!.at!;
    for (const item of this.list.children) {
      const line = this.lines[Number(item.getAttribute("data-line"))];
      const near = line?.at !== null && line?.at !== undefined && Math.abs(line.at - stamp) < 1_000;
      set_attribute(item, "aria-current", near ? "true" : null);
    }
    const item = this.list.children[at - this.start] as HTMLElement | undefined;
    if (item) this.list.scrollTop = item.offsetTop - this.list.clientHeight / 2;
  }
}
