// How soon the page shows something, and what 64 GPUs at 1 Hz cost it: node measure.mjs MODULES
// ADDRESS; one line of JSON. Started by bench/bench_page.py.

import { address as base, open_browser } from "./harness.mjs";

const { browser, close } = await open_browser();
const first = [];
const requests = [];
for (let i = 0; i < 16; ++i) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  let asked = 0;
  page.on("request", () => {
    asked += 1;
  });
  await page.goto(base);
  // From the click to the picture after the one in which the numbers were written.
  const ms = await page.evaluate(
    () =>
      new Promise((done) => {
        const look = () =>
          performance.getEntriesByName("berth-first-picture").length
            ? requestAnimationFrame(() => done(performance.now()))
            : requestAnimationFrame(look);
        look();
      }),
  );
  // The browser's own first page warms it up.
  if (i > 0) first.push(ms);
  requests.push(asked);
  await context.close();
}

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
});
const client = await page.context().newCDPSession(page);
// In processor time: what else the machine does must not count.
await client.send("Performance.enable", { timeDomain: "threadTicks" });
const busy = async () =>
  Object.fromEntries(
    (await client.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value]),
  ).TaskDuration;
const before = await busy();
await page.waitForTimeout(20_000);
const after = await busy();
const { draws, long_tasks, tiles } = await page.evaluate(() => ({
  draws: performance.getEntriesByName("berth-draw").map(({ duration }) => duration),
  long_tasks: globalThis.long_tasks,
  tiles: document.querySelectorAll("a.tile").length,
}));
console.log(
  JSON.stringify({ first, draws, long_tasks, tiles, busy_percent: (100 * (after - before)) / 20 }),
);
await close();
