// What is not well: findings, alerts, problems.

import { check, test, until } from "./harness.mjs";
import { text } from "./steps.mjs";

test("health tells what is wrong and what to do", { needs: ["faults"] }, async (page, server) => {
  await server.go(page, "#/health", ".health-card");
  await page.getByText("it fell off the bus and answers nobody").waitFor();
  await page.getByText("reboot; if it comes back, look at seating, power and cooling").waitFor();
  await page.getByText("XID 79: GPU has fallen off the bus.").waitFor();
});

test(
  "what is wrong is told in Chinese too, with the evidence as it stands",
  { needs: ["faults"], how: { locale: "zh-CN" } },
  async (page, server) => {
    await server.go(page, "#/health", ".health-card");
    const lost = page.locator(".health-card .event", { hasText: "GPU 已从总线掉线" });
    await lost.getByText("it fell off the bus and answers nobody").waitFor();
    await lost.getByText("重启机器；若再次出现，请检查插接、供电与散热").waitFor();
  },
);

test(
  "an alert is shown where everybody looks, until it is resolved",
  { own: true, needs: ["alert"] },
  async (page, server) => {
    const told = { summary: "held idle for 2 h by bob", advice: "ask bob" };
    await server.tell("alert", told);
    await server.tell("alert", { id: "2", severity: "critical", summary: "GPU 0 is lost" });
    const alert = page.locator(".room .event", { hasText: told.summary });
    await alert.getByRole("link", { name: "GPU 0" }).waitFor();
    check(/ask bob/.test(await alert.innerText()), "what to do");
    check(/SIMULATED/.test(await alert.innerText()), "that it is simulated");
    await page.locator(".room .event", { hasText: "GPU 0 is lost" }).waitFor();
    check(/critical/.test(await text(page, ".room .event")), "the gravest is the first");
    await until("it is spoken of", async () =>
      /GPU 0 is lost/.test(await page.locator("[aria-live=polite]").innerText()),
    );
    await server.tell("alert", { ...told, over: 1 });
    await until("it goes", async () => (await alert.count()) === 0 || alert.isHidden());
    await server.go(page, "#/health", ".panel");
    const over = page.locator(".event", { hasText: told.summary });
    await until("it is over", async () => /resolved/.test(await over.innerText()));
    await page.reload();
    await until("nor is it forgotten", async () => /resolved/.test(await over.innerText()));
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
  async (page) => {
    const problem = page.locator(".room .event", { hasText: "it cannot be read" });
    await problem.getByRole("link", { name: "GPU 1" }).waitFor();
    for (const part of ["kernel log", "run it as root"])
      check((await problem.innerText()).includes(part), part);
  },
);
