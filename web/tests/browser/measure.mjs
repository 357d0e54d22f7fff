// How soon the page shows something, and what 64 GPUs at 1 Hz cost it: node measure.mjs MODULES ADDRESS MINUTES. Prints
// one line of JSON. Started by bench/bench_page.py.

import { readdirSync, readFileSync } from "node:fs";

import { abilities as minutes, address as base, open_browser } from "./harness.mjs";

const { browser, close } = await open_browser();

/// What the main thread has spent, in processor time: what else the machine does must not count.
async function listen(page) {
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const metrics = async () => {
    const { metrics } = await client.send("Performance.getMetrics");
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  };
  return { client, metrics };
}

/// The time of all threads of the processes that draw pages, in milliseconds. What else the machine does must not count
/// here either.
const process_client = await browser.newBrowserCDPSession();
async function renderers_ms() {
  const { processInfo } = await process_client.send("SystemInfo.getProcessInfo");
  const drawing = processInfo.filter(({ type }) => type === "renderer");
  return new Map(drawing.map(({ id, cpuTime }) => [id, 1000 * cpuTime]));
}

/// What the threads of `berth serve` have computed, in milliseconds. Its probe process does not count: that looks
/// whether or not a page is open.
function server_ms(pid) {
  const of = (thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0];
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + Number(of(thread)) / 1e6, 0);
}

/// The time from the click to the picture after the one in which the numbers were written. For somebody else's page: to
/// the first picture at all.
async function first_pictures(address, is_ours, pid) {
  const times = [];
  const busy = [];
  const whole = [];
  const served = [];
  for (let i = 0; i < 16; ++i) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    const { metrics } = await listen(page);
    const before_ms = await renderers_ms();
    const server_before_ms = server_ms(pid);
    await page.goto(address);
    const ms = await page.evaluate(
      (ours) =>
        new Promise((done) => {
          const look = () =>
            !ours || performance.getEntriesByName("berth-first-picture").length
              ? requestAnimationFrame(() => done(performance.now()))
              : requestAnimationFrame(look);
          look();
        }),
      is_ours,
    );
    // The browser's own first page warms it up.
    if (i > 0) {
      served.push(server_ms(pid) - server_before_ms);
      times.push(ms);
      busy.push(1000 * (await metrics()).TaskDuration);
      const after_ms = await renderers_ms();
      whole.push([...after_ms].reduce((sum, [id, ms]) => sum + ms - (before_ms.get(id) ?? 0), 0));
    }
    await context.close();
  }
  return { times, busy, whole, served };
}

const small = process.env.BERTH_SMALL_SERVER;
const [small_pid, large_pid] = process.env.BERTH_SERVER_PIDS.split(" ");
const floor = await first_pictures(`${small}healthz`, false, small_pid);
const eight = await first_pictures(small, true, small_pid);
const first = await first_pictures(base, true, large_pid);

const page = await browser.newPage({ viewport: { width: 1920, height: 1080 } });
await page.addInitScript(() => {
  globalThis.long_tasks = [];
  new PerformanceObserver((list) =>
    globalThis.long_tasks.push(...list.getEntries().map((entry) => entry.duration)),
  ).observe({ type: "longtask" });
});
await page.goto(base);
await page.waitForSelector("a.tile");
await page.waitForTimeout(3_000);
await page.evaluate(() => {
  globalThis.long_tasks.length = 0;
  performance.clearMeasures();
  // A frame that came late by more than half of one is one that was dropped.
  globalThis.frames = { all: 0, dropped: 0 };
  let last = performance.now();
  const frame = (now) => {
    globalThis.frames.all += 1;
    globalThis.frames.dropped += Math.max(0, Math.round((now - last) / (1000 / 60)) - 1);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
});
const { client, metrics } = await listen(page);
const seconds = 20;
await client.send("HeapProfiler.collectGarbage");
const before = await metrics();
await page.waitForTimeout(seconds * 1000);
const after = await metrics();
const watched = await page.evaluate(() => ({
  draws: performance.getEntriesByName("berth-draw").map(({ duration }) => duration),
  frames: { ...globalThis.frames },
  long_tasks: globalThis.long_tasks,
  tiles: document.querySelectorAll("a.tile").length,
}));
await page.waitForTimeout(Math.max(0, minutes * 60 - seconds) * 1000);
await client.send("HeapProfiler.collectGarbage");
const last = await metrics();

// A thousand servers: what the script of their page takes from one answer to the next.
const map_page = await browser.newPage({ viewport: { width: 1920, height: 1080 } });
const map = await listen(map_page);
await map_page.goto(`${process.env.BERTH_MAP_SERVER}#/hosts`);
await map_page.waitForSelector(".heat-map canvas");
const maps = () => map_page.evaluate(() => performance.getEntriesByName("berth-map").length);
const scripted = async () => 1000 * (await map.metrics()).ScriptDuration;
const [drawn_before, script_before] = [await maps(), await scripted()];
await map_page.waitForTimeout(20_000);
const updates = (await maps()) - drawn_before;
const map_ms = ((await scripted()) - script_before) / Math.max(1, updates);

const spent = (name) => (1000 * (after[name] - before[name])) / seconds;
console.log(
  JSON.stringify({
    floor,
    eight,
    first,
    ...watched,
    script_ms: spent("ScriptDuration"),
    busy_ms: spent("TaskDuration"),
    heap: [before.JSHeapUsedSize, last.JSHeapUsedSize],
    map_ms,
    updates,
    nodes: [before.Nodes, last.Nodes],
  }),
);
await close();
