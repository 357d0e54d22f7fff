// The past: charts of months, the timeline, usage, runs with their logs.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

import { check, test, until } from "./harness.mjs";
import { a_run, first_gpu, log_in, moment_of, rows, text, told_facts } from "./steps.mjs";

test(
  "the range of the charts goes from minutes to months",
  { needs: ["history"] },
  async (page, server) => {
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
  "the timeline zooms by wheel, moves by dragging, and does both by keys and buttons",
  { needs: ["history"] },
  async (page, server) => {
    await server.go(page, "#/timeline", "a.span");
    const shown = () => text(page, ".bar-of-tools > .muted");
    const changes = async (what, act) => {
      const before = await shown();
      await act();
      await until(what, async () => (await shown()) !== before);
    };
    const box = await until("it is drawn", () => page.locator(".gantt-rows").boundingBox());
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
    await changes("a length goes to now", () => page.getByRole("button", { name: "24 h" }).click());
    await page.locator("summary", { hasText: "As a table" }).click();
    await page.getByRole("cell", { name: "run" }).first().waitFor();
    await page.getByRole("cell", { name: "without a lease" }).first().waitFor();
    await page.locator('a.span[data-kind="run"]').first().focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector(".run");
  },
);

test(
  "the bars of the timeline are its spans, and zooming parts them",
  { needs: ["history"] },
  async (page, server) => {
    const who = await server.tell("who");
    await log_in(page, who);
    await server.go(page, "#/timeline", "a.span");
    const now = Date.now();
    const span = `since=${now - 86_400_000}&until=${now}`;
    const { spans, devices } = await server.ask(`api/v1/timeline?${span}`, who.token);
    const names = { lease: "lease", run: "run", user: "without a lease", health: "health" };
    const bars = page.locator("a.span");
    const places = () =>
      bars.evaluateAll((all) =>
        all.map((bar) => [bar.dataset.key, parseFloat(bar.style.left), bar.ariaLabel]),
      );
    // A span that ends at the window's edge just now may be in one of the two alone.
    const inside = spans.filter(
      ({ from_unix_ms: from, to_unix_ms: to }) =>
        (to ?? now) > now - 23 * 3_600_000 && from < now - 1_000,
    );
    check(inside.length > 0, "no span to look at");
    await until("each span has its bar", async () => {
      const shown = new Map((await places()).map(([key, , label]) => [key, label]));
      for (const span of inside) {
        const label = shown.get(`${span.kind} ${span.id} ${span.device} ${span.from_unix_ms}`);
        const { index } = devices.find(({ id }) => id === span.device);
        const parts = [names[span.kind], `GPU ${index}`, moment_of(span.from_unix_ms)];
        for (const part of [...parts, span.user ?? ""])
          if (!label?.includes(part)) throw new Error(`${part}: ${label}`);
      }
      return true;
    });
    // Two bars that are near each other, but not so near that rounding is all there is between them.
    const near = async () => {
      const seen = (await places())
        .filter(([, left]) => left > 1 && left < 99)
        .sort(([, a], [, b]) => a - b);
      for (let i = 1; i < seen.length; ++i)
        if (seen[i][1] - seen[i - 1][1] > 0.03) return [seen[i - 1], seen[i]];
      return null;
    };
    let pair = null;
    for (const range of ["1 h", "6 h", "24 h"]) {
      if (pair) break;
      await page.getByRole("button", { name: range, exact: true }).click();
      pair = await near();
    }
    check(pair, "no two bars that begin at different times");
    const [[one, left], [other, right]] = pair;
    const gap = async () => {
      const at = new Map(await places());
      return at.get(other) - at.get(one);
    };
    const lane = await until("it is drawn", () => page.locator(".lane").first().boundingBox());
    await page.locator(".gantt").focus();
    await page.mouse.move(lane.x + (lane.width * (left + right)) / 200, lane.y + 4);
    for (const times of [1, 2, 3]) {
      const wanted = (right - left) / 0.8 ** times;
      await page.mouse.wheel(0, -240);
      await until(`they are ${wanted} % apart and not ${right - left}`, async () => {
        const now = await gap();
        if (Math.abs(now - wanted) < 0.05 * wanted + 0.004) return true;
        throw new Error(String(now));
      });
    }
  },
);

test("usage by user is what the server adds up", { needs: ["history"] }, async (page, server) => {
  const who = await server.tell("who");
  await log_in(page, who);
  const hours = (value) => {
    if (value === null) return "–";
    if (value === 0) return "0";
    return value < 10 ? value.toFixed(1) : String(Math.round(value));
  };
  await until("both say the same of everybody", async () => {
    // The sums grow: who asks again at once hears the same but where a digit turns over.
    await server.go(page, "#/", "a.tile");
    await server.go(page, "#/usage", ".usage-bar");
    const shown = await rows(page, "Usage");
    const now = Date.now();
    const span = `since=${now - 7 * 86_400_000}&until=${now}`;
    const { rows: summed } = await server.ask(`api/v1/usage?by=user&${span}`, who.token);
    check(summed.length > 1, "nobody else has used anything");
    const told = shown.map((row) =>
      ["Who", "GPU-hours", "Busy h", "Idle h", "Runs"].map((name) => row[name]).join("|"),
    );
    const right = summed.map((row) => {
      const { key, gpu_hours: all, busy_gpu_hours: busy, idle_held_hours: idle, runs } = row;
      return [key, hours(all), hours(busy), hours(idle), runs ?? "–"].join("|");
    });
    if (told.sort().join("; ") === right.sort().join("; ")) return true;
    throw new Error(`${told.join("; ")} instead of ${right.join("; ")}`);
  });
  const [{ Energy }] = await rows(page, "Usage");
  check(/^\d+(\.\d)? (J|Wh|kWh)$/.test(Energy), `energy: ${Energy}`);
});

test("usage is shown by user, job, GPU and day", { needs: ["history"] }, async (page, server) => {
  // Not everybody may see what another user's jobs are.
  await log_in(page, await server.tell("who"));
  await server.go(page, "#/usage", ".usage-bar");
  for (const by of ["Job", "GPU", "Day"]) {
    await page.getByRole("button", { name: by, exact: true }).click();
    await until(by, async () => (await page.locator(".usage-bar").count()) > 0);
  }
  await page.getByText(/Only known since/).waitFor();
});

/// A page on which usage is what the test says.
const with_usage = async (page, server, told, parts) => {
  const row = {
    key: "",
    gpu_hours: 1,
    busy_gpu_hours: 1,
    idle_held_hours: 0,
    energy_joules: null,
    cost: null,
    waits: 0,
    waited_hours: 0,
    runs: 1,
  };
  const usage = {
    by: "user",
    simulated: null,
    since_unix_ms: 0,
    until_unix_ms: 1,
    knows_since_unix_ms: 0,
    unwatched_hours: 0,
    price_per_kwh: 0.3,
    currency: "EUR",
    ...told,
    rows: parts.map((one) => ({ ...row, ...one })),
  };
  await page.route(/\/api\/v1\/usage/, (route) => route.fulfill({ json: usage }));
  await server.go(page, "#/usage", ".usage-bar");
};

test("jobs of one name have a row for each of their users", {}, async (page, server) => {
  await with_usage(page, server, { by: "job" }, [
    { key: "", user: "wei" },
    { key: "", user: "mara", gpu_hours: 0.5 },
  ]);
  await page.getByRole("button", { name: "Job", exact: true }).click();
  await until("both", async () => (await rows(page, "Usage")).length === 2);
  const shown = (await rows(page, "Usage")).map(({ Who }) => Who);
  check(shown.join() === "no lease · wei,no lease · mara", shown.join());
});

test("a user who could not be read is not told as one without a lease", {}, async (page, server) => {
  await with_usage(page, server, {}, [{ key: "" }]);
  const [{ Who }] = await rows(page, "Usage");
  check(Who === "cannot be seen", Who);
});

test("usage says what is a lower bound, and how long nobody looked", {}, async (page, server) => {
  await with_usage(page, server, { unwatched_hours: 3.2 }, [
    { key: "wei", energy_joules: 7.2e6, cost: 0.6, energy_at_least: true },
    { key: "mara", energy_joules: 7.2e6, cost: 0.6, energy_at_least: false },
  ]);
  const shown = await rows(page, "Usage");
  const told = shown.map(({ Energy, Cost }) => `${Energy} ${Cost}`);
  check(told.join() === "≥ 2.0 kWh ≥ 0.60 EUR,2.0 kWh 0.60 EUR", told.join());
  await page.getByText("For 3.2 hours of device time nobody looked").waitFor();
});

test("a timeline of the newest says how many older ones there are", {}, async (page, server) => {
  const { devices } = await server.ask("api/v1/overview");
  const json = { simulated: null, devices, left_out: 7, spans: [] };
  await page.route(/\/api\/v1\/timeline/, (route) => route.fulfill({ json }));
  await server.go(page, "#/timeline", ".gantt-row");
  await page.getByText("Older ones that are not shown: 7").waitFor();
});

test("a list of events that is cut says how many there are more", {}, async (page, server) => {
  const events = Array.from({ length: 203 }, (_, i) => {
    return { at_unix_ms: i, kind: "xid", device: "GPU-a", code: "31", text: `the error ${i}` };
  });
  const json = { simulated: null, left_out: 5, events };
  await page.route(/\/api\/v1\/events-log/, (route) => route.fulfill({ json }));
  await server.go(page, "#/health", ".panel");
  await page.getByText("the error 202").waitFor();
  await page.getByText("Older ones that are not shown: 8").waitFor();
});

test("what a run was given is told as it was kept", { needs: ["runs"] }, async (page, server) => {
  await a_run(page, server);
  const who = await server.tell("who");
  const run = await server.ask(`api/v1/runs/${who.run}`, who.token);
  const { command, given, git, python, machine, end } = run;
  const typed = command.map((word) =>
    /[^\w@%+=:,./-]/.test(word) ? `'${word.replaceAll("'", "'\\''")}'` : word,
  );
  const pairs = (told, between) => Object.entries(told ?? {}).map((one) => one.join(between));
  const wanted = {
    User: run.user,
    Command: typed.join(" "),
    "Asked for": run.wanted,
    GPU: given.devices.map(({ index, name }) => `${index} ${name}`).join(", "),
    Started: moment_of(run.started_unix_ms),
    Directory: run.working_directory,
    Git: git && [git.branch, git.commit.slice(0, 12), ...(git.dirty ? ["(changed)"] : [])].join(" "),
    Python: python?.version,
    Packages: pairs(python?.packages, " ").join(", "),
    Driver: given.host.driver_version,
    Machine: [machine.operating_system, machine.cpu_model, machine.instance_type]
      .filter(Boolean)
      .join(", "),
    Variables: pairs(run.variables, "=").join("\n"),
    "Log file": run.log,
  };
  for (const name of ["Command", "Directory", "Driver", "GPU"])
    check(wanted[name], `the server tells no ${name}: nothing is looked at`);
  const told = await told_facts(page);
  for (const name of new Set([...Object.keys(wanted), ...Object.keys(told)])) {
    const right = wanted[name] || undefined;
    check(told[name] === right, `${name}: ${told[name]} instead of ${right}`);
  }
  const how = end.exit_code === null ? `signal ${end.signal}` : `exit ${end.exit_code}`;
  check((await text(page, ".run .heading .badge")) === how, `it ended with ${how}`);
});

test("over a dip of a chart stand the lines of that moment", { needs: ["runs"] }, async (page, server) => {
  await a_run(page, server);
  const plot = page.locator(".u-over").first();
  const box = await until("it is drawn", () => plot.boundingBox());
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

test("a log is searched, has its colours, and can be saved", { needs: ["runs"] }, async (page, server) => {
  await a_run(page, server);
  await page.locator(".log .ansi-2", { hasText: "INFO" }).first().waitFor();
  const search = page.getByRole("searchbox");
  await search.fill("WAITING for the data");
  const found = page.getByText(/^\d+ of \d+$/);
  await found.waitFor();
  const [at, all] = (await found.innerText()).split(" of ").map(Number);
  check(at === all && all > 1, `the newest match is not the first one shown: ${at} of ${all}`);
  await search.press("Enter");
  await page.getByText(`1 of ${all}`, { exact: true }).waitFor();
  check(/waiting for the data/.test(await text(page, ".log [aria-current]")), "another line is marked");
  await search.fill("no line says this");
  await page.getByText("Not found.").waitFor();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const download = await saved;
  const kept = readFileSync(await download.path(), "utf8");
  const who = await server.tell("who");
  check(download.suggestedFilename() === `${who.run}.log`, download.suggestedFilename());
  check(kept.includes("waiting for the data loader") && kept.endsWith("\n"), "the file is another");
});

test("all GPUs of a run are in one chart, each with its name", { needs: ["runs"] }, async (page, server) => {
  await a_run(page, server);
  const who = await server.tell("who");
  const { given } = await server.ask(`api/v1/runs/${who.run}`, who.token);
  const labels = given.devices.map(({ index }) => String(index));
  check(labels.length === 2, "the run has one GPU: nothing is looked at");
  const keys = page.locator(".chart").first().locator(".chart-key");
  check((await keys.allInnerTexts()).join() === labels.join(), "the lines have other names");
  const colours = await keys.evaluateAll((all) => all.map((one) => getComputedStyle(one).color));
  check(colours[0] !== colours[1], "the lines have one colour");
  const said = await page.locator(".run .plot").first().getAttribute("aria-label");
  for (const label of labels) check(said.includes(`, GPU ${label}: now `), `GPU ${label}: ${said}`);
  await page.getByRole("button", { name: `GPU ${labels[1]}` }).click();
  await until("one line is left", async () => (await keys.count()) === 0);
});

test("a run's page copies what starts it again", { needs: ["runs"] }, async (page, server, context) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await a_run(page, server);
  const who = await server.tell("who");
  const run = await server.ask(`api/v1/runs/${who.run}`, who.token);
  const title = await text(page, ".run .heading h1");
  const [program] = run.command;
  check(title === run.spec?.name || title.includes(program), `it is called ${title}`);
  await page.getByRole("button", { name: "Run again (copies the command)" }).click();
  await until("the command", async () =>
    (await page.evaluate(() => navigator.clipboard.readText())).startsWith(
      `cd ${run.working_directory} && berth run -n `,
    ),
  );
});

test(
  "a run that has a name is called so, and what starts it again is the whole line",
  { needs: ["runs"] },
  async (page, server, context) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const who = await server.tell("who");
    await log_in(page, who);
    const run = await server.ask(`api/v1/runs/${who.named}`, who.token);
    check(run.spec.name === "wei's second try", `its name is ${run.spec.name}`);
    await server.go(page, `#/run/${who.named}`, ".run .heading button");
    check((await text(page, ".run .heading h1")) === run.spec.name, await text(page, ".run .heading h1"));
    check((await page.title()) === `${run.spec.name} – berth`, `the tab is called ${await page.title()}`);
    await page.getByRole("button", { name: "Run again (copies the command)" }).click();
    // All pages of a browser share a clipboard: another's line may be in it still.
    const copied = await until("the line", async () => {
      const line = await page.evaluate(() => navigator.clipboard.readText());
      return line.includes("--name=") && line;
    });
    // As a shell takes it.
    const says = 'tell() { printf "%s\\n" "$@"; }; cd() { tell "$@"; }; berth() { tell "$@"; };';
    const words = execFileSync("sh", ["-c", `${says} ${copied}`], { encoding: "utf8" });
    const wanted = [
      run.working_directory,
      "run",
      ...run.wanted.split(" ").filter(Boolean),
      `--name=${run.spec.name}`,
      "--",
      ...run.command,
    ];
    check(words === `${wanted.join("\n")}\n`, copied);
  },
);

test("a run's page explains it, in the reader's language", { needs: ["runs"] }, async (page, server) => {
  const who = await server.tell("who");
  await log_in(page, who);
  await server.go(page, `#/run/${who.failed}`, ".run .heading button");
  for (const [lang, name] of [["en", "Explain"], ["zh", "解释"]]) {
    if (lang === "zh") await page.getByRole("button", { name: "中文" }).click();
    await page.getByRole("button", { name, exact: true }).click();
    const path = `api/v1/runs/${who.failed}/explanation?lang=${lang}`;
    const { findings } = await server.ask(path, who.token);
    check(findings.length > 0, "nothing explains it");
    const [{ title, evidence, meaning, steps }] = findings;
    check(/[\u4e00-\u9fff]/.test(title) === (lang === "zh"), `${lang}: ${title}`);
    const told = page.locator(".run .event", { hasText: title }).first();
    await told.waitFor();
    const said = await told.innerText();
    for (const part of [...evidence, meaning, ...steps.map(({ command }) => command ?? "")])
      check(said.includes(part), `${part} is not in ${said}`);
  }
});

test("a run's page opens its report", { needs: ["runs"] }, async (page, server, context) => {
  await a_run(page, server);
  const { run } = await server.tell("who");
  const said = [];
  context.on("console", (message) => said.push(message.text()));
  const opening = context.waitForEvent("page");
  await page.getByRole("button", { name: "Report", exact: true }).click();
  const report = await opening;
  await report.locator("h1", { hasText: run }).waitFor();
  const widest = await report.evaluate(() => getComputedStyle(document.querySelector("main")).maxWidth);
  check(widest === "1060px", `it has no style: main is ${widest} wide`);
  check((await report.locator("script").count()) === 0, "a script");
  check(said.length === 0, said.join(" | "));
});

test(
  "a log that comes late comes to where the cursor is",
  { needs: ["runs"] },
  async (page, server) => {
    let give_log;
    const given = new Promise((done) => {
      give_log = done;
    });
    await page.route(/\/log(\?|$)/, async (route) => {
      await given;
      await route.continue();
    });
    await a_run(page, server);
    const box = await until("it is drawn", () => page.locator(".u-over").first().boundingBox());
    await page.mouse.move(box.x + box.width * 0.63, box.y + 30);
    await until("the cursor is there", async () =>
      /^\d/.test(await text(page, ".marks [aria-current]")),
    );
    check((await page.locator(".log li").count()) === 0, "the log is there already");
    give_log();
    await until("the log follows", async () =>
      /waiting for the data loader/.test(await text(page, ".log [aria-current]")),
    );
  },
);

test("what of a run one may not see is said to be that", { needs: ["runs"] }, async (page, server) => {
  await server.go(page, "#/runs", "main td a");
  const { foreign } = await server.tell("who");
  await page.getByRole("link", { name: foreign, exact: true }).click();
  await page.getByText("Its charts, marks and log are its owner's.").waitFor();
  check((await page.locator("canvas").count()) === 0, "a chart of nothing");
});

