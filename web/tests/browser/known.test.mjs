// The name one is known by, and things that go away while one looks at them.

import { check, test, until } from "./harness.mjs";
import { let_pass, log_in, text } from "./steps.mjs";

const wanted = { error: { code: "token_wanted", message: "this needs a token", remedy: "" } };

test("a token that is not known there is dropped, and that is said", { noisy: true }, async (page) => {
  await page.route(/\/api\/v1\//, (route) =>
    route.request().headers().authorization
      ? route.fulfill({ status: 401, json: wanted })
      : route.continue(),
  );
  await page.evaluate(() => sessionStorage.setItem("berth-token", "of another day"));
  await page.reload();
  await page.getByText("the server does not know this token").waitFor();
  await until("it is live", async () => /^live/.test(await text(page, ".fresh")));
  check(await page.locator(".trouble").isHidden(), "it still tries in vain");
  check((await page.evaluate(() => sessionStorage.getItem("berth-token"))) === null, "it is kept");
});

test("where a token is wanted that is said, and one can be given", { noisy: true }, async (page, server) => {
  await page.route(/\/api\/v1\//, (route) =>
    route.request().headers().authorization
      ? route.continue()
      : route.fulfill({ status: 401, json: wanted }),
  );
  await page.reload();
  await page.getByText("answers only who is known to it").waitFor();
  const { token, user } = await server.tell("who");
  await page.getByRole("button", { name: "not signed in" }).click();
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Use it" }).click();
  await page.getByRole("button", { name: `${user} ·` }).waitFor();
  await page.waitForSelector("a.tile");
  check(await page.locator(".trouble").isHidden(), "the complaint stays");
});

test(
  "who follows the link of berth serve may stop his run and read its log at once",
  { own: true, needs: ["sign-in"], noisy: true },
  async (page, server) => {
    const { token } = await server.tell("who");
    const { processes } = await server.ask("api/v1/overview", token);
    const { run } = processes.find((process) => process.run);
    await server.go(page, `#/run/${run}`, ".run .heading h1");
    await page.getByText("not signed in").first().waitFor();
    check((await page.locator(".run .danger, .run .log li").count()) === 0, "a stranger may stop it");
    const { link, user } = await server.tell("sign-in");
    await page.goto("about:blank");
    await page.goto(link);
    await page.getByRole("button", { name: `${user} ·` }).waitFor();
    await page.locator(`main td a[href="#/run/${run}"]`).first().click();
    await page.locator(".run .heading").getByRole("button", { name: "Stop" }).waitFor();
    await page.locator(".run .log li", { hasText: "it has begun" }).waitFor();
    check((await page.locator("main .failure:visible").count()) === 0, "something is kept from him");
  },
);

test(
  "after a restart of the server a tab says that it is nobody's any more",
  { own: true, needs: ["sign-in", "restart"], noisy: true },
  async (page, server) => {
    const { link, user } = await server.tell("sign-in");
    await page.goto("about:blank");
    await page.goto(link);
    await page.getByRole("button", { name: `${user} ·` }).waitFor();
    await server.tell("stop");
    await page.getByText("Not connected.").waitFor();
    await server.tell("start");
    await page.getByText("the server does not know this token").waitFor();
    await page.getByRole("button", { name: "not signed in ·" }).waitFor();
  },
);

test(
  "what was asked for while the server was away comes when it is back",
  { own: true, needs: ["restart", "runs"], noisy: true },
  async (page, server) => {
    const who = await server.tell("who");
    await log_in(page, who);
    await page.route(/\/api\/v1\/runs\//, (route) => route.abort());
    await server.tell("stop");
    await page.getByText("Not connected.").waitFor();
    await page.evaluate((hash) => (location.hash = hash), `#/run/${who.run}`);
    await page.getByText("The server did not answer.").waitFor();
    await page.unroute(/\/api\/v1\/runs\//);
    await server.tell("start");
    await page.waitForSelector(".run .chart canvas");
    check((await page.locator("main .failure:visible").count()) === 0, "it still complains");
  },
);

test("a run that is removed while it is looked at is no longer shown", { needs: ["runs", "act"], noisy: true }, async (page, server) => {
  const who = await server.tell("who");
  await log_in(page, who);
  const { processes } = await server.ask("api/v1/overview", who.token);
  const { run } = processes.find(({ pid }) => pid === who.pid);
  await server.go(page, `#/run/${run}`, ".run .heading button.danger");
  const called = await text(page, ".run h1");
  check((await page.title()) === `${called} – berth`, `the tab is called ${await page.title()}`);
  const error = { code: "not_found", message: "there is no such run", remedy: "" };
  await page.route(/\/api\/v1\/runs\//, (route) => route.fulfill({ status: 404, json: { error } }));
  await let_pass(page, 10_000);
  await page.getByText("There is no such thing here.").waitFor();
  check((await page.locator(".run button").count()) === 0, "what is gone can be stopped");
  check((await text(page, ".run h1")) === run, "which one it was");
});
