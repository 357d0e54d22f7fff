// The room, a GPU's panel and the form: what a person sees first.

import { check, test, until } from "./harness.mjs";
import { first_gpu, log_in, rows, says_duration, text } from "./steps.mjs";

test(
  "the room shows a tile per GPU with its state in words, and how many of each",
  {},
  async (page, server) => {
    const { devices } = await server.ask("api/v1/overview");
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

/// How the cards stand by what the server says of them, told apart from how the page does it.
const standing = ({ state, health }) => {
  if (health === "failed" || ["failed", "lost", "unusable"].includes(state)) return "broken";
  return state;
};
const words = {
  free: "free",
  reserved: "reserved",
  leased: "leased",
  busy: "busy, no lease",
  held: "held idle",
  broken: "broken",
  unknown: "unknown",
  divided: "divided",
};
/// Each count is the one that the overview gives, and none of `some` is 0.
const counts_agree = async (page, server, some) => {
  const rare = ["reserved", "unknown", "divided"];
  let wanted;
  await until("each count is the overview's", async () => {
    const { devices } = await server.ask("api/v1/overview");
    wanted = Object.fromEntries(Object.keys(words).map((name) => [name, 0]));
    for (const device of devices) wanted[standing(device)] += 1;
    const told = await page.locator(".count[data-standing]").evaluateAll((counts) =>
      counts.map((count) => {
        const [number, word] = [".count-number", ".count-word"].map(
          (part) => count.querySelector(part).innerText,
        );
        return [count.dataset.standing, number, word.trim(), count.checkVisibility()].join("|");
      }),
    );
    const right = Object.entries(wanted).map(([name, number]) =>
      [name, number, words[name], number > 0 || !rare.includes(name)].join("|"),
    );
    if (told.join("; ") === right.join("; ")) return true;
    throw new Error(`${told.join("; ")} instead of ${right.join("; ")}`);
  });
  for (const name of some) check(wanted[name] > 0, `nothing is ${name}: ${JSON.stringify(wanted)}`);
};

test("the counts of a room are those of the overview", {}, async (page, server) => {
  await counts_agree(page, server, ["free", "leased", "busy", "held"]);
});

test(
  "the counts of a room that is not well are those of the overview",
  { needs: ["faults"], told: [["faults"]] },
  async (page, server) => {
    await counts_agree(page, server, ["free", "busy", "held", "broken", "unknown", "divided"]);
  },
);

test("a tile tells of its GPU what the overview does", {}, async (page, server) => {
  const gib = (bytes) => (bytes / 2 ** 30).toFixed(1);
  await until("all tiles agree", async () => {
    const { devices } = await server.ask("api/v1/overview");
    const told = await page.locator("a.tile").evaluateAll((tiles) =>
      tiles.map((tile) => {
        const parts = [".tile-index", ".tile-word", ".tile-name", ".tile-users", ".tile-row"];
        const [index, ...rest] = parts.map((part) => tile.querySelector(part).textContent);
        return [index.replace("GPU ", ""), ...rest].join("|");
      }),
    );
    const right = devices.map((device) => {
      const { index, name, users, memory_used_bytes: used, memory_total_bytes: total } = device;
      const memory = `${gib(used)} / ${gib(total)} GiB`;
      const short = name.replace(/^NVIDIA /, "");
      const word = standing(device);
      return [index, word, short, users.join(", ") || "–", memory].join("|");
    });
    if (told.join("; ") === right.join("; ")) return true;
    throw new Error(`${told.join("; ")} instead of ${right.join("; ")}`);
  });
});

test(
  "memory used that is a lower bound says so wherever it stands",
  { needs: ["bound"], told: [["bound"]], noisy: true }, // a recording has no history
  async (page, server) => {
    const { devices } = await server.ask("api/v1/overview");
    const card = devices.find((device) => device.kind === "intel-gpu");
    check(card.memory_used_is_bound === true, "the server says it");
    const exact = devices.find((device) => device.kind !== "intel-gpu");
    check(exact.memory_used_is_bound === false, "of NVIDIA's the driver tells it");
    await until("the tile and the sum", async () => {
      const tiles = await page.locator("a.tile").evaluateAll((all) =>
        all.map((tile) => [
          tile.querySelector(".tile-index").textContent,
          tile.querySelector(".tile-row").textContent,
        ]),
      );
      const bounds = tiles.filter(([, memory]) => memory.includes("≥"));
      if (bounds.length !== 1) throw new Error(JSON.stringify(tiles));
      check(bounds[0][0] === `GPU ${card.index}` && bounds[0][1].includes("≥ 3.0 / 12.0"), bounds[0]);
      return (await page.locator("main").innerText()).match(/≥ [\d.]+ (?:of|\/) /) !== null;
    });
    await server.go(page, `#/gpu/${encodeURIComponent(card.id)}`, ".gauge-value");
    await until("the gauge", async () =>
      (await page.locator(".gauge-value").allInnerTexts()).some((one) => one.startsWith("≥ 3.0 / 12.0")),
    );
  },
);

test("what somebody calls himself is text, never markup", { needs: ["hostile"], told: [["hostile"]], noisy: true }, async (page) => {
  await page.getByText("<img src=x onerror=alert(1)>").first().waitFor();
  check((await page.locator("main img").count()) === 0, "an element was made of a name");
});

test("numbers move without a reload", {}, async (page) => {
  const tile = page.locator("a.tile .tile-load").first();
  const before = await tile.innerText();
  await until("the load of GPU 0 changes", async () => (await tile.innerText()) !== before, 20_000);
  const path = page.locator(".spark path").first();
  const drawn = await path.getAttribute("d");
  await until("its line goes on", async () => (await path.getAttribute("d")) !== drawn);
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

test("a card that changes its state is seen and spoken of", { own: true, needs: ["change"] }, async (page, server) => {
  const { state } = await server.tell("change", { device: 5, state: "busy" });
  await until(
    `the tile says ${state}`,
    async () => (await page.locator("a.tile .tile-word").nth(5).innerText()) === state,
  );
  await until("it is announced", async () =>
    (await page.locator("[aria-live=polite]").innerText()).includes(`GPU 5 is now ${state}`),
  );
});

test("a GPU's panel has gauges, charts and who computes on it", {}, async (page, server) => {
  await first_gpu(page);
  check((await text(page, "h1")) === "GPU 0", "the heading");
  check((await page.locator("[role=meter]").count()) === 4, "four gauges");
  await until("charts say their numbers", async () =>
    /now \d+ %/.test(await page.locator(".plot").first().getAttribute("aria-label")),
  );
  const { processes, devices } = await server.ask("api/v1/overview");
  const mine = processes.filter((process) => process.device === devices[0].id);
  if (mine.length) await page.getByRole("cell", { name: String(mine[0].pid) }).waitFor();
  await page.goBack();
  await page.waitForSelector("a.tile");
});

test(
  "a process is told with its container and how long it has run",
  { told: [["containers"]] },
  async (page, server) => {
    const { processes, taken_unix_ms } = await server.ask("api/v1/overview");
    const { container } = await server.tell("who");
    check(processes.length > 0 && container, "nobody computes in a container");
    await log_in(page, await server.tell("who"));
    await until("a container", async () =>
      (await rows(page, "Processes")).some((row) => row.Container === container),
    );
    const shown = await rows(page, "Processes");
    check(shown.some((row) => row.Container === "–"), "who is in none");
    for (const { pid, user, started_unix_ms } of processes) {
      const row = shown.find((one) => one.PID === String(pid) && one.User === (user ?? "–"));
      const age =
        started_unix_ms === null
          ? row?.Age === "–"
          : says_duration(row?.Age ?? "", taken_unix_ms - started_unix_ms);
      check(age, `${pid} since ${started_unix_ms}: ${JSON.stringify(row)}`);
    }
  },
);

test(
  "a GPU's panel tells whose it is, and who computes in which container",
  { told: [["containers"]] },
  async (page, server) => {
    const who = await server.tell("who");
    await log_in(page, who);
    const { leases, processes, taken_unix_ms } = await until("its process is seen", async () => {
      const seen = await server.ask("api/v1/overview", who.token);
      return seen.processes.some(({ lease }) => lease !== null) && seen;
    });
    const panel_of = async (device) => {
      await server.go(page, `#/gpu/${encodeURIComponent(device)}`, ".gpu");
      await page.locator(".gpu .muted", { hasText: device }).waitFor();
    };
    const [lease] = leases;
    await panel_of(lease.devices[0].device);
    const [row, ...others] = await until("its lease", async () => {
      const told = await rows(page, "Leases");
      return told.length > 0 && told;
    });
    const { User, Run, Promised, Command } = row;
    const whole = lease.devices[0].promised_bytes === null ? "whole" : "?";
    const told = [User, Run, Promised, Command].join("|");
    const right = [lease.user, lease.run, whole, lease.command ?? "not shown"].join("|");
    check(told === right && others.length === 0, `${told} instead of ${right}`);
    const age = taken_unix_ms - lease.since_unix_ms;
    check(says_duration(row.For, age), `${row.For} instead of ${age} ms`);
    const link = page.locator(".scrolls[aria-label=Leases] a");
    check((await link.getAttribute("href")) === `#/run/${lease.run}`, "the way to its run");

    const { device } = processes.find(({ container }) => container === who.container);
    await panel_of(device);
    const here = processes.filter((process) => process.device === device);
    await until("its processes", async () => {
      const shown = await rows(page, "Processes");
      if (shown.length !== here.length) throw new Error(JSON.stringify(shown));
      return here.every((process) => {
        const row = shown.find(({ PID }) => PID === String(process.pid));
        const container = process.container || "–";
        const run = process.run ?? (process.lease ? "leased" : "no lease");
        const begun = process.started_unix_ms;
        const told = [row?.User, row?.Container, row?.Run].join("|");
        const right = [process.user ?? "–", container, run].join("|");
        if (told !== right) throw new Error(`${told} instead of ${right}`);
        return begun === null ? row.Age === "–" : says_duration(row.Age, taken_unix_ms - begun);
      });
    });
  },
);

test("who waits is told, for what and how long", {}, async (page, server) => {
  const queue = await until("somebody waits", async () => {
    const { queue } = await server.ask("api/v1/overview");
    return queue.length > 0 && queue;
  });
  await until("all of them", async () => (await rows(page, "Who waits")).length === queue.length);
  const shown = await rows(page, "Who waits");
  queue.forEach(({ user, wants, since_unix_ms }, i) => {
    const row = shown[i];
    check(row.User === user && row.Wants === wants, `${user} ${wants}: ${JSON.stringify(row)}`);
    check(says_duration(row.For, Date.now() - since_unix_ms), `${since_unix_ms}: ${row.For}`);
  });
  await first_gpu(page);
  check((await rows(page, "Who waits")).length === queue.length, "the panel of a GPU too");
});

test("the form composes a command and copies it", {}, async (page, server, context) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await server.go(page, "#/compose", ".form");
  await page.getByLabel("GPUs", { exact: true }).fill("2");
  await page.getByLabel("Memory", { exact: true }).selectOption("gib");
  await page.getByLabel("How much").fill("10");
  await page.getByLabel("Your command").fill("python 'my train.py'");
  const wanted = "berth run -n 2 --memory 10G -- python 'my train.py'";
  await until("the command", async () => (await text(page, ".command")) === wanted);
  await until("it would start", async () =>
    /would start at once/.test(await text(page, ".verdict")),
  );
  await page.getByLabel("GPUs", { exact: true }).fill("8");
  await until("it would end", async () => /exit code 124/.test(await text(page, ".verdict")));
  await page.getByLabel("If nothing is free").selectOption("hours");
  await page.getByLabel("Wait at most (h)").fill("2");
  const waiting = "berth run -n 8 --memory 10G --wait=2h -- python 'my train.py'";
  await until("the waiting command", async () => (await text(page, ".command")) === waiting);
  await until("it would wait", async () => /wait in the queue/.test(await text(page, ".verdict")));
  await page.getByLabel("If nothing is free").selectOption("not");
  await page.getByLabel("GPUs", { exact: true }).fill("2");
  await until("the command again", async () => (await text(page, ".command")) === wanted);
  await page.getByRole("button", { name: "Copy" }).click();
  await page.getByText("Copied.").first().waitFor();
  check((await page.evaluate(() => navigator.clipboard.readText())) === wanted, "the clipboard");
  await page.getByLabel("GPUs", { exact: true }).fill("1000");
  await until("it cannot be", async () => /never/.test(await text(page, ".verdict")));
});


test("what was before is there from the first moment", { needs: ["history"] }, async (page, server) => {
  // What the page itself sees of two minutes has another load than what is told of before.
  let was_known = false;
  await page.route(/\/api\/v1\/recent\?.*points=120$/, async (route) => {
    const told = await (await route.fetch()).json();
    was_known ||= told.devices.some(({ values }) => values.some((value) => value !== null));
    for (const { values } of told.devices) values.fill(37);
    return route.fulfill({ json: told });
  });
  await page.reload();
  await until("the lines of the tiles begin before the page did", async () => {
    const path = await page.locator("a.tile .spark path").first().getAttribute("d");
    const height = (24 - 0.23 * 37).toFixed(1);
    return path.split(/[ML]/).filter((point) => point.trim().endsWith(` ${height}`)).length > 50;
  });
  check(was_known, "the server remembers nothing");
  const chart = page.locator(".overview .chart .plot");
  await until("the whole server in one chart", async () => {
    const said = await chart.getAttribute("aria-label");
    return ["Load", "Memory", "Power", "free GPUs"].every((line) => said.includes(`, ${line}:`));
  });
  await page.getByRole("button", { name: "24 h" }).click();
  await until("a day of it", async () => /mean \d+/.test(await chart.getAttribute("aria-label")));
  await page.getByRole("button", { name: "15 min" }).click();
});

test("the first picture has the cards, and what stands below them comes after it", {}, async (page, server) => {
  await page.addInitScript(() => {
    const mark = performance.mark.bind(performance);
    const count = (selector) => document.querySelectorAll(selector).length;
    performance.mark = (name, ...rest) => {
      if (name === "berth-first-picture")
        globalThis.first = { tiles: count("a.tile"), rows: count("tbody tr") };
      return mark(name, ...rest);
    };
  });
  await page.reload();
  await page.locator("main tbody tr").first().waitFor();
  const { devices } = await server.ask("api/v1/overview");
  const { tiles, rows: there } = await page.evaluate(() => globalThis.first);
  check(tiles === devices.length, `${tiles} tiles in the first picture`);
  check(there === 0, `${there} rows of tables before it`);
});

/// From now on the page sees these cards alone, as the server would tell of them.
const with_devices = async (page, look, devices) => {
  const told = JSON.stringify({ ...look, devices });
  await page.unrouteAll();
  await page.route(/\/api\/v1\/overview$/, (route) =>
    route.fulfill({ contentType: "application/json", body: told }),
  );
  await page.route(/\/api\/v1\/events$/, (route) =>
    route.fulfill({ contentType: "text/event-stream", body: `event: overview\ndata: ${told}\n\n` }),
  );
  await page.reload();
  await until(
    `${devices.length} tiles`,
    async () => (await page.locator("a.tile").count()) === devices.length,
  );
};

for (const colorScheme of ["light", "dark"])
  test(
    `a temperature has the colour of its own card's limits (${colorScheme})`,
    { how: { colorScheme }, noisy: true },
    async (page, server) => {
      const look = await server.ask("api/v1/overview");
      const [model] = look.devices.filter(({ parent }) => parent === null);
      // As warm as each other: what is hot for one card is not for another.
      const devices = ["normal", "warm", "hot"].map((heat, index) => {
        const id = `GPU-${index}`;
        return { ...model, id, uuid: id, index, temperature_celsius: 88, heat };
      });
      await with_devices(page, look, devices);
      const shown = await page.locator("a.tile .tile-row [data-heat]").evaluateAll((all) =>
        all.map((one) => [one.textContent, getComputedStyle(one).color]),
      );
      check(shown.every(([said]) => said === "88 °C"), JSON.stringify(shown));
      const named = await page.evaluate(() => {
        const probe = document.body.appendChild(document.createElement("i"));
        return ["--busy", "--broken"].map((name) => {
          probe.style.color = `var(${name})`;
          return getComputedStyle(probe).color;
        });
      });
      const [[, normal], [, warm], [, hot]] = shown;
      check(warm === named[0] && hot === named[1], `warm ${warm}, hot ${hot}`);
      check(![warm, hot].includes(normal), "what is normal looks as what is not");
    },
  );

test(
  "16 cards are in sight on a laptop's screen, and 64 need no scrolling sideways",
  { how: { viewport: { width: 1366, height: 768 } }, noisy: true },
  async (page, server) => {
    const look = await server.ask("api/v1/overview");
    const models = look.devices.filter(({ parent }) => parent === null);
    for (const count of [16, 64]) {
      const devices = Array.from({ length: count }, (_, index) => {
        const id = `GPU-${String(index).padStart(8, "0")}`;
        return { ...models[index % models.length], id, uuid: id, index };
      });
      await with_devices(page, look, devices);
      const { bottom, wide } = await page.evaluate(() => ({
        bottom: [...document.querySelectorAll("a.tile")].at(-1).getBoundingClientRect().bottom,
        wide: document.documentElement.scrollWidth - innerWidth,
      }));
      check(wide <= 0, `${count} cards are ${wide} px too wide`);
      const most = count > 16 ? 1.5 * 768 : 768;
      check(bottom <= most, `the last of ${count} ends at ${bottom} px`);
    }
  },
);

test("cards stand in groups where links or nodes make some", {}, async (page, server) => {
  const { devices } = await server.ask("api/v1/topology");
  const groups = new Set(devices.map(({ nvlink_group: group }) => group));
  const nodes = new Set(devices.map(({ numa_node: node }) => node));
  const wanted = groups.size > 1 ? groups.size : nodes.size > 1 ? nodes.size : 0;
  await until(
    "a heading for each",
    async () => (await page.locator(".group-head").count()) === wanted,
  );
  if (wanted === 0) return;
  // Below each heading stand its own, and below the next the others.
  const by = groups.size > 1 ? "nvlink_group" : "numa_node";
  const shown = await page.locator(".group-head, a.tile").evaluateAll((all) =>
    all.map((one) => (one.matches("a.tile") ? one.getAttribute("href") : null)),
  );
  const below = [];
  for (const href of shown) {
    if (href === null) below.push([]);
    else below.at(-1).push(decodeURIComponent(href.replace("#/gpu/", "")));
  }
  const right = [...(groups.size > 1 ? groups : nodes)].map((group) =>
    devices.filter((device) => device[by] === group).map(({ id }) => id),
  );
  check(JSON.stringify(below) === JSON.stringify(right), `${JSON.stringify(below)}, by ${by} ${JSON.stringify(right)}`);
  if (by === "numa_node")
    for (const [i, node] of [...nodes].entries()) {
      const head = await page.locator(".group-head").nth(i).innerText();
      check(head.includes(String(node)), `${head} is of node ${node}`);
    }
});
