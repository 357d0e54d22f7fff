// Languages, colours, keyboard, narrow screens, screen readers.

import { check, test, until } from "./harness.mjs";
import { first_gpu, visit } from "./steps.mjs";

test("all of it speaks Chinese", {}, async (page) => {
  await page.getByRole("button", { name: "中文" }).click();
  await page.getByRole("link", { name: "时间线" }).waitFor();
  check((await page.locator("html").getAttribute("lang")) === "zh-CN", "the language is declared");
  check(
    (await page.locator('.count[data-standing="free"]').innerText()).includes("空闲"),
    "the counts",
  );
  await page.reload();
  await page.getByRole("link", { name: "时间线" }).waitFor();
  await page.getByRole("button", { name: "English" }).click();
  await page.getByRole("link", { name: "Timeline" }).waitFor();
});

test("a Chinese browser gets Chinese unasked", { how: { locale: "zh-CN" } }, async (page) => {
  await page.getByRole("link", { name: "总览" }).waitFor();
});

test(
  "light and dark follow the system until somebody chooses",
  { how: { colorScheme: "dark" } },
  async (page) => {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    check((await ground()) === "rgb(13, 17, 23)", `dark: ${await ground()}`);
    await page.getByRole("button", { name: "Auto" }).click();
    check((await ground()) === "rgb(243, 245, 247)", `light: ${await ground()}`);
    await page.reload();
    await page.waitForSelector("a.tile");
    check((await ground()) === "rgb(243, 245, 247)", "it is remembered");
  },
);

test("everything is reached without a mouse", {}, async (page) => {
  await page.keyboard.press("Tab");
  check(
    (await page.evaluate(() => document.activeElement.className)) === "skip",
    "first the way to the content",
  );
  await page.keyboard.press("Enter");
  check((await page.evaluate(() => document.activeElement.id)) === "main", "it leads there");
  for (
    let i = 0;
    i < 30 && !(await page.evaluate(() => document.activeElement.matches("a.tile")));
    ++i
  )
    await page.keyboard.press("Tab");
  const at = () => page.evaluate(() => document.activeElement.textContent);
  check(/^GPU 0/.test(await at()), `the first tile: ${await at()}`);
  await page.keyboard.press("ArrowRight");
  check(/^GPU 1/.test(await at()), "to the right");
  await page.keyboard.press("End");
  const last = (await page.locator("a.tile").count()) - 1;
  check((await at()).startsWith(`GPU ${last}`), "the last one");
  await page.keyboard.press("Home");
  await page.keyboard.press("Tab");
  check(
    !(await page.evaluate(() => document.activeElement.matches("a.tile"))),
    "the tiles are one stop",
  );
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".gpu");
  check(
    (await page.evaluate(() => document.activeElement.id)) === "main",
    "a new view has the focus",
  );
});

/// Does what has the focus keep it while looks come?
const keeps_focus = async (page, what) => {
  await page.evaluate(() => {
    globalThis.had_focus = document.activeElement;
    performance.clearMeasures("berth-draw");
  });
  await until(`looks come while ${what} has the focus`, () =>
    page.evaluate(() => performance.getEntriesByName("berth-draw").length > 1),
  );
  check(
    await page.evaluate(
      () =>
        document.activeElement === globalThis.had_focus ||
        document.activeElement.outerHTML === globalThis.had_focus.outerHTML,
    ),
    `${what} loses the focus`,
  );
};

test("what has the focus keeps it while looks come", {}, async (page, server) => {
  for (const [name, selector] of [
    ["a tile", "a.tile >> nth=2"],
    ["a count", ".count >> nth=1"],
    ["a link of the processes", "main td a >> nth=0"],
  ]) {
    await page.locator(selector).focus();
    await keeps_focus(page, name);
  }
  await first_gpu(page);
  await page.locator(".chart summary").first().click();
  await page.locator(".chart .scrolls").first().focus();
  await keeps_focus(page, "the table of a chart");
  await page.locator(".plot").first().focus();
  await keeps_focus(page, "a chart");
  await visit(page, server, ["#/health", ".panel"]);
  if (await page.locator(".health-card a").count()) {
    await page.locator(".health-card a").first().focus();
    await keeps_focus(page, "a card of the health view");
  }
});

test(
  "the timeline gives the focus back to what it draws anew",
  { needs: ["history"] },
  async (page, server) => {
    await server.go(page, "#/timeline", "a.span");
    for (const selector of ["a.span >> nth=3", "a.gantt-name >> nth=1"]) {
      await page.locator(selector).focus();
      const key = () =>
        page.evaluate(() => document.activeElement.dataset.key ?? document.activeElement.href);
      const before = await key();
      await page.keyboard.press("-");
      await until(`${selector} has it again`, async () => (await key()) === before);
    }
  },
);

test("the keys go over a chart as the mouse does", {}, async (page) => {
  await first_gpu(page);
  const plot = page.locator(".plot").first();
  await until("two readings", async () =>
    /^(?!–)/.test((await plot.getAttribute("aria-valuetext")) ?? "–"),
  );
  await plot.focus();
  await page.keyboard.press("End");
  await until("the last reading with its time", async () =>
    /^\d\d:\d\d:\d\d {2}\d+ %/.test(await plot.getAttribute("aria-valuetext")),
  );
  const last = Number(await plot.getAttribute("aria-valuenow"));
  await page.keyboard.press("Home");
  await until(
    "the first one",
    async () => Number(await plot.getAttribute("aria-valuenow")) <= last,
  );
});

for (const reducedMotion of ["reduce", "no-preference"]) {
  test(`bars move as one wishes (${reducedMotion})`, { how: { reducedMotion } }, async (page) => {
    const seconds = await page
      .locator(".tile .bar")
      .first()
      .evaluate((bar) => getComputedStyle(bar, "::before").transitionDuration);
    check(seconds === (reducedMotion === "reduce" ? "0s" : "0.4s"), seconds);
  });
}
