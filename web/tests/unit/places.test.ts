import assert from "node:assert/strict";
import { test } from "node:test";

import { first_values, outcome_of, request_of, whole_command } from "../../src/model/compose";
import { clean_line, coloured, line_at, timed_lines } from "../../src/model/log_times";
import { address_of, route_of, type Route } from "../../src/model/route";
import { moved, place_in, stacked, time_ticks, zoomed } from "../../src/model/scale";

test("every address leads back to where it came from", () => {
  const routes: Route[] = [
    { view: "overview" },
    { view: "gpu", id: "GPU-1/a b%" },
    { view: "run", id: "2026-x" },
    { view: "usage" },
  ];
  for (const route of routes) assert.deepEqual(route_of(address_of(route)), route);
});

test("an address nobody knows is the room, and a lone % does no harm", () => {
  assert.deepEqual(route_of("#/nothing/here"), { view: "overview" });
  assert.deepEqual(route_of("#/gpu/%"), { view: "gpu", id: "%" });
});

test("zooming keeps the time under the pointer where it is", () => {
  const window = { from: 0, to: 3_600_000 };
  const closer = zoomed(window, 900_000, 0.5);
  assert.equal(place_in(closer, 900_000), 0.25);
  assert.equal(closer.to - closer.from, 1_800_000);
});

test("zooming ends at ten seconds and at 400 days", () => {
  const window = { from: 0, to: 20_000 };
  assert.equal(zoomed(window, 0, 0.001).to, 10_000);
  assert.equal(zoomed(window, 0, 1e12).to, 400 * 86_400_000);
  assert.deepEqual(moved(window, 5), { from: 5, to: 20_005 });
});

test("ticks are few, round and inside", () => {
  const window = { from: Date.UTC(2026, 10, 21, 9, 7, 3), to: Date.UTC(2026, 10, 21, 15, 7, 3) };
  const ticks = time_ticks(window, 8);
  assert.ok(ticks.length >= 3 && ticks.length <= 8, `${ticks.length} ticks`);
  for (const { at } of ticks) {
    assert.equal(new Date(at).getMinutes() % 30, 0, new Date(at).toISOString());
    assert.ok(at >= window.from && at <= window.to);
  }
});

test("spans that overlap get rows of their own", () => {
  const span = (from: number, to: number | null) => ({ from_unix_ms: from, to_unix_ms: to });
  const rows = stacked([span(5, null), span(0, 10), span(10, 20)], 100).map(
    ({ span: { from_unix_ms }, row }) => [from_unix_ms, row],
  );
  assert.deepEqual(rows, [
    [0, 0],
    [5, 1],
    [10, 0],
  ]);
});

test("escape sequences and overwritten progress leave a line of a log", () => {
  assert.equal(clean_line("\x1b[32mINFO\x1b[0m 10%\r 50%\r100%\r"), "100%");
  assert.equal(clean_line("a\x07b\x1b]0;title\x07c"), "abc");
});

test("a terminal's colours are shown, and nothing else of its sequences", () => {
  assert.deepEqual(coloured("\x1b[1;31mERROR\x1b[0m disk\x1b[38;5;9m full\x1b[?25l\x1b[92m ok\x1b[K"), [
    { text: "ERROR", look: "ansi-1 ansi-bold" },
    { text: " disk", look: "" },
    { text: " full", look: "" },
    { text: " ok", look: "ansi-2" },
  ]);
  assert.deepEqual(coloured("\x1b[32m10%\r\x1b[31m100%\r"), [{ text: "100%", look: "ansi-1" }]);
  assert.equal(timed_lines("plain\n", 0)[0]!.raw, null);
});

test("lines of a log have the time that they say, and those between it of the one before", () => {
  const lines = timed_lines(
    "start\n2026-11-21T10:00:05Z a\n  more\n2026-11-21 10:00:07,250 b\n",
    Date.UTC(2026, 10, 21, 10),
  );
  assert.deepEqual(
    lines.map(({ at }) => (at === null ? null : at - Date.UTC(2026, 10, 21, 10))),
    [null, 5_000, 5_000, 7_250],
  );
});

test("a stamp without a zone is in the one that fits the start of the run", () => {
  const started = Date.UTC(2026, 10, 21, 10, 0, 0);
  const [first] = timed_lines("2026-11-21 18:00:30 x", started);
  assert.equal(first!.at! - started, 30_000);
  const [west] = timed_lines("2026-11-21 05:00:30 x", started);
  assert.equal(west!.at! - started, 30_000);
  const [zoned] = timed_lines("2026-11-21T12:00:30+02:00 x", started);
  assert.equal(zoned!.at! - started, 30_000);
});

test("a log without stamps has no times, and none are invented", () => {
  assert.ok(timed_lines("a\nb\n", 0).every(({ at }) => at === null));
});

test("the line of a moment is the last one written by then", () => {
  const lines = [null, 10, 10, 20].map((at) => ({ text: "", at }));
  assert.deepEqual(
    [5, 10, 15, 99].map((time) => line_at(lines, time)),
    [null, 2, 2, 3],
  );
});

test("a form is a request with nothing in it that was not asked for", () => {
  assert.deepEqual(request_of(first_values), { devices: 1 });
  assert.deepEqual(
    request_of({
      ...first_values,
      devices: 2,
      memory: "gib",
      memory_amount: 10,
      idle_minutes: 5,
      needs_bf16: true,
    }),
    { devices: 2, memory: "10G", idle_for: "5m", need: "bf16" },
  );
});

test("what the form says of a command is what the command does", () => {
  assert.deepEqual(request_of({ ...first_values, wait: "forever" }), { devices: 1, wait: "forever" });
  assert.deepEqual(request_of({ ...first_values, wait: "hours", wait_hours: 3 }), {
    devices: 1,
    wait: "3h",
  });
  assert.equal(outcome_of({ possible: true, does: "waits" }), "waits");
  assert.equal(outcome_of({ possible: true, does: "ends" }), "ends");
  assert.equal(outcome_of({ possible: false, does: "ends" }), "never");
  assert.equal(outcome_of({ possible: true, does: "starts" }), "starts");
});

test("the person's own command stands behind the dashes as it was typed", () => {
  assert.equal(
    whole_command("berth run -n 2 --memory 10G -- COMMAND", " python 'a b.py' -- x "),
    "berth run -n 2 --memory 10G -- python 'a b.py' -- x",
  );
  assert.equal(whole_command("berth run --wait=2h -- COMMAND", "x"), "berth run --wait=2h -- x");
  assert.equal(whole_command("berth run -n 2", ""), "berth run -n 2 -- …");
});
