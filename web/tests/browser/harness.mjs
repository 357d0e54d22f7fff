// A browser, and tests in it that say how they went as one line of JSON each. Started by
// tests/e2e/test_page.py: node run.mjs MODULES ADDRESS CONTROL ABILITIES [PART OF A NAME]

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [modules, address, control, abilities, only] = process.argv.slice(2);
const need = createRequire(join(modules, "/"));
export const base = address;
const able = new Set((abilities ?? "").split(","));
const axe_source = readFileSync(need.resolve("axe-core/axe.min.js"), "utf8");

export async function open_browser() {
  const data = mkdtempSync(join(tmpdir(), "berth-browser-"));
  const { chromium } = need("playwright-core");
  const browser = await chromium.launch({
    executablePath: process.env["BERTH_CHROMIUM"] ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--disable-dev-shm-usage",
      `--crash-dumps-dir=${data}`,
    ],
    env: { ...process.env, HOME: data, XDG_CONFIG_HOME: data, XDG_CACHE_HOME: data },
  });
  return {
    browser,
    close: async () => {
      await browser.close();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/// What the server under test is told to do: stop, start, stale, fresh, history-off, history-on, change.
export async function tell(what, query = {}) {
  const response = await fetch(`${control}${what}?${new URLSearchParams(query)}`, {
    method: "POST",
  });
  if (!response.ok) throw new Error(`${what}: ${await response.text()}`);
  return response.json();
}

export async function ask(path) {
  return (await fetch(new URL(path, base))).json();
}

/// Polls until `claim` is true of the page; the failure says what was waited for.
export async function until(what, claim, timeout = 8_000) {
  const deadline = Date.now() + timeout;
  let last;
  while (Date.now() < deadline) {
    try {
      last = await claim();
      if (last) return last;
    } catch (error) {
      last = error.message;
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`not within ${timeout} ms: ${what} (last: ${JSON.stringify(last)})`);
}

export function check(claim, what) {
  if (!claim) throw new Error(what);
}

export async function violations(page) {
  await page.evaluate(axe_source);
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, { resultTypes: ["violations"] }),
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.slice(0, 3).map((node) => `${id}: ${node.target.join(" ")}: ${node.failureSummary}`),
  );
}

const tests = [];
/// `needs`: what the server must be able to be told; a test of something else is skipped by name.
export function test(name, { needs = [], how = {}, noisy = false }, body) {
  tests.push({ name, needs, how, noisy, body });
}

export async function run_all() {
  const { browser, close } = await open_browser();
  try {
    for (const { name, needs, how, noisy, body } of tests) {
      if (only && !name.includes(only)) continue;
      const missing = needs.filter((need) => !able.has(need));
      if (missing.length) {
        report({
          name,
          outcome: "skipped",
          message: `this server cannot be told: ${missing.join(", ")}`,
        });
        continue;
      }
      const context = await browser.newContext({
        viewport: { width: 1280, height: 900 },
        locale: "en-US",
        reducedMotion: "reduce",
        ...how,
      });
      const page = await context.newPage();
      page.setDefaultTimeout(8_000);
      const said = [];
      page.on("console", (message) => {
        if (["error", "warning"].includes(message.type()))
          // A server without a history says so by its status, which Chromium notes.
          if (!able.has("history") && /status of 503/.test(message.text())) return;
        said.push(`${message.type()}: ${message.text()}`);
      });
      page.on("pageerror", (error) => said.push(`exception: ${error.message}`));
      page.on("request", (request) => {
        if (!request.url().startsWith(base) && !request.url().startsWith("data:"))
          said.push(`asked elsewhere: ${request.url()}`);
      });
      try {
        await page.goto(base);
        await page.waitForSelector("a.tile");
        await body(page, context);
        check(noisy || said.length === 0, `the console is not empty: ${said.join(" | ")}`);
        report({ name, outcome: "passed" });
      } catch (error) {
        report({
          name,
          outcome: "failed",
          message: `${error.stack}\nconsole: ${said.join(" | ")}`,
        });
      }
      await context.close();
    }
  } finally {
    await close();
  }
}

function report(outcome) {
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
