// What several tests do, and the views they go through.

import { check } from "./harness.mjs";

export const text = (page, selector) => page.locator(selector).first().innerText();
export const room = ["#/", "a.tile"];
export const views = [
  ["#/timeline", ".gantt-row"],
  ["#/usage", ".usage-bar"],
  ["#/health", ".panel"],
  ["#/runs", "main td a"],
  ["#/compose", ".form"],
];
/// To a view, or to what it says where there is nothing to show.
export const visit = (page, server, [hash, sign]) =>
  server.go(
    page,
    hash,
    [sign, "main .failure", "main .nothing:not([role])"].map((one) => `${one}:visible`).join(", "),
  );
export const first_gpu = async (page) => {
  await page.locator("a.tile").first().click();
  await page.waitForSelector(".gpu .chart canvas");
};
export const a_run = async (page, server) => {
  await server.go(page, "#/runs", "main td a");
  await page.locator("main tr", { hasText: "alice" }).locator("td a").first().click();
  await page.waitForSelector(".run .chart canvas");
};
/// To be known as the user of that name: the mock takes it for a token.
export const log_in = async (page, user) => {
  await page.getByRole("button", { name: /·/ }).click();
  await page.getByLabel("Token", { exact: true }).fill(user);
  await page.getByRole("button", { name: "Use it" }).click();
  await page.getByRole("button", { name: `${user} ·` }).waitFor();
  check((await page.locator("dialog[open]").count()) === 0, "the question is still there");
};
