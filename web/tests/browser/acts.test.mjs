// Ending things from the page: a lease released, a process signalled.

import { check, test, until } from "./harness.mjs";
import { log_in, room, rows, visit } from "./steps.mjs";

// The card with a process of a user that one may be (Mock.tell and Served.tell_who of tests/e2e).
const leased_gpu = async (page, server, { gpu, pid }) => {
  await visit(page, server, room);
  await page.locator("a.tile").nth(gpu).click();
  await page.getByRole("cell", { name: String(pid), exact: true }).waitFor();
};
const button = (page, name) => page.locator("main").getByRole("button", { name });

test("nobody in particular is offered nothing to end", { needs: ["act"] }, async (page, server) => {
  await leased_gpu(page, server, await server.tell("who"));
  check((await button(page, /^(Release|Send a signal)/).count()) === 0, "a button of somebody else's");
  await page.locator("header").getByRole("button", { name: /^not signed in · / }).waitFor();
});

test(
  "a lease is released by its owner, who is asked first",
  { own: true, needs: ["act"] },
  async (page, server) => {
    const who = await server.tell("who");
    await log_in(page, who);
    await leased_gpu(page, server, who);
    const release = button(page, /^Release/);
    await release.click();
    await page.getByRole("dialog").getByText("Its run is ended first").waitFor();
    await page.keyboard.press("Escape");
    check((await server.tell("acts")).length === 0, "it was released although nobody said so");
    check(await release.evaluate((own) => own === document.activeElement), "focus is elsewhere");
    await release.press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Release" }).click();
    await page.getByText("No lease.").waitFor();
    const [act] = await server.tell("acts");
    // A run that was ended says that it was. It does not say by which user.
    const by = act.user ?? who.user;
    check(act.what === "release" && by === who.user, JSON.stringify(act));
    await until("the page has the focus", () =>
      page.evaluate(() => document.activeElement.id === "main"),
    );
  },
);

test(
  "a run is stopped on its own page, which says what became of it",
  { own: true, needs: ["act"] },
  async (page, server) => {
    const who = await server.tell("who");
    await log_in(page, who);
    await leased_gpu(page, server, who);
    await page.locator('main td a[href^="#/run"]').first().click();
    await page.waitForSelector(".run .heading h1");
    await button(page, "Stop").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(new RegExp(`on GPU ${who.gpu}\\b`)).waitFor();
    const { processes, leases } = await server.ask("api/v1/overview", who.token);
    const { lease } = processes.find(({ pid }) => pid === who.pid);
    const { run } = leases.find(({ id }) => id === lease);
    const { command } = await server.ask(`api/v1/runs/${run}`, who.token);
    for (const part of [run, ...command])
      check((await dialog.innerText()).includes(part), `it does not name ${part}`);
    check((await server.tell("acts")).length === 0, "it was stopped although nobody said so");
    await dialog.getByRole("button", { name: "Stop" }).click();
    await page.locator(".run .heading").getByText("The run has ended.").waitFor();
    check((await server.tell("acts"))[0].what === "release", "nothing was done");
  },
);

for (const end of ["killed", "had ended"])
  test(`of a run that was stopped is told: ${end}`, { needs: ["act"] }, async (page, server) => {
    const who = await server.tell("who");
    await log_in(page, who);
    await page.route(/\/release$/, (route) => route.fulfill({ json: { end } }));
    await leased_gpu(page, server, who);
    await page.locator('main td a[href^="#/run"]').first().click();
    await button(page, "Stop").click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
    const words = { killed: "did not end in time and was killed", "had ended": "had ended already" };
    await page.locator(".run .heading").getByText(words[end]).waitFor();
  });

test(
  "a process is signalled by its owner, as he chooses",
  { needs: ["act"], told: [["real"]] },
  async (page, server) => {
    const who = await server.tell("who");
    const { processes } = await server.ask("api/v1/overview");
    const { start_ticks } = processes.find(({ pid }) => pid === who.pid);
    await log_in(page, who);
    await leased_gpu(page, server, who);
    await button(page, `Send a signal to ${who.pid}`).click();
    await page.getByRole("radio", { name: "KILL" }).check();
    await page.getByRole("dialog").getByRole("button", { name: "Signal" }).click();
    await until("it is sent", async () => (await server.tell("acts")).length === 1);
    const [{ what, name, body }] = await server.tell("acts");
    check(what === "signal" && name === String(who.pid), `${what} ${name}`);
    check(body.signal === "KILL" && body.start_ticks === start_ticks, JSON.stringify(body));
    await until("the question goes", async () => (await page.getByRole("dialog").count()) === 0);
  },
);

test(
  "what the server says against it stands where the question stood",
  { needs: ["act"], told: [["read-only"]], noisy: true },
  async (page, server) => {
    const who = await server.tell("who");
    await log_in(page, who);
    await leased_gpu(page, server, who);
    await button(page, /^Release/).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Release" }).click();
    await dialog.getByText("this server only shows").waitFor();
    check(await dialog.getByRole("button", { name: "Release" }).isHidden(), "it may be tried again");
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("cell", { name: String(who.pid), exact: true }).waitFor();
  },
);

test("a simulated process cannot be signalled", { needs: ["act"] }, async (page, server) => {
  const who = await server.tell("who");
  await log_in(page, who);
  await leased_gpu(page, server, who);
  await button(page, /^Release/).waitFor();
  check((await button(page, /^Send a signal/).count()) === 0, "a button for nothing");
});

test("a lease that names no run has a dash for it", {}, async (page, server) => {
  const look = await server.ask("api/v1/overview");
  const [{ id: device }] = look.devices;
  const devices = [{ device, exclusive: true, promised_bytes: null }];
  const keeper = { pid: 7, start_ticks: 7 };
  const whose = { uid: 1000, user: "wei", command: null, job: null, keeper };
  const since_unix_ms = look.taken_unix_ms - 1000;
  look.leases = [{ id: "0-7", run: "", ...whose, understood: true, since_unix_ms, devices }];
  const body = `event: overview\ndata: ${JSON.stringify(look)}\n\n`;
  await page.route(/\/api\/v1\/events$/, (route) =>
    route.fulfill({ contentType: "text/event-stream", body }),
  );
  await page.reload();
  await server.go(page, `#/gpu/${device}`, '[aria-label="Leases"] td');
  const [lease] = await rows(page, "Leases");
  check(lease.Run === "–", JSON.stringify(lease));
});

test(
  "where the server knows no remedy the page says its own",
  { noisy: true },
  async (page, server) => {
    const error = { code: "not_yours", message: "it is another user's", remedy: "" };
    await page.route(/\/api\/v1\/runs/, (route) => route.fulfill({ status: 403, json: { error } }));
    await server.go(page, "#/runs", ".failure");
    await page.getByText("prints a link, or use a token").waitFor();
  },
);

test(
  "a link that berth serve prints makes its user known, once",
  { own: true, needs: ["sign-in"], noisy: true },
  async (page, server) => {
    const { link, user } = await server.tell("sign-in");
    await page.goto("about:blank");
    await page.goto(link);
    await page.getByRole("button", { name: `${user} · administrator` }).waitFor();
    check(page.url() === `${server.base}#/`, `the address keeps ${page.url()}`);
    check((await page.context().cookies()).length === 0, "there is a cookie");
    await page.reload();
    await page.getByRole("button", { name: `${user} ·` }).waitFor();
    const other = await page.context().newPage();
    await other.goto(link);
    await other.getByText("This link was used already").waitFor();
    await other.getByText("berth serve --link").waitFor();
    await other.getByRole("button", { name: "not signed in ·" }).waitFor();
    const { link: fresh } = await server.tell("sign-in");
    await other.evaluate((hash) => (location.hash = hash), new URL(fresh).hash);
    await other.getByRole("button", { name: `${user} ·` }).waitFor();
    check(await other.getByText("This link was used already").isHidden(), "it still complains");
    await other.close();
    await page.evaluate((hash) => (location.hash = hash), new URL(link).hash);
    await page.getByText("This link was used already").waitFor();
    await page.reload();
    await page.getByRole("button", { name: `${user} ·` }).waitFor();
  },
);
