// The panel in JupyterLab: what it lists, when it asks, and that it never keeps the lab from starting.

import assert from "node:assert/strict";
import { test } from "node:test";

import { container } from "../../lab/entry";
import { Asking, idle_holders, numbers_of, type LabDevice, type LabKernel } from "../../lab/overview";
import { state_word, words_of, type LabWord } from "../../lab/words";

function kernel(id: string, idle_since_unix_ms: number | null, devices: string[]): LabKernel {
  const state = idle_since_unix_ms === null ? "busy" : "idle";
  return { id, name: id, path: null, state, idle_since_unix_ms, memory_used_bytes: 1, devices, leased: [] };
}

test("idle kernels that hold a GPU: the longest idle first, not the one in front", () => {
  const kernels = [
    kernel("short", 900, ["a"]),
    kernel("long", 100, ["a"]),
    kernel("busy", null, ["a"]),
    kernel("without", 50, []),
    kernel("front", 10, ["b"]),
  ];
  assert.deepEqual(
    idle_holders(kernels, "front").map((one) => one.id),
    ["long", "short"],
  );
});

test("a device that has no number, or is not there, is a question mark", () => {
  const devices = [{ id: "a", index: 3 }, { id: "b", index: null }] as LabDevice[];
  assert.equal(numbers_of(["a", "b", "c"], devices), "3, ?, ?");
});

/// Lets what was promised happen.
const soon = (): Promise<void> => new Promise((done) => setImmediate(done));

test("while it is not looked at nothing is asked, and what fails is asked less often", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let asked = 0;
  let well = true;
  const asking = new Asking(() => Promise.resolve((asked++, well)));
  asking.now();
  assert.equal(asked, 0, "nobody looks at it yet");
  asking.watch(true);
  await soon();
  assert.equal(asked, 1, "it asks as soon as it is seen");
  context.mock.timers.tick(2_000);
  await soon();
  assert.equal(asked, 2);
  asking.watch(false);
  context.mock.timers.tick(600_000);
  await soon();
  assert.equal(asked, 2, "hidden");
  well = false;
  asking.watch(true);
  await soon();
  context.mock.timers.tick(3_999);
  await soon();
  assert.equal(asked, 3, "twice the pause after a failure");
  context.mock.timers.tick(1);
  await soon();
  assert.equal(asked, 4);
});

test("a lab that shares nothing gets a module with an empty list of plugins", async (context) => {
  context.mock.method(console, "warn", () => undefined);
  container.init({});
  const module = (await container.get("./extension"))();
  assert.deepEqual(module, { __esModule: true, default: [] });
  assert.deepEqual((await container.get("./style"))(), { __esModule: true, default: [] });
  const raising = { get: () => Promise.reject(new Error("broken")) };
  container.init({ "@lumino/widgets": { "2.0.0": raising } });
  assert.deepEqual((await container.get("./extension"))().default, []);
});

test("one without translations has its plugin all the same, and a lab of another shape goes on", async (context) => {
  const warned = context.mock.method(console, "warn", () => undefined);
  container.init({ "@lumino/widgets": { "2.0.0": { get: () => Promise.resolve(() => ({ Widget: Object })) } } });
  const [plugin] = (await container.get("./extension"))().default as {
    optional: unknown[];
    activate: (lab: unknown, translator: null) => void;
  }[];
  assert.deepEqual(plugin!.optional, []);
  plugin!.activate({}, null);
  assert.equal(warned.mock.callCount(), 1);
});

test("both languages say each word with the same values; a new state stands as it was said", () => {
  const english = words_of("en");
  const chinese = words_of("zh_CN");
  const all: LabWord[] = ["ask", "ask_more", "on", "idle_for", "memory", "failed", "simulated", "unreachable"];
  const values = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();
  for (const word of all) {
    assert.notEqual(english(word), chinese(word));
    assert.deepEqual(values(english(word)), values(chinese(word)), word);
  }
  assert.equal(state_word(english, "busy"), "busy");
  assert.equal(state_word(chinese, "failed"), "故障");
  assert.equal(state_word(chinese, "asleep"), "asleep");
});
