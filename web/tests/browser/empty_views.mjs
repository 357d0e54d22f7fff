// Which views of a server's page have nothing to show: node empty_views.mjs MODULES WORDS. Started by
// tests/e2e/test_month.py; prints, as one line of JSON, what each view says of that, and how much it shows.

import { open_browser } from "./harness.mjs";

const { base, token, device, runs } = JSON.parse(process.argv[3]);
const views = {
  room: ["#/", "a.tile"],
  gpu: [`#/gpu/${encodeURIComponent(device)}`, ".gpu .chart:visible canvas"],
  timeline: ["#/timeline", "a.span"],
  usage: ["#/usage", ".usage-bar"],
  health: ["#/health", ".event"],
  runs: ["#/runs", "main td a"],
  run: [`#/run/${encodeURIComponent(runs[0])}`, ".run .chart canvas"],
  compare: [`#/compare/${encodeURIComponent(runs.slice(0, 2).join(","))}`, ".compare .chart canvas"],
  queue: ["#/queue", "main table"],
  compose: ["#/compose", ".form"],
};
const { browser, close } = await open_browser();
const seen = {};
try {
  const page = await (await browser.newContext({ locale: "en-US" })).newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(base);
  await page.evaluate((known) => sessionStorage.setItem("berth-token", known), token);
  await page.reload();
  for (const [name, [hash, sign]] of Object.entries(views)) {
    await page.goto(`${base}${hash}`);
    let missing = null;
    await page.locator(sign).first().waitFor({ state: "attached" }).catch((error) => (missing = error.message));
    if (name === "gpu") {
      await page.getByRole("button", { name: "30 days" }).click();
      await page.locator(".gpu .bands:visible i").first().waitFor({ state: "attached" });
      await page.locator(".gpu .chart:visible", { hasText: "PCIe" }).waitFor();
    }
    await page.locator("main .nothing:visible", { hasText: "Asking the server…" }).first().waitFor({ state: "detached" });
    const empty = await page.locator("main .nothing:visible, main .failure:visible").allInnerTexts();
    const charts = await page.locator("main .plot:visible").evaluateAll((all) => all.map((one) => one.ariaLabel));
    seen[name] = { missing, empty, charts, shown: await page.locator(sign).count() };
  }
  console.log(JSON.stringify(seen));
} finally {
  await close();
}
