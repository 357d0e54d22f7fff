// The panel in a real JupyterLab: node lab.mjs MODULES SCENARIO WORDS. conftest.py (Jupyter.browse) starts it, and on
// the image's Lab tests/e2e/test_image.py. It prints what it saw as one line of JSON, or fails with what was awaited.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [modules, scenario, given] = process.argv.slice(2);
const words = JSON.parse(given);
const need = createRequire(join(modules, "/"));
const { chromium } = need("playwright-core");
const axe = readFileSync(need.resolve("axe-core/axe.min.js"), "utf8");
const patience_ms = 300_000; // of a machine that compiles beside

const data = mkdtempSync(join(tmpdir(), "berth-browser-"));
const browser = await chromium.launch({
  executablePath: process.env["BERTH_CHROMIUM"],
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync"],
  env: { ...process.env, HOME: data, XDG_CONFIG_HOME: data, XDG_CACHE_HOME: data },
});
const asked = [];
const errors = [];

function check(claim, what) {
  if (!claim) throw new Error(what);
}

async function until(what, claim) {
  const deadline = Date.now() + patience_ms;
  let last;
  while (Date.now() < deadline) {
    last = await claim();
    if (last) return last;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`not within ${patience_ms} ms: ${what}`);
}

async function open(path, how = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ignoreHTTPSErrors: true, ...how });
  page.setDefaultTimeout(patience_ms);
  page.on("request", (request) => {
    if (request.url().includes("/berth/")) asked.push(request.url());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(`${words.address}${path}${path.includes("?") ? "&" : "?"}token=${words.token}`);
  return page;
}

const tab = '[data-id="berth-lab-panel"]';
const text = (page) => page.evaluate(() => document.querySelector(".berth-lab")?.innerText ?? "");
const part = (page, name) => page.locator(`.berth-lab section[aria-label="${name}"]`).innerText();

async function show_panel(page) {
  await page.waitForSelector(tab);
  await page.click(tab);
  await page.waitForSelector(".berth-lab li");
}

/// Opens a notebook beside what is open already.
async function open_notebook(page, name) {
  await page.evaluate((path) => document.querySelector("#jupyterlab-splash")?.remove() ?? path, name);
  await page.click('[data-id="filebrowser"]');
  await page.dblclick(`.jp-DirListing-item:has-text("${name}")`);
  await page.waitForSelector(`.jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook`);
}

/// A lab that is still getting its kernel lets a cell lie that it was told to run.
async function run_cell(page, answer) {
  const shown = ".jp-NotebookPanel:not(.lm-mod-hidden)";
  const said = page.locator(`${shown} .jp-OutputArea-output:has-text("${answer}")`);
  await until(`a cell said ${answer}`, async () => {
    const prompt = await page.locator(`${shown} .jp-InputPrompt`).first().innerText();
    if (/^\[ *\]:$/.test(prompt.trim())) {
      await page.locator(`${shown} .jp-CodeCell .cm-content`).first().click();
      await page.keyboard.press("Shift+Enter");
      await page.waitForTimeout(2_000);
    }
    return (await said.count()) > 0;
  });
}

async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run({ include: [[".berth-lab"]] }, { resultTypes: ["violations"] }));
  const open = await page.evaluate(() =>
    document.querySelector(".berth-lab-ask") ? globalThis.axe.run({ include: [[".berth-lab-ask"]] }) : { violations: [] },
  );
  return [...found.violations, ...open.violations].map(
    ({ id, nodes }) => `${id}: ${nodes.slice(0, 2).map((node) => `${node.html} ${node.failureSummary}`)}`,
  );
}

const scenarios = {
  /// Two notebooks lease a GPU each; the one that is not in front is shut down after the question.
  async lease() {
    const page = await open("lab/tree/train.ipynb");
    await page.waitForSelector(".jp-Notebook");
    await run_cell(page, "this kernel's until");
    await show_panel(page);
    const here = await until("this notebook has its GPU", async () => {
      const said = await part(page, "This notebook");
      return said.includes("GPU 3") && said;
    });
    const alone = await part(page, "Idle kernels that hold memory");
    await open_notebook(page, "idle.ipynb");
    await run_cell(page, "this kernel's until");
    await show_panel(page);
    await until("the other is listed", async () =>
      (await part(page, "Idle kernels that hold memory")).includes("train.ipynb"),
    );
    const holders = await until("both hold theirs", async () => {
      const said = await part(page, "Who holds what");
      return said.split("(yours)").length > 2 && said;
    });
    const button = page.getByRole("button", { name: "Shut down the kernel of train.ipynb" });
    await button.click();
    const dialog = page.locator("dialog.berth-lab-ask");
    const question = await dialog.innerText();
    const in_dialog = await violations(page);
    await page.keyboard.press("Escape");
    check((await dialog.count()) === 0, "Escape leaves the question");
    await button.click();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    const before = await (await page.request.get(`${words.address}api/kernels?token=${words.token}`)).json();
    check(before.length === 2, "nothing was shut down yet");
    await button.click();
    await dialog.getByRole("button", { name: "Shut down" }).click();
    await until("it is gone from the list", async () =>
      (await part(page, "Idle kernels that hold memory")).includes("None."),
    );
    const left = await until("its kernel has ended", async () => {
      const answer = await page.request.get(`${words.address}api/kernels?token=${words.token}`);
      const kernels = await answer.json();
      return kernels.length < 2 && kernels;
    });
    await until("it says so", async () => (await text(page)).includes("is shut down"));
    return { here, alone, holders, question, left: left.length, violations: in_dialog, told: await text(page) };
  },

  /// As it looks: light, dark, Chinese; for axe, and a picture.
  async looks() {
    const page = await open("lab");
    await show_panel(page);
    await until("each GPU is in the panel", async () => (await page.locator(".berth-lab li").count()) >= 8);
    if (words.picture) await page.locator(".berth-lab").screenshot({ path: words.picture });
    const seen = await page.evaluate(() => ({
      lang: document.documentElement.lang,
      dark: document.body.dataset.jpThemeLight === "false",
      background: getComputedStyle(document.querySelector(".berth-lab")).backgroundColor,
    }));
    return { ...seen, violations: await violations(page), told: await text(page) };
  },

  /// Behind another panel, and in a tab in the background, nothing is asked.
  async hidden() {
    const page = await open("lab");
    await page.waitForSelector(tab);
    await page.waitForTimeout(3_000);
    const never_shown = asked.length;
    await show_panel(page);
    await until("it asks", () => asked.length >= 2);
    await page.click('[data-id="filebrowser"]');
    // What was asked for before may still be on its way. A panel that asks on is never silent so long.
    await until("it has fallen silent", async () => {
      const before = asked.length;
      await page.waitForTimeout(5_000);
      return asked.length === before;
    });
    const before = asked.length;
    await page.click(tab);
    await until("it asks again", () => asked.length > before);
    return { never_shown };
  },

  /// The lab starts, whatever became of the panel.
  async starts() {
    const page = await open("lab");
    await page.waitForSelector(".jp-Launcher, .jp-Notebook");
    await page.waitForSelector(".jp-DirListing");
    return { panel: await page.locator(tab).count() };
  },

  /// A job that calls itself a piece of HTML.
  async hostile() {
    const page = await open("lab");
    await show_panel(page);
    const said = await text(page);
    const made = await page.evaluate(() => document.querySelectorAll(".berth-lab img, .berth-lab script").length);
    return { told: said, made, pwned: await page.evaluate(() => globalThis.pwned ?? null) };
  },

  async notebook() {
    const page = await open("notebooks/train.ipynb");
    await page.waitForSelector(".jp-Notebook");
    await until("the panel is in the document or to be shown", () =>
      page.evaluate(() => globalThis.jupyterapp?.shell && [...globalThis.jupyterapp.shell.widgets("left")].length > 0),
    );
    const ids = await page.evaluate(() => [...globalThis.jupyterapp.shell.widgets("left")].map((one) => one.id));
    await page.evaluate(() => globalThis.jupyterapp.shell.expandLeft("berth-lab-panel"));
    await page.waitForSelector(".berth-lab li");
    return { ids, told: await text(page) };
  },

  /// The page of berth serve shows the room, and reaches nothing of Jupyter's.
  async page() {
    const page = await open("berth/page/");
    await page.waitForSelector("main");
    await until("the GPUs are shown", async () => (await page.locator("main").innerText()).includes("GPU"));
    const told = await page.locator("body").innerText();
    const reached = await page.evaluate(async (address) => {
      const tried = {};
      for (const path of ["api/contents", "api/terminals", "files/train.ipynb"])
        tried[path] = await fetch(`${address}${path}`).then((answer) => answer.status, () => "refused");
      tried.own = await fetch("api/v1/overview").then((answer) => answer.status, () => "refused");
      tried.script = await new Promise((done) => {
        const script = document.createElement("script");
        script.onload = () => done("ran");
        script.onerror = () => done("refused");
        try {
          script.src = `${address}files/evil.js`;
        } catch {
          return done("refused");
        }
        document.head.append(script);
      });
      try {
        const made = document.createElement("div");
        made.innerHTML = "<img src=x onerror='globalThis.pwned = 1'>";
        tried.markup = "taken";
      } catch {
        tried.markup = "refused";
      }
      return tried;
    }, words.address);
    const streams = () => asked.filter((url) => url.endsWith("api/v1/events")).length;
    await until("it listens to what is new", () => streams() > 0);
    const streamed = streams();
    return { told, reached, streamed, pwned: await page.evaluate(() => globalThis.pwned ?? null), asked: [...new Set(asked)] };
  },
};

try {
  const seen = await scenarios[scenario]();
  console.log(JSON.stringify({ ...seen, errors }));
} catch (error) {
  console.error(error);
  for (const context of browser.contexts())
    for (const page of context.pages()) {
      console.error(page.url(), await page.evaluate(() => document.body.innerText).catch(String));
      if (process.env["BERTH_PICTURE"]) await page.screenshot({ path: process.env["BERTH_PICTURE"] });
    }
  process.exitCode = 1;
} finally {
  await browser.close();
  rmSync(data, { recursive: true, force: true });
}
