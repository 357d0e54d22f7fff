// The pictures of the README: node pictures.mjs MODULES ADDRESS [NAME], from a `berth serve --sim` that has
// been running for ten minutes with jobs on it, one of which ended with exit 1; BERTH_TOKEN opens the
// page of a run. They are written where it is started.

import { abilities as wanted, address as base, open_browser } from "./harness.mjs";

const { browser, close } = await open_browser();
const dark = { colorScheme: "dark" };
const pictures = [
  { name: "page-room", how: dark, height: 800 },
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
  { name: "page-zh", how: { locale: "zh-CN" }, height: 800 },
].filter(({ name }) => !wanted || name === wanted);
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
await new Promise((done) => setTimeout(done, 122_000));
for (const { name, page, end } of pictures) {
  await page.bringToFront();
  await end?.(page);
  await page.waitForTimeout(1500);
  await page.screenshot({ path: `${name}.png` });
}
await close();
