// Languages, colours, keyboard, narrow screens, screen readers.

import { check, test, until, violations } from "./harness.mjs";
import { first_gpu, room, text, views, visit } from "./steps.mjs";

/// For a look at all there can be to see, where the server can be told so.
const everything = [
  ["embed"],
  ["mig", { device: 2 }],
  ["hosts", { count: 14 }],
  ["alert", { summary: "held idle for 2 h by bob", advice: "ask bob" }],
  ["problem", { source: "kernel log", message: "it cannot be read", remedy: "run it as root" }],
];

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
  const looks = () => page.locator(".fresh").innerText();
  const before = await looks();
  await page.evaluate(() => {
    globalThis.had_focus = document.activeElement;
  });
  await until(`a look comes while ${what} has the focus`, async () => (await looks()) !== before);
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

for (const width of [360, 768]) {
  test(
    `nothing is wider than a screen of ${width}`,
    {
      how: { viewport: { width, height: 740 } },
      noisy: true,
      told: everything,
    },
    async (page, server) => {
      const too_wide = () =>
        page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      for (const view of [room, ...views, ["#/hosts", ".host-block"]]) {
        await visit(page, server, view);
        check((await too_wide()) <= 0, `${view[0]} is ${await too_wide()} px too wide`);
      }
      await visit(page, server, room);
      await first_gpu(page);
      check((await too_wide()) <= 0, "a GPU's panel");
    },
  );
}

// Of what axe looks for, only this depends on the colours; all else is the same document in the dark.
const rules_of_colours = ["color-contrast", "link-in-text-block"];
for (const language of ["en", "zh"])
  for (const colorScheme of ["light", "dark"])
    for (const width of [1440, 390]) {
      const look = `${language}, ${colorScheme}, ${width}`;
      const how = { colorScheme, locale: language, viewport: { width, height: 900 } };
      test(
        `no view fails the accessibility rules (${look})`,
        { how, noisy: true, told: everything },
        async (page, server, context) => {
          const found = [];
          const rules = colorScheme === "light" ? undefined : rules_of_colours;
          const see = async (where, seen = page) => {
            found.push(...(await violations(seen, rules)).map((one) => `${where}: ${one}`));
            const over = await seen.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            if (over > 0) found.push(`${where}: ${over} px too wide`);
          };
          await see("room");
          for (const view of [...views, ["#/queue", ".panel"], ["#/hosts", ".host-block"]]) {
            await visit(page, server, view);
            await see(view[0]);
          }
          // More servers than blocks are drawn for.
          await page.route(/\/api\/v1\/hosts$/, async (route) => {
            const told = await (await route.fetch()).json();
            const hosts = Array.from({ length: 300 }, (_, i) => ({
              ...told.hosts[i % told.hosts.length],
              name: `gpu${i}`,
              address: `gpu${i}.example:9700`,
            }));
            await route.fulfill({ json: { ...told, hosts } });
          });
          await visit(page, server, ["#/runs", "main td a"]);
          await page.locator('main input[type="search"]').first().fill("no such run");
          await page.locator("main .nothing:visible").first().waitFor();
          await see("no run of that name");
          await page.locator('main input[type="search"]').first().fill("");
          await server.go(page, "#/hosts", ".heat-map canvas");
          await see("heat map");
          await visit(page, server, room);
          await first_gpu(page);
          await page.waitForSelector(".gpu .facts");
          await see("gpu");
          await page.getByRole("button", { name: /·/ }).click();
          await see("token");
          const who = await server.tell("who");
          await page.evaluate((token) => sessionStorage.setItem("berth-token", token), who.token);
          await page.goto("about:blank");
          await visit(page, server, ["#/runs", "main td a"]);
          await see("my runs");
          const ids = await page.locator("main td a").allInnerTexts();
          await visit(page, server, [`#/compare/${ids.slice(0, 2).join("%2C")}`, ".differences table"]);
          await see("compare");
          await visit(page, server, [`#/run/${who.run}`, ".run .chart canvas"]);
          await page.waitForSelector(".run .log li");
          await page.getByRole("button", { name: /^(Explain|解释)$/ }).click();
          await page.locator(".run .event, .run .nothing").first().waitFor();
          await page.getByRole("searchbox").fill("waiting for the data");
          await page.locator(".log [aria-current]").first().waitFor();
          await see("run");
          const opening = context.waitForEvent("page");
          await page.getByRole("button", { name: /^(Report|报告)$/ }).click();
          const report = await opening;
          await report.locator("h1", { hasText: who.run }).waitFor();
          await see("report", report);
          await report.close();
          const { processes } = await server.ask("api/v1/overview", who.token);
          const { device } = processes.find(({ pid }) => pid === who.pid);
          await server.go(page, `#/gpu/${encodeURIComponent(device)}`, 'main td a[href^="#/run"]');
          await page.locator('main td a[href^="#/run"]').first().click();
          await page.locator(".run .heading button.danger").click();
          await page.waitForSelector("dialog[open]");
          await see("stop");
          await page.goto("about:blank");
          await page.goto(`${server.base}#sign-in=of-another-day`);
          await page.locator(".notice:visible").waitFor();
          await see("a link that is over");
          for (const path of ["embed/server", "embed/gpu/0"]) {
            await page.goto(`${server.base}${path}`);
            await until("its numbers", async () => /\d/.test(await text(page, "main.embed")));
            await see(path);
          }
          check(found.length === 0, found.join("\n"));
        },
      );
    }
