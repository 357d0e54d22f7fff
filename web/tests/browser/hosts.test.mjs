// More than one: the instances of a card, and other servers.

import { check, test, until } from "./harness.mjs";
import { text } from "./steps.mjs";

test(
  "the instances of a card stand with it",
  { needs: ["mig"], told: [["mig", { device: 2 }]] },
  async (page, server) => {
    const { devices } = await server.ask("api/v1/overview");
    const [divided] = devices.filter(({ state }) => state === "divided");
    const instances = devices.filter(({ parent }) => parent === divided.id);
    const used = instances.findIndex(({ users }) => users.length > 0);
    const { mig, users, name } = instances[used];
    const label = `${divided.index}:${mig.gpu_instance}`;
    const card = page.locator(".tiles > li.divided");
    check((await card.count()) === 1, "one card is divided");
    check((await card.locator(".instances a").count()) === instances.length, "its instances in it");
    const said = await card.locator(".instances a").nth(used).innerText();
    for (const part of [label, "busy", users[0]]) check(said.includes(part), `${part}: ${said}`);
    await page.locator('.count[data-standing="divided"]').waitFor();
    await card.locator(".instances a").nth(used).click();
    await page.getByRole("heading", { name: `GPU ${label}` }).waitFor();
    const profile = /MIG (\S+)/.exec(name)[1];
    check((await text(page, ".gpu > .muted")).includes(`MIG ${profile}`), "by its name");
    check(/–/.test(await text(page, ".gauge-value")), "a load that nobody can read");
    check((await page.locator("[role=meter]").count()) === 1, "a meter of what is not known");
    await page.getByRole("link", { name: `GPU ${divided.index}`, exact: true }).click();
    await page.getByRole("heading", { name: `GPU ${divided.index}`, exact: true }).waitFor();
    check(
      (await page.locator(".instances a").count()) === instances.length,
      "the card names its instances",
    );
  },
);

test("where there is one server, no others are looked for", {}, async (page) => {
  check(await page.getByRole("link", { name: "Servers" }).isHidden(), "a way to nothing");
});

const joined = (count) => ({ needs: ["hosts"], told: [["hosts", { count }]] });

test("other servers are seen at a glance", joined(9), async (page, server) => {
  await page.getByRole("link", { name: "Servers" }).click();
  await page.waitForSelector(".host-block");
  check((await page.locator(".host-block").count()) === 10, "a block each, and for this server");
  const own = page.locator(".host-block:has(.host-this:visible)");
  check((await own.getByRole("link").getAttribute("href")) === "#/", "this server's page");
  check(/^gpu4/.test(await page.locator(".host-block").first().textContent()), "what does not answer is the first");
  await page.getByText("8 of 10 servers answer").waitFor();
  const { hosts } = await server.ask("api/v1/hosts");
  const [down, answers] = ["gpu4", "gpu2"].map((name) => hosts.find((host) => host.name === name));
  const gone = page.locator(".host-block", { hasText: "gpu4" });
  const seen = down.taken_unix_ms === null ? [] : ["last seen"];
  for (const part of ["unreachable", down.why, down.remedy, ...seen])
    check((await gone.innerText()).includes(part), part);
  const well = page.locator(".host-block", { hasText: "gpu2" });
  check(/\d of 8 free/.test(await well.innerText()), "how many are free");
  check((await well.locator(".cell").count()) === 8, "a cell per GPU");
  const link = well.getByRole("link", { name: "gpu2" });
  check((await link.getAttribute("href")) === answers.page, "the way to its page");
  const { devices: cards } = await server.ask("api/v1/overview");
  const free = [...hosts, { state: "ok", devices: cards }]
    .filter(({ state }) => state === "ok")
    .flatMap(({ devices }) => devices)
    .filter(({ state, health }) => state === "free" && health !== "failed").length;
  check((await text(page, ".count-number")) === String(free), `${free} are free in all`);
});

for (const width of [1440, 390])
  test(
    `names of servers are not cut where they differ (${width})`,
    { needs: ["hosts"], told: [["hosts", { count: 9 }]], how: { viewport: { width, height: 900 } } },
    async (page) => {
      const number = (name) => name.replace("gpu", "");
      const long = (name) => `accelerated-computing-of-the-department-node-${number(name)}.cluster.example.org`;
      await page.route(/\/api\/v1\/hosts$/, async (route) => {
        const response = await route.fetch();
        const told = await response.json();
        for (const host of told.hosts) host.name = long(host.name);
        await route.fulfill({ json: told });
      });
      await page.getByRole("link", { name: "Servers" }).click();
      const own = page.locator(".host-block .host-link .own");
      await until("all of them", async () => (await own.count()) === 10);
      const cut = await own.evaluateAll((all) =>
        all.filter((one) => {
          const [box, block] = [one, one.closest(".host-block")].map((each) => each.getBoundingClientRect());
          const is_whole = one.scrollWidth <= one.clientWidth + 1 || getComputedStyle(one).display === "inline";
          return !is_whole || box.width === 0 || box.right > block.right + 1 || box.left < block.left - 1;
        }).map((one) => one.textContent),
      );
      check(cut.length === 0, `cut: ${cut.join(", ")}`);
    },
  );

test(
  "a link to another server is never a script",
  { needs: ["script-link"], told: [["hosts", { count: 9 }]] },
  async (page) => {
    await page.getByRole("link", { name: "Servers" }).click();
    const link = page.locator(".host-link", { hasText: "gpu6" });
    check((await link.getAttribute("href")) === null, "a link that is a script");
  },
);

test("servers are found by state, name and user", joined(30), async (page) => {
  await page.getByRole("link", { name: "Servers" }).click();
  await page.waitForSelector(".host-block");
  await page.locator('.count[data-standing="broken"]').click();
  await until("the one with a broken card", async () =>
    /^gpu21/.test((await page.locator(".host-block").allTextContents()).join("|")),
  );
  await page.locator('.count[data-standing="broken"]').click();
  await page.getByLabel("Server or user").fill("gpu1");
  await until("gpu1 and gpu10 to gpu19", async () => (await page.locator(".host-block").count()) === 11);
  await page.getByLabel("Server or user").fill("no such");
  await page.getByText("No server is like that.").waitFor();
});

test(
  "what has not changed on other servers does not come again",
  {
    needs: ["hosts"],
    told: [["hosts", { count: 5 }], ["freeze"]],
  },
  async (page) => {
    const answers = [];
    page.on("response", (response) => {
      if (/\/hosts$/.test(response.url())) answers.push(response.status());
    });
    await page.getByRole("link", { name: "Servers" }).click();
    await until("it asks again", async () => answers.length >= 2, 12_000);
    check(answers.join() === "200,304", answers.join());
    check((await page.locator(".host-block").count()) === 6, "they are still shown");
  },
);

test("200 servers of 8 GPUs are drawn in a moment", joined(200), async (page) => {
  await page.getByRole("link", { name: "Servers" }).click();
  await until("all of them", async () => (await page.locator(".host-block").count()) === 201);
  check((await page.locator(".cell").count()) > 1500, "their cells");
  await page.evaluate(() => document.querySelector(".host-link").focus());
  await page.keyboard.press("End");
  check(
    await page.evaluate(() => document.activeElement.closest("li").matches(":last-child")),
    "the keys go to the last one",
  );
});

test(
  "a thousand servers are a map, and a search leaves some of them",
  { needs: ["thousand"], told: [["hosts", { count: 1000 }]] },
  async (page) => {
    await page.getByRole("link", { name: "Servers" }).click();
    const map = page.locator(".heat-map canvas");
    await until("it is told in words", async () =>
      /997 of 1001 servers answer/.test((await map.getAttribute("aria-label")) ?? ""),
    );
    // A colour for each standing, as strong as the card is loaded.
    const { painted, seen } = await map.evaluate((canvas) => {
      const often = { willReadFrequently: true };
      const copy = document.createElement("canvas");
      [copy.width, copy.height] = [canvas.width, canvas.height];
      copy.getContext("2d", often).drawImage(canvas, 0, 0);
      const pixels = copy.getContext("2d").getImageData(0, 0, copy.width, copy.height).data;
      const probe = document.createElement("canvas").getContext("2d", often);
      const style = getComputedStyle(document.documentElement);
      const colours = ["free", "busy", "held", "unknown"].map((standing) => {
        probe.fillStyle = style.getPropertyValue(`--${standing}`).trim();
        probe.fillRect(0, 0, 1, 1);
        return [standing, probe.getImageData(0, 0, 1, 1).data];
      });
      const strengths = Object.fromEntries(colours.map(([standing]) => [standing, new Set()]));
      let count = 0;
      for (let i = 0; i < pixels.length; i += 4) {
        if (pixels[i + 3] === 0) continue;
        count += 1;
        for (const [standing, colour] of colours)
          if ([0, 1, 2].every((part) => Math.abs(pixels[i + part] - colour[part]) < 4))
            strengths[standing].add(pixels[i + 3]);
      }
      const sizes = Object.entries(strengths).map(([standing, all]) => [standing, all.size]);
      return { painted: count, seen: sizes };
    });
    check(painted > 8_000 * 40, `${painted} pixels for 8,000 cells`);
    for (const [standing, strengths] of seen)
      check(strengths > 0, `no cell has the colour of what is ${standing}`);
    check(seen.some(([, strengths]) => strengths > 1), "an idle card looks as one that computes");
    check((await page.locator(".host-block").count()) === 0, "no block beside it");
    await page.getByLabel("Server or user").fill("gpu99");
    await until("eleven of them", async () => (await page.locator(".host-block").count()) === 11);
    check(await page.locator(".heat-map").isHidden(), "no map of eleven");
  },
);
