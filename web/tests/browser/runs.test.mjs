// Runs by the page, one that goes on, several over one another.

import { check, test, until } from "./harness.mjs";
import { let_pass, log_in, rows, text } from "./steps.mjs";

test("older runs are asked of the server, page by page", { needs: ["runs"] }, async (page, server) => {
  const who = await server.tell("who");
  await log_in(page, who);
  const { runs } = await server.ask("api/v1/runs?limit=50", who.token);
  const asked = [];
  await page.route(/\/api\/v1\/runs\?/, (route) => {
    const url = new URL(route.request().url());
    asked.push(url.searchParams.get("after"));
    url.searchParams.set("limit", "2");
    return route.continue({ url: url.href });
  });
  await server.go(page, "#/runs", "main td a");
  const shown = () => page.locator("main td a").allInnerTexts();
  for (let count = 2; count < runs.length; count += 2) {
    await until(`${count} of them`, async () => (await shown()).length === count);
    await page.getByRole("button", { name: "Older ones" }).click();
  }
  await until("all of them", async () => (await shown()).length === runs.length);
  check((await shown()).join() === runs.map(({ id }) => id).join(), "in another order");
  check(await page.getByRole("button", { name: "Older ones" }).isHidden(), "there is nothing older");
  check(new Set(asked).size > 1, `it asks on from ${asked.join()}`);
});

test("the tail of a log is followed by who looks at it", { needs: ["runs", "act"] }, async (page, server) => {
  const who = await server.tell("who");
  await log_in(page, who);
  let lines = 1000;
  let asked = 0;
  await page.route(/\/log\?/, (route) => {
    const whole = Array.from({ length: lines }, (_, i) => `line ${i + 1}\n`).join("");
    const offset = Number(new URL(route.request().url()).searchParams.get("offset"));
    const told = { offset, next: whole.length, total: whole.length, text: whole.slice(offset) };
    asked += 1;
    return route.fulfill({ json: told });
  });
  const { processes } = await server.ask("api/v1/overview", who.token);
  const { run } = processes.find(({ pid }) => pid === who.pid);
  await server.go(page, `#/run/${run}`, ".run .log li");
  const in_sight = () =>
    page.locator(".log").evaluate((list) => {
      const { top, bottom } = list.getBoundingClientRect();
      const is_seen = (item) => {
        const box = item.getBoundingClientRect();
        return box.bottom > top + 1 && box.top < bottom - 1;
      };
      return [...list.children].filter(is_seen).map((item) => item.lastChild.textContent);
    });
  check((await in_sight()).at(-1) === "line 1000", "it does not begin at the end");
  lines = 1003;
  await let_pass(page, 10_000);
  await until("the end is followed", async () => (await in_sight()).at(-1) === "line 1003");
  await page.locator(".log").evaluate((list) => (list.scrollTop = 0));
  const [first] = await in_sight();
  lines = 1900;
  const before = asked;
  await let_pass(page, 10_000);
  await until("more has come", async () => {
    if (asked === before) return false;
    await page.getByRole("button", { name: "Later lines" }).waitFor({ timeout: 1000 });
    return true;
  });
  check((await in_sight())[0] === first, `who has gone back to ${first} is at ${(await in_sight())[0]}`);
});

test("runs that are compared lie over one another", { needs: ["runs"] }, async (page, server) => {
  const who = await server.tell("who");
  await log_in(page, who);
  const { runs } = await server.ask("api/v1/runs?limit=50", who.token);
  const own = runs.filter(({ user, end }) => user === who.user && end);
  const both = [own.find(({ id }) => id === who.run), own.find(({ id }) => id !== who.run)];
  const ids = both.map(({ id, uid }) => `${id}@${uid}`).join(",");
  await server.go(page, `#/compare/${encodeURIComponent(ids)}`, ".compare .chart canvas");
  const chart = page.locator(".compare .chart").first();
  const names = await chart.locator(".chart-key").allInnerTexts();
  check(names.length === 2, `${names.length} lines`);
  const said = await chart.locator(".plot").evaluate((plot) => [plot.ariaLabel, plot.ariaValueMin]);
  for (const name of names) check(said[0].includes(`, ${name}:`), `${name} is not told: ${said[0]}`);
  check(said[1] === "0", "each begins at its own beginning");
  const table = await rows(page, "What is not alike");
  const heads = Object.keys(table[0]).slice(1);
  const command = table.filter((row) => both.some((one) => one.command.includes(row[heads[0]])));
  const words = both.map(({ command: typed }) => typed.join(" "));
  check(words[0] === words[1] || command.length > 0, "no parameter of what was typed");
  const went = table.find((row) => row[""] === "How it went");
  for (const [i, head] of heads.entries())
    check(went[head].includes(String(both[i].end.exit_code ?? both[i].end.signal)), went[head]);
  check((await text(page, "h1")) === "Runs side by side", "what it is");
});

test(
  "a sweep's runs stand side by side with what each was given and how it went",
  { needs: ["sweep"], own: true },
  async (page, server) => {
    const { values, failed } = await server.tell("sweep");
    const who = await server.tell("who");
    await log_in(page, who);
    const { runs } = await server.ask("api/v1/runs?limit=50", who.token);
    const own = runs.filter(({ command, end }) => end && command?.includes("--lr"));
    check(own.length === values.length, `${own.length} runs of ${values.length} points`);
    // As somebody does it: each is ticked in the list, then they are compared.
    await server.go(page, "#/runs", "table");
    for (const { id } of own) {
      await page.locator("tr", { has: page.locator(`a[href*="${id}"]`) }).getByRole("checkbox").check();
    }
    await page.getByRole("link", { name: /^Compare/ }).click();
    await page.waitForSelector(".differences table");
    const table = await rows(page, "What is not alike");
    const heads = Object.keys(table[0]).slice(1);
    check(heads.length === values.length, `${heads.length} columns`);
    const given = table.find((row) => row[""] === "--lr");
    const went = table.find((row) => row[""] === "How it went");
    check(given && went, JSON.stringify(table.map((row) => row[""])));
    check(
      heads.map((head) => given[head]).sort().join() === values.join(),
      `parameters: ${JSON.stringify(given)}`,
    );
    const last = table.find((row) => row[""] === "Last mark");
    check(last, `no last marks: ${JSON.stringify(table.map((row) => row[""]))}`);
    for (const head of heads) {
      check(last[head] === `loss=${given[head]}`, `${given[head]}: ${last[head]}`);
      const is_failed = given[head] === failed;
      check(/3/.test(went[head]) === is_failed, `${given[head]}: ${went[head]}`);
    }
  },
);
