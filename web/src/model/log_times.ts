// When the lines of a log were written, as far as they say so themselves. A line without a stamp belongs to the stamped
// one before it. A log without stamps has no times, and none are invented.

export interface LogLine {
  text: string;
  at: number | null;
  /// With its escape sequences, where it has some.
  raw: string | null;
}

export interface Coloured {
  text: string;
  /// A class of the style sheet, or of two: "ansi-1 ansi-bold"; empty: as any text.
  look: string;
}

/// What a terminal would show of it: the eight colours and bold. Other looks are left out.
export function coloured(raw: string): Coloured[] {
  const parts: Coloured[] = [];
  let colour = "";
  let bold = "";
  for (const piece of raw.slice(raw.replace(/\r+$/, "").lastIndexOf("\r") + 1).split(/(?=\x1b\[)/)) {
    const found = /^\x1b\[([\d;]*)m/.exec(piece);
    const codes = found ? found[1]!.split(";").map(Number) : [];
    for (let i = 0; i < codes.length; ++i) {
      const code = codes[i]!;
      if (code === 0) colour = bold = "";
      else if (code === 1) bold = "ansi-bold";
      else if (code === 22) bold = "";
      else if (code === 39) colour = "";
      else if (code === 38 || code === 48) i += codes[i + 1] === 5 ? 2 : 4;
      else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) {
        colour = `ansi-${code % 10}`;
      }
    }
    const text = clean_line(piece);
    if (text) parts.push({ text, look: [colour, bold].filter(Boolean).join(" ") });
  }
  return parts;
}

/// Escape sequences go, and of a progress bar's overwrites the last stays.
export function clean_line(line: string): string {
  const plain = line.replace(
    /\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]/g,
    "",
  );
  const kept = plain.replace(/\r+$/, "");
  return kept.slice(kept.lastIndexOf("\r") + 1).replace(/[\x00-\x08\x0b-\x1f\x7f]/g, "");
}

// 2026-11-21T11:45:04.123+08:00, 2026-11-21 11:45:04,123, 2026/11/21 11:45:04
const full =
  /(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d)?/;
// @1795261504260, as in berth's own marks
const unix = /^@(\d{13})\b/;

interface Stamp {
  utc: number;
  zoned: boolean;
}

function stamp_of(line: string): Stamp | null {
  const marked = unix.exec(line);
  if (marked) return { utc: Number(marked[1]), zoned: true };
  // Somewhere near the start: a date deep in a line is what the line tells of.
  const found = full.exec(line.slice(0, 80));
  if (!found) return null;
  const [, year, month, date, hour, minute, second, fraction, zone] = found;
  const ms = fraction ? Number(fraction.slice(0, 3).padEnd(3, "0")) : 0;
  const utc = Date.UTC(+year!, +month! - 1, +date!, +hour!, +minute!, +second!, ms);
  if (!zone) return { utc, zoned: false };
  if (zone === "Z") return { utc, zoned: true };
  const digits = zone.replace(":", "");
  const offset = (Number(digits.slice(1, 3)) * 60 + Number(digits.slice(3, 5))) * 60_000;
  return { utc: digits.startsWith("-") ? utc + offset : utc - offset, zoned: true };
}

/// The server's zone, for stamps without one. It is the quarter of an hour from UTC that puts the first stamp closest
/// after the run's start. Null: there is no such stamp.
function zone_shift(stamps: (Stamp | null)[], started: number): number {
  const first = stamps.find((stamp) => stamp !== null && !stamp.zoned);
  if (!first) return 0;
  const quarter = 15 * 60_000;
  return Math.floor((first.utc - started + 60_000) / quarter) * quarter;
}

export function timed_lines(text: string, started_unix_ms: number): LogLine[] {
  const raw = text.split("\n");
  if (raw.at(-1) === "") raw.pop();
  const lines = raw.map(clean_line);
  const stamps = lines.map(stamp_of);
  const shift = zone_shift(stamps, started_unix_ms);
  let last: number | null = null;
  return lines.map((line, i) => {
    const stamp = stamps[i];
    if (stamp) last = stamp.zoned ? stamp.utc : stamp.utc - shift;
    return { text: line, at: last, raw: raw[i]!.includes("\x1b[") ? raw[i]! : null };
  });
}

/// The last line written at or before `time`; null: none has a time, or all are later.
export function line_at(lines: Pick<LogLine, "at">[], time: number): number | null {
  let found: number | null = null;
  for (let i = 0; i < lines.length; ++i) {
    const at = lines[i]!.at;
    if (at === null) continue;
    if (at > time) break;
    found = i;
  }
  return found;
}
