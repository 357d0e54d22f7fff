// A report in a browser: node report.mjs MODULES FILE [PICTURE]. Says what it found as one line of JSON. That is what a
// person would see, what the console said, what was asked for elsewhere, and what axe finds. With PICTURE it saves a
// picture of the page's beginning instead. Started by tests/e2e/test_report.py.

import { pathToFileURL } from "node:url";

import { address as file, open_browser, violations } from "./harness.mjs";

const picture = process.argv[4];
const url = pathToFileURL(file).href;
const { browser, close } = await open_browser();

async function open(how, said) {
  const context = await browser.newContext({ viewport: { width: 1180, height: 900 }, ...how });
  const page = await context.newPage();
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    if (request.url() !== url) said.push(`asked elsewhere: ${request.url()}`);
  });
  await page.goto(url);
  return page;
}

/// The texts in the page, as its elements say.
function facts() {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const charts = all("figure").map((figure) => ({
    name: figure.dataset.chart,
    title: figure.querySelector("figcaption").textContent,
    lines: [...figure.querySelectorAll("svg:not(.sample) path.line")].map(
      (line) => line.getTotalLength(),
    ),
    marks: figure.querySelectorAll("g.mark").length,
    legend: [...figure.querySelectorAll(".legend li")].map((item) => item.textContent),
    dashes: [...figure.querySelectorAll("svg:not(.sample) path.line")].map(
      (line) => getComputedStyle(line).strokeDasharray,
    ),
  }));
  return {
    language: document.documentElement.lang,
    heading: document.querySelector("h1").textContent,
    simulated: document.querySelector(".sim")?.textContent ?? "",
    sections: all("h2").map((heading) => heading.textContent),
    charts,
    scripts: all("script").length,
    images: all("img").length,
    text: document.body.innerText,
    background: getComputedStyle(document.body).backgroundColor,
    wider: document.documentElement.scrollWidth > innerWidth,
  };
}

try {
  const said = [];
  const light = await open({}, said);
  if (picture) {
    await light.setViewportSize({ width: 1180, height: 1240 });
    await light.screenshot({ path: picture });
  } else {
    const seen = await light.evaluate(facts);
    const dark = await open({ colorScheme: "dark" }, said);
    const phone = await open({ viewport: { width: 360, height: 800 } }, said);
    const in_dark = await dark.evaluate(facts);
    const on_phone = await phone.evaluate(facts);
    const found = {
      ...seen,
      dark_background: in_dark.background,
      wider_on_phone: on_phone.wider,
      said: [...said],
      // axe is a script, which the page's own policy would not let in.
      violations: await (async () => {
        const how = { bypassCSP: true };
        const light_axe = await open(how, []);
        const dark_axe = await open({ ...how, colorScheme: "dark" }, []);
        return [...(await violations(light_axe)), ...(await violations(dark_axe))];
      })(),
    };
    process.stdout.write(`${JSON.stringify(found)}\n`);
  }
} finally {
  await close();
}
