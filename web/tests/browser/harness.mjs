// A browser, and tests in it that say how they went as one line of JSON each. Started by
// tests/e2e/test_page.py: node run.mjs MODULES CONTROL ABILITIES [NAMES, AS A PATTERN]

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";

export const [modules, address, abilities, only] = process.argv.slice(2);
const need = createRequire(join(modules, "/"));
// Long enough for a machine that compiles beside; what comes at once is not waited for.
const patience_ms = 20_000;
const able = new Set((abilities ?? "").split(","));
export const can = (what) => able.has(what);
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

async function post(path, query = {}) {
  const response = await fetch(`${address}${path}?${new URLSearchParams(query)}`, {
    method: "POST",
  });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return response.json();
}

/// A server under test. `tell` changes it (what: Mock.tell of tests/e2e/test_page.py), so a test that
/// tells has a server of its own.
class Server {
  static async open() {
    const { number, address } = await post("open");
    return new Server(number, address);
  }
  constructor(number, base) {
    this.number = number;
    this.base = base;
  }
  tell(what, query = {}) {
    return post(`${this.number}/${what}`, query);
  }
  /// With a token: as its user may see it.
  async ask(path, token) {
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    return (await fetch(new URL(path, this.base), { headers })).json();
  }
  async go(page, hash, sign) {
    await page.goto(`${this.base}${hash}`);
    await page.waitForSelector(sign);
  }
}

/// Polls until `claim` is true of the page; the failure says what was waited for.
export async function until(what, claim, timeout = patience_ms) {
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

// Rows, lines and blocks are as the first of them, and axe takes its time for each.
const alike = [
  "tbody tr:nth-child(n+5)",
  ".log li:nth-child(n+5):not([aria-current])",
  ".host-block:nth-child(n+5)",
  "a.span:nth-child(n+5)",
];
/// What axe finds in the page, or `within` a part. `only`: by these rules alone; `without`: by all but these.
export async function violations(page, { only, without = [] } = {}, within) {
  if (only?.length === 0) return []; // axe would take it for all
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe_source);
  const { violations } = await page.evaluate(
    ([values, disabled, selectors, include]) => {
      const exclude = selectors.filter((one) => document.querySelector(one)).map((one) => [one]);
      return globalThis.axe.run({ include: [include ?? "html"], exclude }, {
        resultTypes: ["violations"],
        preload: false,
        ...(values ? { runOnly: { type: "rule", values } } : {}),
        rules: Object.fromEntries(disabled.map((id) => [id, { enabled: false }])),
      });
    },
    [only, without, alike, within],
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.slice(0, 3).map((node) => `${id}: ${node.target.join(" ")}: ${node.failureSummary}`),
  );
}

const tests = [];
/// `needs`: what one must be able to tell the server. A test that needs something else is skipped by name.
/// `own`: it tells the server something, and so has a server for itself.
/// `told`: what its server is told before the page is opened, as [what, query]. A server that cannot be told such a
/// thing is shown as it is. Tests that want it told the same have one server.
/// `noisy`: the browser says of itself that a request failed.
export function test(name, { needs = [], own = false, told = [], how = {}, noisy = false }, body) {
  const possible = told.filter(([what]) => able.has(what));
  tests.push({ name, needs, own, told: possible, how, noisy, body });
}

const servers = new Map();
async function open_told(told) {
  const server = await Server.open();
  for (const [what, query] of told) await server.tell(what, query);
  return server;
}
function server_for({ own, told }) {
  if (own) return open_told(told);
  const key = JSON.stringify(told);
  if (!servers.has(key)) servers.set(key, open_told(told));
  return servers.get(key);
}

async function run_one(browser, { name, own, told, how, noisy, body }) {
  const server = await server_for({ own, told });
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    locale: "en-US",
    reducedMotion: "reduce",
    ...how,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(patience_ms);
  const said = [];
  page.on("console", (message) => {
    if (!["error", "warning"].includes(message.type())) return;
    // A server without a history says so by its status, which Chromium notes.
    if (!able.has("history") && /status of 503/.test(message.text())) return;
    said.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => said.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(server.base) && !request.url().startsWith("data:"))
      said.push(`asked elsewhere: ${request.url()}`);
  });
  try {
    await page.goto(server.base);
    await page.waitForSelector("a.tile");
    await body(page, server, context);
    check(noisy || said.length === 0, `the console is not empty: ${said.join(" | ")}`);
    return { name, outcome: "passed" };
  } catch (error) {
    const message = `${error.stack}\nconsole: ${said.join(" | ")}`;
    return { name, outcome: "failed", message };
  } finally {
    // A request that a route still holds would fail once the page is gone, and end all tests with it.
    for (const one of [context, ...context.pages()]) await one.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
    if (own) await server.tell("close");
  }
}

export async function run_all() {
  const { browser, close } = await open_browser();
  const waiting = [];
  for (const one of tests) {
    const missing = one.needs.filter((need) => !able.has(need));
    const message = missing.join(", "); // why not: the starter's `cannot` tells
    if (only && !new RegExp(only).test(one.name)) continue;
    if (missing.length) report({ name: one.name, outcome: "skipped", message });
    else waiting.push(one);
  }
  // Most of a test is waiting for the next look, or for a pause to end. So several wait side by side.
  const worker = async () => {
    for (let one = waiting.shift(); one; one = waiting.shift()) {
      const begun = Date.now();
      const outcome = await run_one(browser, one);
      report({ ...outcome, seconds: (Date.now() - begun) / 1000 });
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, worker));
  } finally {
    await close();
  }
}

function report(outcome) {
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
