// Runs narrowed and side by side, a GPU's own page, the queue, cards for other pages' frames.

import { check, test, until } from "./harness.mjs";
import { a_run, first_gpu, log_in, rows, says_duration, text, told_facts, with_history } from "./steps.mjs";

test("runs are narrowed to what is looked for", { needs: ["runs"] }, async (page, server) => {
  await log_in(page, await server.tell("who"));
  await server.go(page, "#/runs", "main td a");
  const { runs } = await server.ask("api/v1/runs?limit=50");
  const shown = () => page.locator("main td a").count();
  const wanted = runs.filter(({ end }) => end && end.exit_code === 0);
  const narrows = async (what, count) => until(`${what}: ${count}`, async () => (await shown()) === count);
  await narrows("all of them", runs.length);
  await page.getByLabel("Name, command or id").fill(wanted[0].id.slice(-6));
  await narrows("by its id", 1);
  await page.getByLabel("Name, command or id").fill("no such run");
  await page.getByText("No run is recorded here").waitFor();
  await page.getByLabel("Name, command or id").fill("");
  await page.getByLabel("User", { exact: true }).fill(wanted[0].user);
  await narrows("by user", runs.filter(({ user }) => user === wanted[0].user).length);
  await page.getByLabel("User", { exact: true }).fill("");
  await page.getByLabel("any state").selectOption("ended");
  await narrows("by state", runs.filter(({ state }) => state === "ended").length);
  await page.getByLabel("any state").selectOption("");
  const [{ index }] = wanted[0].given.devices;
  const has = ({ given }) => given.devices.some((device) => device.index === index);
  await page.getByLabel("GPU", { exact: true }).fill(String(index));
  await narrows("by GPU", runs.filter(has).length);
  await page.getByLabel("GPU", { exact: true }).fill("");
  for (const days of [1, 30]) {
    // The list asks anew now and then, too: what is meant is the question of these days.
    const since_of = (request) => Number(new URL(request.url()).searchParams.get("since"));
    const is_meant = (request) =>
      /\/api\/v1\/runs\?/.test(request.url()) &&
      Math.abs(Date.now() - days * 86_400_000 - since_of(request)) < 60_000;
    const asking = page.waitForRequest(is_meant);
    await page.getByLabel("any time").selectOption(String(days));
    const since = since_of(await asking);
    await narrows(`of ${days} days`, runs.filter((run) => run.started_unix_ms >= since).length);
  }
  await until("a curve of one's own runs", async () =>
    (await page.locator("td .spark path[d]").count()) > 0,
  );
});

test("runs lie side by side, with what is not alike", { needs: ["runs"] }, async (page, server) => {
  const who = await server.tell("who");
  await log_in(page, who);
  await server.go(page, "#/runs", "main td a");
  const boxes = page.locator('main td input[type="checkbox"]:visible');
  await until("two of them can be picked", async () => (await boxes.count()) > 1);
  await page.getByLabel(`Compare ${who.run}`).check();
  check(await page.getByRole("link", { name: /^Compare/ }).isHidden(), "one is not compared");
  await boxes.and(page.locator(":not(:checked)")).first().check();
  await page.getByRole("link", { name: "Compare 2 runs" }).click();
  await page.waitForSelector(".differences table");
  const table = await rows(page, "What is not alike");
  const names = table.map((row) => row[""]);
  check(names.includes("How it went") && names.includes("Started"), `${names.join()} differ`);
  for (const row of table.slice(1)) {
    const values = Object.entries(row).filter(([head]) => head !== "");
    check(new Set(values.map(([, value]) => value)).size > 1, `${row[""]} is alike`);
  }
  check((await page.locator(".differences thead th").count()) === 2, "a column each");
});

test("a GPU's page tells all of its readings", {}, async (page, server) => {
  await first_gpu(page);
  const told = page.locator(".gpu .facts");
  await until("clocks, links and neighbours", async () => {
    const said = await told.innerText();
    return ["Clocks", "Throttled by", "PCIe", "ECC", "Neighbours"].every((part) => said.includes(part));
  });
  const [status] = (await server.ask("gpu-status?device=0")).devices;
  check(status.index === 0, "the status of this one alone");
  for (const [key, name] of [["nvlink_active", "NVLink"], ["activity_sm_percent", "Activity"], ["mig_mode", "MIG"]])
    if ((status[key] ?? null) !== null) check((await told.innerText()).includes(name), `${key} is not told`);
  check((await told.innerText()).includes(status.pci_address), "where it is");
  const { devices } = await server.ask("api/v1/topology");
  const { Neighbours } = await told_facts(page);
  const links = new Set(devices[0].links.filter((link) => link !== "X"));
  for (const link of links) check(Neighbours.includes(`${link}: `), `${link}: ${Neighbours}`);
  // What is not measured is not a chart: each that is shown has drawn something.
  await until("no chart is empty", async () => {
    const said = await page.locator(".gpu .plot:visible").evaluateAll((all) => all.map((one) => one.ariaLabel));
    return said.length > 3 && said.every((words) => !/nothing recorded/.test(words));
  });
});

/// What the list of a GPU's readings has to say by what the server answered.
const facts_of = (status) => {
  const reasons = { 1: "idle", 4: "power limit", 32: "heat (driver)", 64: "heat (hardware)" };
  const slowed = Object.keys(reasons).filter((bit) => (status.throttle_reasons_mask & bit) !== 0);
  const whole = (value) => Math.round(value);
  const gib = (value) => `${(value / 2 ** 30).toFixed(1)} GiB/s`;
  const some = {
    Clocks: [
      `SM ${whole(status.clock_sm_megahertz)} MHz / ${whole(status.clock_sm_max_megahertz)} MHz`,
      `memory ${whole(status.clock_memory_megahertz)} MHz / ${whole(status.clock_memory_max_megahertz)} MHz`,
      `P ${status.performance_state}`,
    ],
    "Throttled by": [slowed.map((bit) => reasons[bit]).join(", ") || "nothing"],
    PCIe: [
      `generation ${status.pcie_generation} / ${status.pcie_generation_max}`,
      `× ${status.pcie_width} / ${status.pcie_width_max}`,
      ...(status.pcie_sent_rate_bytes_per_second >= 2 ** 30
        ? [`↑ ${gib(status.pcie_sent_rate_bytes_per_second)}`, `↓ ${gib(status.pcie_received_rate_bytes_per_second)}`]
        : []),
      `replays ${status.pcie_replays}`,
    ],
    ECC: [
      status.ecc_mode ? "on" : "off",
      `corrected ${status.ecc_corrected_errors}`,
      `uncorrected ${status.ecc_uncorrected_errors}`,
      `uncorrected in its life ${status.ecc_uncorrected_aggregate_total}`,
      `rows remapped ${status.remapped_rows_uncorrectable}`,
    ],
  };
  return Object.entries(some);
};
const throttled = {
  clock_sm_megahertz: 1215,
  clock_sm_max_megahertz: 1980,
  clock_memory_megahertz: 2600,
  clock_memory_max_megahertz: 2619,
  performance_state: 2,
  throttle_reasons_mask: 4 | 32 | 64,
  pcie_generation: 4,
  pcie_generation_max: 5,
  pcie_width: 8,
  pcie_width_max: 16,
  pcie_sent_rate_bytes_per_second: 3 * 2 ** 30,
  pcie_received_rate_bytes_per_second: 5 * 2 ** 29,
  pcie_replays: 7,
  ecc_mode: true,
  ecc_corrected_errors: 41,
  ecc_uncorrected_errors: 2,
  ecc_uncorrected_aggregate_total: 9,
  remapped_rows_uncorrectable: 1,
};

test("a GPU's page tells what the server says of it, and of one that is throttled", {}, async (page) => {
  let changed = {};
  let last;
  await page.route(/\/gpu-status\?/, async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    Object.assign(answer.devices[0], changed);
    [last] = answer.devices;
    await route.fulfill({ response, json: answer });
  });
  await first_gpu(page);
  for (const [what, now] of [["as it is", {}], ["throttled", throttled]]) {
    changed = now;
    await until(`the values, ${what}`, async () => {
      const told = await told_facts(page);
      const wrong = facts_of(last).flatMap(([name, parts]) => {
        const there = (told[name] ?? "").split("  ·  ");
        return parts.filter((part) => !there.includes(part)).map((part) => `${name}: ${part} in ${there}`);
      });
      if (wrong.length) throw new Error(wrong.join("; "));
      return Object.entries(now).every(([key, value]) => last[key] === value);
    });
  }
});

test("charts of weeks have what the driver tells in detail", { needs: ["history"] }, async (page) => {
  await with_history(page);
  await first_gpu(page);
  await page.getByRole("button", { name: "30 days" }).click();
  for (const name of ["Activity", "NVLink", "PCIe", "SM clock"])
    await page.locator(".gpu .chart:visible", { hasText: name }).first().waitFor();
  const lines = await page.locator(".gpu .chart:visible", { hasText: "Activity" }).first().locator(".chart-key").count();
  check(lines === 3, `${lines} lines of activity`);
});

const first_plot = (page) => page.locator(".gpu .plot").first();
/// From where to where the charts of a GPU go, as ms.
const shown_span = async (page) => {
  const [from, to] = await first_plot(page).evaluate((plot) => [plot.ariaValueMin, plot.ariaValueMax]);
  return Number(to) - Number(from);
};
/// Presses over these shares of the first chart's width; letting go is left to the test.
const drag = async (page, begin, end) => {
  const box = await until("it is drawn", () => page.locator(".gpu .u-over").first().boundingBox());
  await page.mouse.move(box.x + box.width * begin, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * end, box.y + 30, { steps: 4 });
};

test(
  "dragging over a chart looks closer, and tells who had the GPU",
  { needs: ["history"] },
  async (page) => {
    await with_history(page);
    const asked = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await first_gpu(page);
    await page.getByRole("button", { name: "1 h", exact: true }).click();
    const is_about = (ms) => async () => Math.abs((await shown_span(page)) / ms - 1) < 0.02;
    await until("an hour", is_about(3_600_000));
    await page.locator(".legend", { hasText: "Who had it" }).waitFor();
    const bands = page.locator(".gpu .bands:visible").first();
    check((await bands.locator("i").count()) > 0, "bands of who had it");
    const [band, drawn] = [await bands.boundingBox(), await page.locator(".gpu .u-over").first().boundingBox()];
    check(band.y >= drawn.y + drawn.height, "they stand in the chart");
    await drag(page, 0.75, 0.998);
    asked.length = 0;
    await page.mouse.up();
    await until("a quarter of it", is_about(0.248 * 3_600_000));
    const times = asked.filter((path) => path.endsWith("/timeline")).length;
    check(times === 1, `one stretch is asked for ${times} times`);
    await first_plot(page).focus();
    await page.keyboard.press("+");
    await until("half of that", is_about(0.124 * 3_600_000));
    await page.getByRole("button", { name: "Whole range" }).click();
    await until("an hour again", is_about(3_600_000));
    await page.getByRole("button", { name: "15 min" }).click();
  },
);

test("no word below a chart is cut at its edge", { needs: ["history"] }, async (page) => {
  await page.addInitScript(() => {
    globalThis.drawn_words = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (words, x, ...more) {
      const centre = this.getTransform().transformPoint(new DOMPoint(x, 0)).x;
      const half = (this.measureText(words).width * this.getTransform().a) / 2;
      if (this.textAlign === "center") globalThis.drawn_words.push([words, centre + half - this.canvas.width]);
      return fillText.call(this, words, x, ...more);
    };
  });
  await with_history(page);
  await page.reload();
  await first_gpu(page);
  await page.getByRole("button", { name: "1 h", exact: true }).click();
  await until("an hour", async () => Math.abs((await shown_span(page)) / 3_600_000 - 1) < 0.02);
  const half_hour = 1_800_000;
  const share = await first_plot(page).evaluate(({ ariaValueMin, ariaValueMax }, step) => {
    const [from, to] = [Number(ariaValueMin), Number(ariaValueMax)];
    return (Math.floor(to / step) * step - from) / (to - from);
  }, half_hour);
  // So that what is shown ends just behind a time that is told.
  await drag(page, share - 0.4, share + 0.003);
  await page.evaluate(() => globalThis.drawn_words.splice(0));
  await page.mouse.up();
  await page.getByRole("button", { name: "Whole range" }).waitFor();
  const words = await until("times are drawn", () =>
    page.evaluate(() => globalThis.drawn_words.length > 3 && globalThis.drawn_words),
  );
  const cut = words.filter(([said, over]) => said && over > 0);
  check(cut.length === 0, `cut: ${JSON.stringify(cut.slice(0, 5))}`);
  check(words.some(([said]) => said), "no time is told");
});

test("what was not measured is a gap, never 0", { needs: ["history"] }, async (page) => {
  const is_gap = (at, since, until) => Math.abs((at - since) / (until - since) - 0.5) < 0.1;
  await with_history(page, { is_gap });
  await first_gpu(page);
  await page.getByRole("button", { name: "24 h" }).click();
  await until("a day", async () => Math.abs((await shown_span(page)) / 86_400_000 - 1) < 0.01);
  /// How much of the line's colour there is in these shares of the chart's width.
  const painted = (begin, end) =>
    page.locator(".gpu .chart").first().evaluate((chart, [from, to]) => {
      const canvas = chart.querySelector("canvas");
      const copy = document.createElement("canvas");
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const context = copy.getContext("2d", { willReadFrequently: true });
      context.fillStyle = getComputedStyle(chart).getPropertyValue("--chart-load").trim();
      context.fillRect(0, 0, 1, 1);
      const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
      context.clearRect(0, 0, 1, 1);
      context.drawImage(canvas, 0, 0);
      const outer = canvas.getBoundingClientRect();
      const inner = chart.querySelector(".u-over").getBoundingClientRect();
      const scale = canvas.width / outer.width;
      const x = (share) => Math.round((inner.left - outer.left + share * inner.width) * scale);
      const pixels = context.getImageData(x(from), 0, x(to) - x(from), copy.height).data;
      let count = 0;
      for (let i = 0; i < pixels.length; i += 4) {
        const is_near = (place, colour) => Math.abs(pixels[i + place] - colour) < 8;
        if (pixels[i + 3] > 24 && is_near(0, red) && is_near(1, green) && is_near(2, blue)) count += 1;
      }
      return count;
    }, [begin, end]);
  await until("the line is drawn", async () => (await painted(0.1, 0.3)) > 100);
  const count = await painted(0.45, 0.55);
  check(count === 0, `${count} pixels of a line lead over the gap`);
  check((await painted(0.7, 0.9)) > 100, "behind it the line goes on");
});

test("a drag over a chart outlives what comes meanwhile", { needs: ["history"] }, async (page) => {
  let give_hour;
  const wanted = new Promise((done) => {
    give_hour = done;
  });
  const is_hour = (asked) => Number(asked.get("until")) - Number(asked.get("since")) > 3_500_000;
  await with_history(page, { told: (asked) => (is_hour(asked) ? wanted : null) });
  await first_gpu(page);
  await until("a quarter of an hour", async () => Math.abs((await shown_span(page)) - 900_000) < 5_000);
  // The answer that comes later makes a new chart, and no drag holds that one.
  await page.getByRole("button", { name: "1 h", exact: true }).click();
  await drag(page, 0.25, 0.5);
  check(await page.getByText("Known since").isHidden(), "the hour is there already");
  give_hour({ knows_since_unix_ms: Date.now() });
  await page.getByText("Known since").waitFor();
  const { width } = await page.locator(".gpu .u-select").first().boundingBox();
  check(width > 50, `of the stretch ${width} px are left`);
  await page.mouse.up();
  await until("a part of the quarter", async () => {
    const span = await shown_span(page);
    return span > 200_000 && span < 260_000;
  });
});

test("the queue says who is next and what is in the way", {}, async (page, server) => {
  const { queue } = await until("somebody waits", async () => {
    const answer = await server.ask("api/v1/queue");
    return answer.queue.length > 0 && answer;
  });
  await page.getByRole("link", { name: "Queue", exact: true }).click();
  await until("all of them", async () => (await rows(page, "Queue")).length === queue.length);
  const shown = await rows(page, "Queue");
  const { devices } = await server.ask("api/v1/overview");
  queue.forEach((waiter, i) => {
    const { user, wants, why_not_yet: why, expected_start_unix_ms: at, gathered } = waiter;
    check(shown[i]["Place"] === String(i + 1), "its place");
    check(shown[i]["User"] === user && shown[i]["Wants"] === wants, "who wants what");
    check(shown[i]["Why not yet"] === (why || "–"), `why not yet: ${shown[i]["Why not yet"]}`);
    const { Starts: starts, "Gathered for it": gathers } = shown[i];
    if (!why) check(starts === "now", `it starts ${starts}`);
    else if (at === null) check(starts === "–", `nobody knows when, and yet: ${starts}`);
    else check(/^in .* at the latest$/.test(starts) && says_duration(starts, at - Date.now()), starts);
    const labels = gathered.map((id) => devices.find((device) => device.id === id).index).join(", ");
    check(gathers.startsWith(labels ? `GPU ${labels}` : "–"), `gathered ${labels}: ${gathers}`);
  });
});

test(
  "a reservation that is to begin is shown with its times",
  { needs: ["planned"], told: [["planned"]] },
  async (page, server) => {
    const planned = await until("one is planned", async () => {
      const answer = await server.ask("api/v1/overview");
      return answer.planned.length > 0 && answer.planned;
    });
    await page.getByRole("link", { name: "Queue", exact: true }).click();
    for (const { user, wants } of planned) {
      await until(`that of ${user}`, async () => {
        const told = await text(page, ".planned");
        return told.includes(`Reserved by ${user} from`) && told.includes(wants);
      });
    }
  },
);

test(
  "a card in another page's frame shows numbers, and nobody's name",
  { needs: ["embed"], told: [["embed"]] },
  async (page, server) => {
    const { devices } = await server.ask("api/v1/overview");
    const users = [...new Set(devices.flatMap((device) => device.users))];
    check(users.length > 0, "there are names that might be shown");
    for (const [path, wanted] of [
      ["embed/gpu/0", /GPU 0 /],
      ["embed/server", /\d+ of \d+ free/],
    ]) {
      await page.goto(`${server.base}${path}`);
      await until("its numbers", async () => wanted.test(await text(page, "main.embed")));
      const said = await text(page, "main.embed");
      for (const user of users) check(!said.includes(user), `${user} in ${said}`);
      check((await page.locator("button, a, input").count()) === 0, "nothing to press");
    }
  },
);
