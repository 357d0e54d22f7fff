// More than one: the instances of a card, and other servers.

import { check, test, until } from "./harness.mjs";
import { text } from "./steps.mjs";

test(
  "the instances of a card stand with it",
  { needs: ["mig"], told: [["mig", { device: 2 }]] },
  async (page) => {
    const card = page.locator(".tiles > li.divided");
    check((await card.count()) === 1, "one card is divided");
    check((await card.locator(".instances a").count()) === 7, "seven instances in it");
    check(/2:7.*busy.*lin/s.test(await card.locator(".instances a").first().innerText()), "whose");
    await page.locator('.count[data-standing="divided"]').waitFor();
    await card.locator(".instances a").first().click();
    await page.getByRole("heading", { name: "GPU 2:7" }).waitFor();
    check(/–/.test(await text(page, ".gauge-value")), "a load that nobody can read");
    check((await page.locator("[role=meter]").count()) === 1, "a meter of what is not known");
    await page.getByRole("link", { name: "GPU 2", exact: true }).click();
    await page.getByRole("heading", { name: "GPU 2", exact: true }).waitFor();
    check((await page.locator(".instances a").count()) === 7, "the card names its instances");
  },
);

test("where there is one server, no others are looked for", {}, async (page) => {
  check(await page.getByRole("link", { name: "Servers" }).isHidden(), "a way to nothing");
});

const joined = (count) => ({ needs: ["hosts"], told: [["hosts", { count }]] });

test("other servers are seen at a glance", joined(9), async (page, server) => {
  await page.getByRole("link", { name: "Servers" }).click();
  await page.waitForSelector(".host-block");
  check((await page.locator(".host-block").count()) === 9, "a block each");
  check(/^gpu4/.test(await text(page, ".host-block")), "what does not answer is the first");
  await page.getByText("7 of 9 servers answer").waitFor();
  const gone = page.locator(".host-block", { hasText: "gpu4" });
  for (const part of ["unreachable", "connection refused", "start berth serve there", "last seen"])
    check((await gone.innerText()).includes(part), part);
  const well = page.locator(".host-block", { hasText: "gpu2" });
  check(/\d of 8 free/.test(await well.innerText()), "how many are free");
  check((await well.locator(".cell").count()) === 8, "a cell per GPU");
  const link = well.getByRole("link", { name: "gpu2" });
  check((await link.getAttribute("href")) === "http://gpu2.example:9700/", "the way to its page");
  check(
    (await page.locator(".host-link", { hasText: "gpu6" }).getAttribute("href")) === null,
    "a link that is a script",
  );
  const { hosts } = await server.ask("api/v1/hosts");
  const free = hosts
    .filter(({ state }) => state === "ok")
    .flatMap(({ devices }) => devices)
    .filter(({ state }) => state === "free").length;
  check((await text(page, ".count-number")) === String(free), `${free} are free in all`);
});

test("servers are found by state, name and user", joined(30), async (page) => {
  await page.getByRole("link", { name: "Servers" }).click();
  await page.waitForSelector(".host-block");
  await page.locator('.count[data-standing="broken"]').click();
  await until("the one with a broken card", async () =>
    /^gpu21/.test((await page.locator(".host-block").allInnerTexts()).join("|")),
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
    check((await page.locator(".host-block").count()) === 5, "they are still shown");
  },
);

test("200 servers of 8 GPUs are drawn in a moment", joined(200), async (page) => {
  await page.getByRole("link", { name: "Servers" }).click();
  await until("all of them", async () => (await page.locator(".host-block").count()) === 200);
  check((await page.locator(".cell").count()) > 1500, "their cells");
  await page.evaluate(() => document.querySelector(".host-link").focus());
  await page.keyboard.press("End");
  check(
    await page.evaluate(() => document.activeElement.textContent === "gpu200"),
    "the keys go to the last one",
  );
});
