// Ending things from the page: a lease released, a process signalled.

import { check, test, until } from "./harness.mjs";
import { log_in, room, visit } from "./steps.mjs";

// The card that the mock leases to wei.
const leased_gpu = async (page, server) => {
  await visit(page, server, room);
  await page.locator("a.tile").nth(3).click();
  await page.getByRole("cell", { name: "40711", exact: true }).waitFor();
};
const button = (page, name) => page.locator("main").getByRole("button", { name });

test("nobody in particular is offered nothing to end", { needs: ["act"] }, async (page, server) => {
  await leased_gpu(page, server);
  check((await button(page, /^(Release|Send a signal)/).count()) === 0, "a button of somebody else's");
});

test(
  "a lease is released by its owner, who is asked first",
  { own: true, needs: ["act"] },
  async (page, server) => {
    await log_in(page, "wei");
    await leased_gpu(page, server);
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
    check(act.what === "release" && act.user === "wei", JSON.stringify(act));
    await until("the page has the focus", () =>
      page.evaluate(() => document.activeElement.id === "main"),
    );
  },
);

test(
  "a process is signalled by its owner, as he chooses",
  { needs: ["act"], told: [["real"]] },
  async (page, server) => {
    await log_in(page, "wei");
    await leased_gpu(page, server);
    await button(page, "Send a signal to 40711").click();
    await page.getByRole("radio", { name: "KILL" }).check();
    await page.getByRole("dialog").getByRole("button", { name: "Signal" }).click();
    await until("it is sent", async () => (await server.tell("acts")).length === 1);
    const [{ what, name, body }] = await server.tell("acts");
    check(what === "signal" && name === "40711", `${what} ${name}`);
    check(body.signal === "KILL" && body.start_ticks === 815, JSON.stringify(body));
    await until("the question goes", async () => (await page.getByRole("dialog").count()) === 0);
  },
);

test(
  "what the server says against it stands where the question stood",
  { needs: ["act"], told: [["read-only"]], noisy: true },
  async (page, server) => {
    await log_in(page, "root");
    await leased_gpu(page, server);
    await button(page, /^Release/).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Release" }).click();
    await dialog.getByText("this server only shows").waitFor();
    check(await dialog.getByRole("button", { name: "Release" }).isHidden(), "it may be tried again");
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("cell", { name: "40711", exact: true }).waitFor();
  },
);

test("a simulated process cannot be signalled", { own: true, needs: ["act"] }, async (page, server) => {
  await log_in(page, "wei");
  await leased_gpu(page, server);
  await button(page, /^Release/).waitFor();
  check((await button(page, /^Send a signal/).count()) === 0, "a button for nothing");
});
