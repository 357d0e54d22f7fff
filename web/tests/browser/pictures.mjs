// The pictures of the README: node pictures.mjs MODULES ADDRESS, from a server that has been looked at
// for two minutes; they are written where it is started.

import { address as base, open_browser } from "./harness.mjs";

const { browser, close } = await open_browser();
const pictures = [
  { name: "page-room", how: { colorScheme: "dark" }, height: 800 },
  { name: "page-gpu", height: 960, go: (page) => page.click("a.tile >> nth=3") },
  {
    name: "page-run",
    how: { colorScheme: "dark" },
    height: 840,
    go: async (page) => {
      await page.goto(`${base}#/runs`);
      await page.click("main td a >> nth=3");
    },
  },
  { name: "page-timeline", height: 480, go: (page) => page.goto(`${base}#/timeline`) },
  { name: "page-phone", width: 360, height: 760 },
  { name: "page-zh", how: { locale: "zh-CN" }, height: 800 },
];
for (const picture of pictures) {
  const { width = 1440, height, how = {} } = picture;
  const context = await browser.newContext({ viewport: { width, height }, ...how });
  picture.page = await context.newPage();
  await picture.page.goto(base);
  await picture.page.waitForSelector("a.tile");
  await picture.go?.(picture.page);
}
await new Promise((done) => setTimeout(done, 122_000));
for (const { name, page } of pictures) {
  await page.bringToFront();
  if (name === "page-gpu") await page.click("text=24 h");
  if (name === "page-run") {
    const box = await page.locator(".u-over").first().boundingBox();
    await page.mouse.move(box.x + box.width * 0.63, box.y + 40);
  }
  await page.waitForTimeout(1500);
  await page.screenshot({ path: `${name}.png` });
}
await close();
