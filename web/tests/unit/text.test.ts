import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import {
  at_least,
  bytes,
  dash,
  duration,
  energy,
  filled,
  hours,
  percent,
  short_name,
  used_of,
  watts,
} from "../../src/model/format";
import { row_key } from "../../src/model/usage";
import { EventStreamParser, wait_before } from "../../src/model/event_stream";
import { advice_text, advices, alert_text, alert_titles, titles } from "../../src/words/findings";
import { end_text, has_no_job, lasted } from "../../src/view/runs";
import { language_from, set_language } from "../../src/words/translate";
import { words } from "../../src/words/words";

test("what is reserved has one word in each language", () => {
  assert.deepEqual(words["tile.reserved"], words["standing.reserved"]);
});

test("a run that never started has no duration and says who stopped it", () => {
  const run = {
    started_unix_ms: 1000,
    waiting: true,
    waited_ms: 12_000,
    state: "ended" as const,
    end: {
      at_unix_ms: 13_000,
      known: true,
      ended: null,
      exit_code: null,
      signal: 15,
      because: "left the queue",
      stopped_by: "ana" as string | null,
      lasted_milliseconds: null,
    },
  };
  assert.equal(end_text(run), "never started: waited 12s, stopped by ana");
  assert.equal(lasted(run, 99_000), dash);
  run.end.stopped_by = null;
  assert.equal(end_text(run), "never started: waited 12s");
  assert.ok(has_no_job({ ...run, state: "waiting", end: null }));
  assert.ok(!has_no_job({ ...run, waiting: false }));
});

test("what is absent is a dash, and zero is zero", () => {
  assert.deepEqual(
    [percent(null), bytes(null), watts(undefined), duration(null), energy(null), hours(null)],
    Array(6).fill(dash),
  );
  assert.deepEqual([percent(0), bytes(0), watts(0), hours(0)], ["0 %", "0 B", "0 W", "0"]);
});

test("a lower bound says so, and what is absent is none", () => {
  assert.equal(at_least(energy(7.2e6), true), "≥ 2.0 kWh");
  assert.equal(at_least(energy(7.2e6), false), "2.0 kWh");
  assert.equal(at_least(energy(null), true), dash);
});

test("numbers have the unit that fits", () => {
  assert.equal(bytes(51_312_485_990), "47.8 GiB");
  assert.equal(used_of(64_242_057_216, 85_520_809_984), "59.8 / 79.6 GiB");
  assert.equal(used_of(null, null), dash);
  assert.equal(used_of(3_328_599_655, 12 * 2 ** 30, true), "≥ 3.1 / 12.0 GiB");
  assert.equal(used_of(null, 12 * 2 ** 30, true), "– / 12.0 GiB", "nothing is no bound");
  assert.equal(watts(640_453), "640 W");
  assert.equal(energy(7.2e6), "2.0 kWh");
  assert.equal(short_name("NVIDIA H100 80GB HBM3"), "H100 80GB HBM3");
});

test("jobs of one name are told apart by whose they are", () => {
  const rows = [
    { key: "train", user: "wei" },
    { key: "train", user: "mara" },
    { key: "", user: "wei" },
    { key: "", user: "mara" },
    { key: "wei" },
  ];
  assert.equal(new Set(rows.map(row_key)).size, rows.length);
});

test("durations read as in the program's own tables", () => {
  assert.deepEqual(
    [42_000, 200_000, 18_120_000, 90_000_000, 284_400_000].map((ms) => duration(ms)),
    ["42s", "3m20s", "5h02m", "1d01h", "3d07h"],
  );
});

test("an event that arrives in pieces is one event", () => {
  const parser = new EventStreamParser();
  assert.deepEqual(parser.feed("id: 7\nevent: over"), []);
  assert.deepEqual(parser.feed('view\ndata: {"a":'), []);
  assert.deepEqual(parser.feed("1}\n\n"), [{ event: "overview", data: '{"a":1}', id: "7" }]);
});

test("several events, comments and all kinds of line ends are told apart", () => {
  const parser = new EventStreamParser();
  const found = parser.feed(": still here\r\n\r\ndata: a\r\ndata: b\r\n\r\ndata: c\n\n\n");
  assert.deepEqual(
    found.map(({ event, data }) => [event, data]),
    [
      ["comment", "still here"],
      ["message", "a\nb"],
      ["message", "c"],
    ],
  );
});

test("the wait before the next try grows to half a minute and no further", () => {
  assert.deepEqual(
    [0, 1, 2, 5, 50].map((attempt) => wait_before(attempt, 0)),
    [1_000, 2_000, 4_000, 30_000, 30_000],
  );
  assert.ok(wait_before(50, 1) <= 37_500);
});

test("every word stands in both languages, with the same blanks to fill", () => {
  const blanks = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();
  for (const [key, [english, chinese]] of Object.entries(words)) {
    assert.notEqual(english, "", key);
    assert.notEqual(chinese, "", key);
    assert.deepEqual(blanks(chinese), blanks(english), key);
  }
});

test("Chinese is Chinese, but for names", () => {
  const names = new Set(["column.pid", "column.sm", "usage.by_gpu", "run.git", "extra.pcie", "extra.nvlink", "extra.sm", "extra.tensor"]);
  for (const [key, [, chinese]] of Object.entries(words)) {
    if (!names.has(key)) assert.match(chinese, /\p{Script=Han}/u, key);
  }
});

test("every word is used somewhere", () => {
  const root = process.env["BERTH_WEB"]!;
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith("words.ts"))
    .map((name) => readFileSync(join(root, "src", name), "utf8"))
    .join("\n");
  for (const key of Object.keys(words)) {
    const group = key.slice(0, key.indexOf(".") + 1);
    const used =
      sources.includes(`"${key}"`) ||
      sources.includes(`\`${group}\${`) ||
      sources.includes(`\`${group.slice(0, -1)}.\${`) ||
      (key.startsWith("usage.by_") && sources.includes("`usage.by_${"));
    assert.ok(used, `"${key}" is used nowhere`);
  }
});

/// All files of a folder of the server's source, with texts that go over several lines as one.
function source_of(folder: string, names: RegExp): string {
  const path = join(process.env["BERTH_WEB"]!, "../src", folder);
  return readdirSync(path)
    .filter((name) => names.test(name))
    .map((name) => readFileSync(join(path, name), "utf8").replace(/"\s*\n\s*"/g, ""))
    .join("\n");
}

test("every finding of a health rule has its Chinese", () => {
  const rules = source_of("health", /^rules_.*\.cc$/);
  const codes = [...rules.matchAll(/"((?:lost|unusable|[a-z]+(?:_[a-z]+)+))"/g)].map(
    (one) => one[1]!,
  );
  assert.deepEqual([...new Set(codes)].sort(), Object.keys(titles).sort());
});

test("every rule of alerts has its Chinese", () => {
  const rules = source_of("alert", /^rules.*\.cc$/);
  const names = [...rules.matchAll(/\.name = "(\w+)"/g)].map((one) => one[1]!);
  assert.ok(names.length > 0, "no rule is found in src/alert");
  assert.deepEqual(names.sort(), Object.keys(alert_titles).sort());
});

test("advice is told in the reader's language, also with a command in its middle", () => {
  const told = "see the kernel log (sudo dmesg). If it stays silent: once nobody uses it, reset it ";
  assert.equal(advice_text(`${told}(sudo $& -r) or reboot`), `${told}(sudo $& -r) or reboot`);
  set_language("zh");
  assert.match(advice_text(`${told}(sudo $& -r) or reboot`), /^请查看内核日志.*（sudo \$& -r）或重启$/);
  assert.equal(advice_text("ask for its replacement"), advices["ask for its replacement"]);
  assert.equal(advice_text("of a newer server"), "of a newer server");
  set_language("en");
});

test("an alert is told with its sense in the reader's language, and its evidence as it stands", () => {
  const alert = { rule: "idle_holder", summary: "20 GiB are held and nothing is computed: bob" };
  assert.equal(alert_text(alert), alert.summary);
  set_language("zh");
  assert.equal(alert_text(alert), `GPU 占而不用: ${alert.summary}`);
  assert.equal(alert_text({ ...alert, rule: "of a newer server" }), alert.summary);
  set_language("en");
});

test("the language is what was chosen, else the first one that we have", () => {
  assert.equal(language_from("zh", ["en"]), "zh");
  assert.equal(language_from(null, ["fr", "zh-TW", "en"]), "zh");
  assert.equal(language_from("xx", ["fr"]), "en");
});

test("a blank without a value stays to be seen", () => {
  assert.equal(filled("{a} of {b}", { a: 1 }), "1 of {b}");
});
