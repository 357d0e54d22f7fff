// What is not well: findings, alerts, problems.

import { check, test, until } from "./harness.mjs";
import { text } from "./steps.mjs";

const faults = { needs: ["faults"], told: [["faults"]] };

test("health tells what is wrong and what to do", faults, async (page, server) => {
  await server.go(page, "#/health", ".health-card");
  await page.getByText("it fell off the bus and answers nobody").waitFor();
  await page.getByText("reboot; if it comes back, look at seating, power and cooling").waitFor();
});

test(
  "an error of the driver is told with what to do, at once and from the log",
  { needs: ["xid"], told: [["xid"]] },
  async (page, server) => {
    const log = page.locator("section", { hasText: "What happened in 30 days" });
    const event = log.locator(".event", { hasText: "it has fallen off the bus" });
    const tells = async (advice) => {
      await event.getByText(advice, { exact: true }).waitFor();
      await event.getByRole("link", { name: "GPU 1", exact: true }).waitFor();
      check((await event.count()) === 1, `it is told ${await event.count()} times`);
    };
    await server.go(page, "#/health", ".panel");
    const { devices } = await server.ask("api/v1/overview");
    await server.tell("xid", { device: 1 });
    await tells("reboot; if it comes back, look at seating, power and cooling");
    await until("it is kept", async () => {
      const { events } = await server.ask("api/v1/events-log");
      return events.some(({ kind, device }) => kind === "xid" && device === devices[1].id);
    });
    await page.reload();
    await tells("reboot; if it comes back, look at seating, power and cooling");
    await event.getByText("XID 79: it has fallen off the bus", { exact: true }).waitFor();
    const card = page.locator(".health-card", { hasText: "GPU 1" });
    await card.getByText("XID 79, once: it has fallen off the bus").waitFor();
    await page.getByRole("button", { name: "中文" }).click();
    const events = page.locator("section", { hasText: "30 天内的事件" }).locator(".event");
    await events
      .filter({ hasText: "XID 79: it has fallen off the bus" })
      .getByText("请重启；若再次出现，请检查插接、供电和散热")
      .waitFor();
  },
);

test("an error that no rule finds any more is told with what to do", {}, async (page, server) => {
  const { devices, taken_unix_ms } = await server.ask("api/v1/overview");
  const event = { kind: "xid", device: devices[0].id, code: "31", text: "it was long ago" };
  const told = { ...event, at_unix_ms: taken_unix_ms - 3 * 3_600_000, advice: "start it again" };
  const json = { simulated: null, left_out: 0, events: [told] };
  await page.route(/\/api\/v1\/events-log/, (route) => route.fulfill({ json }));
  await server.go(page, "#/health", ".panel");
  const log = page.locator("section", { hasText: "What happened in 30 days" });
  await log
    .locator(".event", { hasText: "it was long ago" })
    .getByText("start it again", { exact: true })
    .waitFor();
});

test(
  "what is wrong is told in Chinese too, with the evidence as it stands",
  { ...faults, how: { locale: "zh-CN" } },
  async (page, server) => {
    await server.go(page, "#/health", ".health-card");
    const lost = page.locator(".health-card .event", { hasText: "GPU 已从总线掉线" });
    await lost.getByText("it fell off the bus and answers nobody").waitFor();
    await lost.getByText("请重启；若再次出现，请检查插接、供电和散热").waitFor();
  },
);

test(
  "an alert is told in Chinese too, with the evidence as it stands",
  { own: true, needs: ["alert"], noisy: true, how: { locale: "zh-CN" } },
  async (page, server) => {
    const told = await server.tell("alert", {
      rule: "ghost_memory",
      summary: "12 GiB are held by no process in the driver's list",
      advice: "berth ps says who has the device open",
    });
    const alert = page.locator(".overview .event", { hasText: told.summary });
    await alert.getByText(`有显存不属于驱动列表中的任何进程: ${told.summary}`).waitFor();
    await alert.getByText("berth ps 会显示是谁打开了设备").waitFor();
  },
);

test(
  "an alert is shown where everybody looks, until it is resolved",
  { own: true, needs: ["alert"] },
  async (page, server) => {
    const wanted = { summary: "held idle for 2 h by bob", advice: "ask bob" };
    const told = await server.tell("alert", wanted);
    const alert = page.locator(".overview .event", { hasText: told.summary });
    await alert.getByRole("link", { name: `GPU ${told.index}` }).waitFor();
    check((await alert.innerText()).includes(told.advice), "what to do");
    check(/SIMULATED/.test(await alert.innerText()), "that it is simulated");
    const grave = await server.tell("alert", {
      id: "2",
      severity: "critical",
      summary: "GPU 0 is lost",
    });
    await page.locator(".overview .event", { hasText: grave.summary }).waitFor();
    check(/critical/.test(await text(page, ".overview .event")), "the gravest is the first");
    await until("it is spoken of", async () =>
      (await page.locator("[aria-live=polite]").innerText()).includes(grave.summary),
    );
    await server.tell("alert", { ...wanted, over: 1 });
    await until("it goes", async () => (await alert.count()) === 0 || alert.isHidden());
    await server.go(page, "#/health", ".panel");
    const over = page.locator(".event", { hasText: told.summary }).filter({ hasText: "resolved" });
    await over.waitFor();
    await page.reload();
    await over.waitFor();
  },
);

test(
  "a problem says whose it is and what to do",
  {
    needs: ["problem"],
    told: [
      ["problem", { source: "kernel log", message: "it cannot be read", remedy: "run it as root" }],
    ],
  },
  async (page, server) => {
    const { problems, devices } = await server.ask("api/v1/overview");
    const told = problems.find(({ device }) => device !== null);
    const { index } = devices.find(({ id }) => id === told.device);
    const problem = page.locator(".overview .event", { hasText: told.message });
    await problem.getByRole("link", { name: `GPU ${index}` }).waitFor();
    for (const part of [told.source, told.remedy])
      check((await problem.innerText()).includes(part), part);
  },
);
