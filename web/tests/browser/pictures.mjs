// The pictures of the documents: node pictures.mjs MODULES ADDRESS [NAMES, AS A PATTERN]. ADDRESS is a `berth serve
// --sim` (its `embed` on) that has been running for ten minutes with jobs on it. One of them ended with exit 1, two
// that have names ended well, and others wait. BERTH_TOKEN opens the page of a run. page-hosts is of the mock with a
// thousand servers. The pictures are written where it is started. pngquant and optipng make them small.

import { abilities as wanted, address as base, open_browser } from "./harness.mjs";

const { browser, close } = await open_browser();
const dark = { colorScheme: "dark" };
const pictures = [
  { name: "page-overview", how: dark, height: 800 },
  { name: "page-gpu", height: 1230, go: (page) => page.click("a.tile >> nth=0") },
  {
    name: "page-run",
    how: dark,
    height: 860,
    go: async (page) => {
      await page.goto(`${base}#/runs`);
      await page.click("main tr:has-text('running') td a >> nth=-1");
    },
    end: async (page) => {
      const box = await page.locator(".u-over").first().boundingBox();
      await page.mouse.move(box.x + box.width * 0.63, box.y + 40);
    },
  },
  {
    name: "page-explain",
    how: dark,
    height: 640,
    go: async (page) => {
      await page.goto(`${base}#/runs`);
      await page.click("main tr:has-text('exit 1') td a");
      await page.getByRole("button", { name: "Explain" }).click();
    },
  },
  {
    name: "page-timeline",
    height: 480,
    go: (page) => page.goto(`${base}#/timeline`),
    end: (page) => page.getByRole("button", { name: "1 h", exact: true }).click(),
  },
  { name: "page-phone", width: 360, height: 760 },
  { name: "page-runs", width: 1440, height: 420, soon: true, go: (page) => page.goto(`${base}#/runs`) },
  {
    name: "page-compare",
    width: 1200,
    height: 760,
    soon: true,
    how: dark,
    go: async (page) => {
      await page.goto(`${base}#/runs`);
      const boxes = page.locator("main tr:has(.muted:not(:empty)):has-text('exit 0') input");
      await boxes.first().waitFor();
      for (const i of [0, 1]) await boxes.nth(i).check();
      await page.getByRole("link", { name: "Compare 2 runs" }).click();
      await page.waitForSelector(".compare canvas");
    },
  },
  { name: "page-queue", width: 1200, height: 300, soon: true, go: (page) => page.goto(`${base}#/queue`) },
  {
    name: "page-hosts",
    width: 1200,
    height: 440,
    soon: true,
    how: dark,
    go: async (page) => {
      await page.goto(`${base}#/hosts`);
      await page.waitForSelector(".heat-map canvas");
    },
  },
  {
    name: "embed",
    width: 420,
    height: 155,
    soon: true,
    go: async (page) => {
      await page.goto(`${base}embed/gpu/0`);
      await page.waitForSelector("main.embed");
    },
  },
  { name: "page-zh", how: { locale: "zh-CN" }, height: 800 },
].filter(({ name }) => new RegExp(`^(${wanted ?? ".*"})$`).test(name));
for (const picture of pictures) {
  const { width = 1440, height, how = {} } = picture;
  const context = await browser.newContext({ viewport: { width, height }, ...how });
  picture.page = await context.newPage();
  await picture.page.addInitScript((token) => {
    if (token) sessionStorage.setItem("berth-token", token);
  }, process.env["BERTH_TOKEN"]);
  await picture.page.goto(base);
  await picture.page.waitForSelector("a.tile");
  await picture.go?.(picture.page);
}
// Until the lines in the tiles are as long as they become.
if (!pictures.every(({ soon }) => soon)) await new Promise((done) => setTimeout(done, 122_000));
for (const { name, page, end } of pictures) {
  await page.bringToFront();
  await end?.(page);
  await page.waitForTimeout(1500);
  await page.screenshot({ path: `${name}.png` });
}
await close();
