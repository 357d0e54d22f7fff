// Steps that several tests share, and the views they go through.

import { readFileSync } from "node:fs";

import { check } from "./harness.mjs";

const written = ["words", "gpu_words"].map((name) =>
  readFileSync(new URL(`../../src/words/${name}.ts`, import.meta.url), "utf8"),
);
const words = new Map(
  [...written.join("").matchAll(/"([\w. ]+)": \[\s*"(.*?)",\s*"(.*?)",?\s*\]/g)].map(
    ([, key, en, zh]) => [key, { en, zh }],
  ),
);
/// The page's own word.
export const word = (language, key) => words.get(key)[language];
/// As if so long had passed: what the page does now and then, it does at once.
export const let_pass = (page, ms) =>
  page.evaluate((more) => {
    const now = performance.now.bind(performance);
    performance.now = () => now() + more;
  }, ms);

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
/// To one that has ended, as its owner.
export const a_run = async (page, server) => {
  const who = await server.tell("who");
  await log_in(page, who);
  await server.go(page, "#/runs", "main td a");
  await page.getByRole("link", { name: who.run, exact: true }).click();
  await page.waitForSelector(".run .chart canvas");
};
/// A history that knows of all the time that is asked for, but for where `is_gap` of a moment. `told`
/// says what else an answer tells, and may take its time.
export const with_history = (page, { is_gap = () => false, told = () => null } = {}) =>
  page.route(/\/api\/v1\/history\?/, async (route) => {
    const asked = new URL(route.request().url()).searchParams;
    const [since, until, count] = ["since", "until", "points"].map((name) => Number(asked.get(name)));
    const step = Math.max(1000, Math.ceil((until - since) / count));
    const times = Array.from({ length: Math.floor((until - since) / step) }, (_, i) => since + i * step);
    const json = {
      damaged_blocks: 0,
      simulated: null,
      device: asked.get("device"),
      metric: asked.get("metric"),
      unit: "",
      step_ms: step,
      knows_since_unix_ms: 0,
      points: times.filter((at) => !is_gap(at, since, until)).map((at) => [at, 40, 50, 55, 60]),
    };
    const more = await told(asked);
    await route.fulfill({ json: { ...json, ...more } }).catch(() => null); // who asked has gone
  });
/// The rows of the first table of that name, each as its cells by their headings.
export const rows = (page, name) =>
  page
    .locator(`main .scrolls[aria-label="${name}"]`)
    .first()
    .evaluate((table) => {
      const told = (row) => [...row.children].map((cell) => cell.textContent);
      const [heads, ...items] = [...table.querySelectorAll("tr")].map(told);
      return items.map((cells) => Object.fromEntries(cells.map((text, i) => [heads[i], text])));
    });
/// What a list of terms says, by its terms.
export const told_facts = (page) =>
  page
    .locator("main .facts > div")
    .evaluateAll((items) =>
      Object.fromEntries(items.map((item) => [...item.children].map((one) => one.textContent))),
    );
/// A moment by the clock on the wall, as tables have it.
export const moment_of = (unix_ms) => {
  const at = new Date(unix_ms);
  const [year, ...rest] = [
    at.getFullYear(),
    at.getMonth() + 1,
    at.getDate(),
    at.getHours(),
    at.getMinutes(),
    at.getSeconds(),
  ];
  const [month, day, hour, minute, second] = rest.map((part) => String(part).padStart(2, "0"));
  return `${year}-${month}-${day} ${hour}:${minute}:${second}`;
};
/// Does this text say so long a time, but for what passes while one looks?
export const says_duration = (said, ms) => {
  const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 };
  const parts = [...said.matchAll(/(\d+)([dhms])/g)];
  const told = parts.reduce((sum, [, number, unit]) => sum + Number(number) * units[unit], 0);
  const least = parts.length ? units[parts.at(-1)[2]] : 0;
  return parts.length > 0 && Math.abs(told - ms) <= least + 60_000;
};
/// To be known as somebody.
export const log_in = async (page, { user, token }) => {
  await page.getByRole("button", { name: /·/ }).click();
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Use it" }).click();
  await page.getByRole("button", { name: `${user} ·` }).waitFor();
  check((await page.locator("dialog[open]").count()) === 0, "the question is still there");
};
