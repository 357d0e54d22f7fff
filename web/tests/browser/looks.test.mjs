// All that the page shows and does, in each language and width. Each step is done, and then axe looks at it, in the
// light and in the dark.

import { can, check, test, until, violations } from "./harness.mjs";
import { first_gpu, room, rows, text, views, visit, word } from "./steps.mjs";

const everything = [
  ["embed"],
  ["mig", { device: 2 }],
  ["hosts", { count: 14 }],
  ["alert", { summary: "held idle for 2 h by bob", advice: "ask bob" }],
  ["problem", { source: "kernel log", message: "it cannot be read", remedy: "run it as root" }],
];
// Of axe's rules only these depend on colours and on the width. All else is the same document. The colours are the same
// in each language, and looking at them is half of what axe computes: they are looked at in English.
const rules_of_colours = ["color-contrast", "link-in-text-block"];
const rules_of_width = ["scrollable-region-focusable"];

/// A page in one language and width, and what was found wrong with it.
class Look {
  found = [];
  constructor(page, server, context, { language, width }) {
    Object.assign(this, { page, server, context, language, width });
  }
  word(key) {
    return word(this.language, key);
  }
  press(key) {
    return this.page.locator("main").getByRole("button", { name: this.word(key), exact: true }).click();
  }
  /// `within`: what is new there since the last look. What is done next is done in the other colours.
  async see(where, { page = this.page, within } = {}) {
    this.is_dark = !this.is_dark;
    const [colours, without] = this.language === "en" ? [rules_of_colours, []] : [[], rules_of_colours];
    const light = this.width < 1000 ? { only: [...rules_of_width, ...colours] } : { without };
    for (const dark of [!this.is_dark, this.is_dark]) {
      await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
      const found = await violations(page, dark ? { only: colours } : light, within);
      this.found.push(...found.map((one) => `${where}${dark ? " in the dark" : ""}: ${one}`));
    }
    // The narrow one is as wide as a small telephone and a tablet, too.
    const narrow = this.width < 1000 ? [360, 768] : [];
    for (const width of [...narrow, this.width]) {
      await page.setViewportSize({ width, height: 900 });
      const fits = () => document.documentElement.scrollWidth <= innerWidth;
      await page
        .waitForFunction(fits, null, { timeout: 5_000 })
        .catch(async () => {
          // Elements that stand over the edge, with their parents.
          const over = await page.evaluate(() =>
            [...document.querySelectorAll("main *")]
              .filter((one) => one.getBoundingClientRect().right > innerWidth && one.checkVisibility())
              .map((one) => `${one.tagName}.${one.className} in ${one.parentElement.className}`),
          );
          this.found.push(`${where}: too wide for ${width}: ${over.slice(0, 4).join(", ")}`);
        });
    }
  }
}

const sees_the_room = async (look) => {
  const { page } = look;
  const free = page.locator('.count[data-standing="free"]');
  const all = await page.locator("a.tile").count();
  await free.click();
  const some = Number(await free.locator(".count-number").innerText());
  await until("only the free ones", async () => (await page.locator("a.tile").count()) === some);
  await free.click();
  await until("all of them", async () => (await page.locator("a.tile").count()) === all);
  await page.locator("a.tile .spark path[d]").first().waitFor({ state: "attached" });
  if (can("history")) await page.getByText(look.word("overview.server_chart")).first().waitFor();
  await look.see("room");
};

const goes_through_the_views = async (look) => {
  const { page, server } = look;
  for (const view of [...views.filter(([hash]) => hash !== "#/runs"), ["#/queue", ".panel"]]) {
    await visit(page, server, view);
    await look.see(view[0]);
  }
  if (!can("hosts")) return;
  await visit(page, server, ["#/hosts", ".host-block"]);
  check((await page.locator(".host-block .host-this:visible").count()) === 1, "this server is not among them");
  await look.see("#/hosts");
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
  await visit(page, server, room);
  await server.go(page, "#/hosts", ".heat-map canvas");
  await look.see("heat map");
};

const looks_closer_at_a_gpu = async (look) => {
  const { page, server } = look;
  await visit(page, server, room);
  await first_gpu(page);
  await page.waitForSelector(".gpu .facts");
  const over = page.locator(".gpu .u-over").first();
  await over.scrollIntoViewIfNeeded();
  const { x, y, width } = await until("it is drawn", () => over.boundingBox());
  await page.mouse.move(x + width / 4, y + 30);
  await page.mouse.down();
  await page.mouse.move(x + width / 2, y + 30, { steps: 3 });
  await page.mouse.up();
  await page.getByRole("button", { name: look.word("gpu.whole_range") }).waitFor();
  await look.see("gpu");
  await look.press("gpu.whole_range");
};

const becomes_known = async (look, { user, token }) => {
  const { page, server } = look;
  const go = (hash) => page.evaluate((to) => (location.hash = to), hash);
  await go("#sign-in=of-another-day");
  await page.locator(".notice:visible").waitFor();
  await look.see("a link that is over", { within: ".shell .notice" });
  await page.locator("header").getByRole("button", { name: /·/ }).click();
  await page.waitForSelector("dialog[open]");
  await look.see("token", { within: "dialog[open]" });
  if (can("sign-in")) {
    await page.keyboard.press("Escape");
    await go(new URL((await server.tell("sign-in")).link).hash);
  } else {
    await page.getByLabel(look.word("token.label"), { exact: true }).fill(token);
    await page.getByRole("button", { name: look.word("token.use") }).click();
  }
  await page.locator("header").getByRole("button", { name: `${user} ·` }).waitFor();
};

const narrows_and_compares_runs = async (look) => {
  const { page, server } = look;
  await page.route(/\/api\/v1\/runs\?/, (route) => {
    const url = new URL(route.request().url());
    url.searchParams.set("limit", "3");
    return route.continue({ url: url.href });
  });
  await visit(page, server, ["#/runs", "main td a"]);
  const shown = async () => (await page.locator("main td a").allInnerTexts()).length;
  await page.getByLabel(look.word("runs.words")).fill("no such run");
  await page.locator("main .nothing:visible").first().waitFor();
  await look.see("no run of that name");
  await page.getByLabel(look.word("runs.words")).fill("");
  await until("three of them", async () => (await shown()) === 3);
  await look.press("runs.more");
  await until("more of them", async () => (await shown()) > 3);
  await page.unroute(/\/api\/v1\/runs\?/);
  await page.getByLabel(look.word("runs.any_state")).selectOption("failed");
  await until("those that failed", async () => (await shown()) < 3);
  await page.getByLabel(look.word("runs.any_state")).selectOption("");
  await until("all of them", async () => (await shown()) > 3);
  if (look.width > 1000)
    await page.locator("td .spark path[d]").first().waitFor({ state: "attached" });
  const boxes = page.locator('main td input[type="checkbox"]:visible');
  for (const i of [0, 1]) await boxes.nth(i).check();
  await look.see("my runs");
  const both = look.word("runs.compare").replace("{n}", "2");
  await page.getByRole("link", { name: both }).click();
  await page.waitForSelector(".differences table");
  await look.see("compare");
};

const reads_a_run = async (look, { run }) => {
  const { page, server, context } = look;
  await visit(page, server, [`#/run/${run}`, ".run .chart canvas"]);
  await page.locator(".log .ansi-2").first().waitFor();
  check((await page.locator(".chart").first().locator(".chart-key").count()) === 2, "its GPUs' lines");
  check((await text(page, ".run h1")) !== run, "it is not called by its command");
  await page.getByRole("searchbox").fill("waiting for the data");
  await page.locator(".log [aria-current]").first().waitFor();
  const saving = page.waitForEvent("download");
  await look.press("run.download");
  check((await saving).suggestedFilename() === `${run}.log`, "the file has another name");
  await look.press("run.again");
  const copied = await until("the command", () => page.evaluate(() => navigator.clipboard.readText()));
  check(copied.includes("berth run "), copied);
  await look.press("run.explain");
  await page.locator(".run .event, .run .nothing").first().waitFor();
  await look.see("run");
  const opening = context.waitForEvent("page");
  await look.press("run.report");
  const report = await opening;
  await report.locator("h1", { hasText: run }).waitFor();
  await look.see("report", { page: report });
  await report.close();
};

const stops_a_run = async (look, { pid, token }) => {
  const { page, server } = look;
  const { processes } = await server.ask("api/v1/overview", token);
  const { device } = processes.find((process) => process.pid === pid);
  await server.go(page, `#/gpu/${encodeURIComponent(device)}`, 'main td a[href^="#/run"]');
  await page.locator('main td a[href^="#/run"]').first().click();
  await look.press("run.stop");
  const dialog = page.getByRole("dialog");
  check((await dialog.innerText()).includes("GPU "), "it does not say on which GPU");
  await look.see("stop", { within: "dialog[open]" });
  // Others look at this server, too: the run goes on.
  await page.route(/\/release$/, (route) => route.fulfill({ json: { end: "ended" } }));
  await dialog.getByRole("button", { name: look.word("run.stop") }).click();
  await page.locator(".run .heading").getByText(look.word("run.stop_ended")).waitFor();
  await look.see("stopped", { within: ".run .heading" });
};

const looks_at_cards = async (look) => {
  const { page, server } = look;
  for (const path of can("embed") ? ["embed/server", "embed/gpu/0"] : []) {
    await page.goto(`${server.base}${path}`);
    await until("its numbers", async () => /\d/.test(await text(page, "main.embed")));
    await look.see(path);
  }
};

for (const language of ["en", "zh"])
  for (const width of [1440, 390]) {
    const look = `${language}, ${width}`;
    test(
      `all is done, and keeps the accessibility rules in the light and the dark (${look})`,
      { how: { locale: language, viewport: { width, height: 900 } }, noisy: true, told: everything },
      async (page, server, context) => {
        await context.grantPermissions(["clipboard-read", "clipboard-write"]);
        const own = new Look(page, server, context, { language, width });
        const who = await server.tell("who");
        await sees_the_room(own);
        await goes_through_the_views(own);
        await looks_closer_at_a_gpu(own);
        await becomes_known(own, who);
        await narrows_and_compares_runs(own);
        await reads_a_run(own, who);
        await stops_a_run(own, who);
        await looks_at_cards(own);
        check(own.found.length === 0, own.found.join("\n"));
      },
    );
  }
