// The page in a browser: what a person sees, clicks and types.

import { ask, base, check, run_all, tell, test, until, violations } from "./harness.mjs";

const text = (page, selector) => page.locator(selector).first().innerText();
const go = async (page, hash, sign) => {
  await page.goto(`${base}${hash}`);
  await page.waitForSelector(sign);
};
const views = [
  ["#/timeline", ".gantt-row"],
  ["#/usage", ".usage-bar"],
  ["#/health", ".panel"],
  ["#/runs", "main td a"],
  ["#/compose", ".form"],
];
const first_gpu = async (page) => {
  await page.locator("a.tile").first().click();
  await page.waitForSelector(".gpu .chart canvas");
};
const a_run = async (page) => {
  await go(page, "#/runs", "main td a");
  await page.locator("main tr", { hasText: "alice" }).locator("td a").first().click();
  await page.waitForSelector(".run .chart canvas");
};

test(
  "the room shows a tile per GPU with its state in words, and how many of each",
  {},
  async (page) => {
    const { devices } = await ask("api/v1/overview");
    check((await page.locator("a.tile").count()) === devices.length, "a tile per device");
    const free = devices.filter(
      (device) => device.state === "free" && device.health !== "failed",
    ).length;
    check(
      (await text(page, '.count[data-standing="free"] .count-number')) === String(free),
      `${free} are free`,
    );
    await page.getByRole("link", { name: /^GPU 0 \w+/ }).waitFor();
  },
);

test("before the first look nothing is claimed", { needs: ["blind"] }, async (page) => {
  await tell("blind");
  await page.reload();
  await page.getByText("Asking the server…").first().waitFor();
  for (const claim of ["No process.", "Nobody waits.", "No GPU is to be seen"]) {
    check(!(await page.getByText(claim).first().isVisible()), claim);
  }
  await tell("sighted");
  await page.waitForSelector("a.tile");
  check(await page.getByText("Asking the server…").first().isHidden(), "it still asks");
});

test("what somebody calls himself is text, never markup", { needs: ["hostile"] }, async (page) => {
  await page.getByText("<img src=x onerror=alert(1)>").waitFor();
  check((await page.locator("main img").count()) === 0, "an element was made of a name");
});

test("numbers move without a reload", {}, async (page) => {
  const tile = page.locator("a.tile .tile-load").first();
  const before = await tile.innerText();
  await until("the load of GPU 0 changes", async () => (await tile.innerText()) !== before, 20_000);
  const path = page.locator(".spark path").first();
  const drawn = (await path.getAttribute("d")).length;
  await until("its line grows", async () => (await path.getAttribute("d")).length > drawn);
});

test("a card that changes its state is seen and spoken of", { needs: ["change"] }, async (page) => {
  await tell("change", { device: 5, state: "busy" });
  await until(
    "the tile says busy",
    async () => (await text(page, "li:nth-child(6) .tile-word")) === "busy",
  );
  await until("it is announced", async () =>
    /GPU 5 is now busy/.test(await page.locator("[aria-live=polite]").innerText()),
  );
  await tell("change", { device: 5, state: "free" });
});

test("clicking a count shows only those, and clicking again all", {}, async (page) => {
  const all = await page.locator("a.tile").count();
  const free = page.locator('.count[data-standing="free"]');
  const count = Number(await free.locator(".count-number").innerText());
  await free.click();
  await until("only the free ones", async () => (await page.locator("a.tile").count()) === count);
  await free.click();
  await until("all of them", async () => (await page.locator("a.tile").count()) === all);
});

test("a GPU's panel has gauges, charts and who computes on it", {}, async (page) => {
  await first_gpu(page);
  check((await text(page, "h1")) === "GPU 0", "the heading");
  check((await page.locator("[role=meter]").count()) === 4, "four gauges");
  await until("charts say their numbers", async () =>
    /now \d+ %/.test(await page.locator(".plot").first().getAttribute("aria-label")),
  );
  const { processes, devices } = await ask("api/v1/overview");
  const mine = processes.filter((process) => process.device === devices[0].id);
  if (mine.length) await page.getByRole("cell", { name: String(mine[0].pid) }).waitFor();
  await page.goBack();
  await page.waitForSelector("a.tile");
});

test(
  "the range of the charts goes from minutes to months",
  { needs: ["history"] },
  async (page) => {
    await first_gpu(page);
    for (const range of ["24 h", "90 days"]) {
      await page.getByRole("button", { name: range }).click();
      await until(`${range} drawn`, async () =>
        /mean \d+/.test(await page.locator(".plot").first().getAttribute("aria-label")),
      );
    }
    await page.getByText(/Known since/).waitFor();
    await page.locator(".chart summary").first().click();
    await page.locator(".chart details td").first().waitFor();
    const painted = await page
      .locator(".chart canvas")
      .first()
      .evaluate((canvas) => {
        const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return pixels.some((value) => value !== 0);
      });
    check(painted, "the canvas is empty");
    await page.getByRole("button", { name: "15 min" }).click();
  },
);

test(
  "without a history it is said in place, and the live charts go on",
  { needs: ["no-history"], noisy: true },
  async (page) => {
    await tell("history-off");
    await first_gpu(page);
    await page.getByText("This server keeps no history.").waitFor();
    await until("the live chart is drawn", async () =>
      /now \d+ %/.test(await page.locator(".plot").first().getAttribute("aria-label")),
    );
    for (const hash of ["#/timeline", "#/usage", "#/health"]) {
      await page.goto(`${base}${hash}`);
      await page.getByText("This server keeps no history.").waitFor();
    }
    await tell("history-on");
  },
);

test(
  "when the server goes, the page counts down and finds it again",
  { needs: ["restart"], noisy: true },
  async (page) => {
    await tell("stop");
    await until("it says so", async () =>
      /Not connected\. .*next try in \d+ s/.test(await text(page, ".trouble")),
    );
    check((await page.locator("a.tile").count()) > 0, "what was known stays");
    await until(
      "the pause grows",
      async () => /next try in [3-9] s/.test(await text(page, ".trouble")),
      15_000,
    );
    await tell("start");
    await until(
      "live again",
      async () =>
        (await page.locator(".trouble").isHidden()) && /live/.test(await text(page, ".fresh")),
      15_000,
    );
  },
);

test("the button tries at once", { needs: ["restart"], noisy: true }, async (page) => {
  await tell("stop");
  await until(
    "it waits long",
    async () => /next try in [3-9] s/.test(await text(page, ".trouble")),
    20_000,
  );
  await tell("start");
  await page.getByRole("button", { name: "Try now" }).click();
  await until("live again", async () => /live/.test(await text(page, ".fresh")), 2_500);
});

test("stale numbers are called stale", { needs: ["stale"] }, async (page) => {
  await tell("stale");
  await until("the banner", async () => /^Stale: the last look/.test(await text(page, ".trouble")));
  check(/stale/.test(await text(page, ".fresh")), "the sign in the head");
  await tell("fresh");
  await until("it goes", async () => page.locator(".trouble").isHidden());
});

test(
  "simulated numbers are called simulated on every view",
  { needs: ["simulated"] },
  async (page) => {
    for (const [hash, sign] of [["#/", "a.tile"], ...views]) {
      await go(page, hash, sign).catch(() => page.waitForSelector("main .failure, main .nothing"));
      check(/^SIMULATED/.test(await text(page, ".simulated")), hash);
    }
  },
);

test(
  "the timeline zooms by wheel, moves by dragging, and does both by keys and buttons",
  { needs: ["history"] },
  async (page) => {
    await go(page, "#/timeline", "a.span");
    const shown = () => text(page, ".bar-of-tools > .muted");
    const changes = async (what, act) => {
      const before = await shown();
      await act();
      await until(what, async () => (await shown()) !== before);
    };
    const box = await page.locator(".gantt-rows").boundingBox();
    const [x, y] = [box.x + box.width * 0.6, box.y + 30];
    await page.locator(".gantt").focus();
    await page.mouse.move(x, y);
    await changes("the wheel zooms", () => page.mouse.wheel(0, -240));
    await changes("dragging moves", async () => {
      await page.mouse.down();
      await page.mouse.move(x + 150, y, { steps: 5 });
      await page.mouse.up();
    });
    check(/#\/timeline/.test(page.url()), "a drag is no click");
    await page.locator(".gantt").focus();
    await changes("ArrowLeft moves", () => page.keyboard.press("ArrowLeft"));
    await changes("minus zooms", () => page.keyboard.press("-"));
    await changes("the button zooms", () => page.getByRole("button", { name: "Closer" }).click());
    await page.locator("summary", { hasText: "As a table" }).click();
    await page.getByRole("cell", { name: "run" }).first().waitFor();
    await page.locator('a.span[data-kind="run"]').first().focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector(".run");
  },
);

test("usage is shown by user, job, GPU and day", { needs: ["history"] }, async (page) => {
  await go(page, "#/usage", ".usage-bar");
  for (const by of ["Job", "GPU", "Day"]) {
    await page.getByRole("button", { name: by, exact: true }).click();
    await until(by, async () => (await page.locator(".usage-bar").count()) > 0);
  }
  await page.getByText(/Only known since/).waitFor();
});

test("health tells what is wrong and what to do", { needs: ["faults"] }, async (page) => {
  await go(page, "#/health", ".health-card");
  await page.getByText("it fell off the bus and answers nobody").waitFor();
  await page.getByText("reboot; if it comes back, look at seating, power and cooling").waitFor();
  await page.getByText("XID 79: GPU has fallen off the bus.").waitFor();
});

test("over a dip of a chart stand the lines of that moment", { needs: ["runs"] }, async (page) => {
  await a_run(page);
  const plot = page.locator(".u-over").first();
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width * 0.63, box.y + 30);
  await until("the log follows", async () =>
    /waiting for the data loader/.test(await text(page, ".log [aria-current]")),
  );
  await until("the line is in sight", async () =>
    page
      .locator(".log [aria-current]")
      .first()
      .evaluate((line) => {
        const [inner, outer] = [
          line.getBoundingClientRect(),
          line.parentElement.getBoundingClientRect(),
        ];
        return inner.top >= outer.top && inner.bottom <= outer.bottom;
      }),
  );
  await until("the marks follow", async () =>
    /epoch=2/.test(await text(page, ".marks [aria-current]")),
  );
  check(!(await page.locator(".log").innerText()).includes("\x1b"), "escape sequences are shown");
  await page.locator(".log li").nth(3).hover();
  await until("the charts follow the log", async () =>
    page
      .locator(".u-cursor-x")
      .first()
      .evaluate((line) => line.getBoundingClientRect().width >= 0 && line.style.transform !== ""),
  );
});

test("what of a run one may not see is said to be that", { needs: ["runs"] }, async (page) => {
  await go(page, "#/runs", "main td a");
  await page.locator("main tr", { hasText: "mara" }).locator("td a").first().click();
  await page.getByText("Its charts, marks and log are its owner's.").waitFor();
  check((await page.locator("canvas").count()) === 0, "a chart of nothing");
});

test(
  "an alert is shown where everybody looks, until it is resolved",
  { needs: ["alert"] },
  async (page) => {
    await tell("alert", {
      state: "firing",
      message: "held idle for 2 h by bob",
      remedy: "ask bob",
    });
    const alert = page.locator(".room .event", { hasText: "held idle for 2 h by bob" });
    await alert.getByRole("link", { name: "GPU 0" }).waitFor();
    check(/ask bob/.test(await alert.innerText()), "what to do");
    await tell("alert", { state: "resolved", message: "held idle for 2 h by bob" });
    await until("it goes", async () => (await alert.count()) === 0 || alert.isHidden());
    await go(page, "#/health", ".panel");
    await page.getByText("resolved: held idle for 2 h by bob").waitFor();
  },
);

test("the form composes a command and copies it", {}, async (page, context) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await go(page, "#/compose", ".form");
  await page.getByLabel("GPUs", { exact: true }).fill("2");
  await page.getByLabel("Memory", { exact: true }).selectOption("gib");
  await page.getByLabel("How much").fill("10");
  await page.getByLabel("Your command").fill("python 'my train.py'");
  const wanted = "berth run -n 2 --memory 10G -- python 'my train.py'";
  await until("the command", async () => (await text(page, ".command")) === wanted);
  await until("it would start", async () =>
    /would start at once/.test(await text(page, ".verdict")),
  );
  await page.getByRole("button", { name: "Copy" }).click();
  await page.getByText("Copied.").first().waitFor();
  check((await page.evaluate(() => navigator.clipboard.readText())) === wanted, "the clipboard");
  await page.getByLabel("GPUs", { exact: true }).fill("1000");
  await until("it cannot be", async () => /never/.test(await text(page, ".verdict")));
});

test("all of it speaks Chinese", {}, async (page) => {
  await page.getByRole("button", { name: "中文" }).click();
  await page.getByRole("link", { name: "时间线" }).waitFor();
  check((await page.locator("html").getAttribute("lang")) === "zh-CN", "the language is declared");
  check(
    (await page.locator('.count[data-standing="free"]').innerText()).includes("空闲"),
    "the counts",
  );
  await page.reload();
  await page.getByRole("link", { name: "时间线" }).waitFor();
  await page.getByRole("button", { name: "English" }).click();
  await page.getByRole("link", { name: "Timeline" }).waitFor();
});

test("a Chinese browser gets Chinese unasked", { how: { locale: "zh-CN" } }, async (page) => {
  await page.getByRole("link", { name: "总览" }).waitFor();
});

test(
  "light and dark follow the system until somebody chooses",
  { how: { colorScheme: "dark" } },
  async (page) => {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    check((await ground()) === "rgb(13, 17, 23)", `dark: ${await ground()}`);
    await page.getByRole("button", { name: "Auto" }).click();
    check((await ground()) === "rgb(243, 245, 247)", `light: ${await ground()}`);
    await page.reload();
    await page.waitForSelector("a.tile");
    check((await ground()) === "rgb(243, 245, 247)", "it is remembered");
  },
);

test("everything is reached without a mouse", {}, async (page) => {
  await page.keyboard.press("Tab");
  check(
    (await page.evaluate(() => document.activeElement.className)) === "skip",
    "first the way to the content",
  );
  await page.keyboard.press("Enter");
  check((await page.evaluate(() => document.activeElement.id)) === "main", "it leads there");
  for (
    let i = 0;
    i < 30 && !(await page.evaluate(() => document.activeElement.matches("a.tile")));
    ++i
  )
    await page.keyboard.press("Tab");
  const at = () => page.evaluate(() => document.activeElement.textContent);
  check(/^GPU 0/.test(await at()), `the first tile: ${await at()}`);
  await page.keyboard.press("ArrowRight");
  check(/^GPU 1/.test(await at()), "to the right");
  await page.keyboard.press("End");
  const last = (await page.locator("a.tile").count()) - 1;
  check((await at()).startsWith(`GPU ${last}`), "the last one");
  await page.keyboard.press("Home");
  await page.keyboard.press("Tab");
  check(
    !(await page.evaluate(() => document.activeElement.matches("a.tile"))),
    "the tiles are one stop",
  );
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".gpu");
  check(
    (await page.evaluate(() => document.activeElement.id)) === "main",
    "a new view has the focus",
  );
});

for (const width of [360, 768]) {
  test(
    `nothing is wider than a screen of ${width}`,
    { how: { viewport: { width, height: 740 } }, noisy: true },
    async (page) => {
      for (const [hash, sign] of [["#/", "a.tile"], ...views]) {
        await go(page, hash, sign).catch(() =>
          page.waitForSelector("main .failure, main .nothing"),
        );
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        check(wide <= 0, `${hash} is ${wide} px too wide`);
      }
      await go(page, "#/", "a.tile");
      await first_gpu(page);
      check(
        (await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0,
        "a GPU's panel",
      );
    },
  );
}

for (const colorScheme of ["light", "dark"]) {
  test(
    `no view fails the accessibility rules (${colorScheme})`,
    { how: { colorScheme }, noisy: true },
    async (page) => {
      const found = [];
      const look = async (where) =>
        found.push(...(await violations(page)).map((violation) => `${where}: ${violation}`));
      await look("room");
      for (const [hash, sign] of views) {
        await go(page, hash, sign).catch(() =>
          page.waitForSelector("main .failure, main .nothing"),
        );
        await look(hash);
      }
      await go(page, "#/", "a.tile");
      await first_gpu(page);
      await look("gpu");
      await go(page, "#/runs", "main .panel");
      if (await page.locator("main td a").count()) {
        await page.locator("main td a").first().click();
        await page.waitForSelector(".run .facts");
        await look("run");
      }
      await page.getByRole("button", { name: /·/ }).click();
      await look("token");
      check(found.length === 0, found.join("\n"));
    },
  );
}

await run_all();
