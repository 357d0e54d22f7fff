// What the page says when it knows nothing, nothing new, or nothing real.

import { check, test, until } from "./harness.mjs";
import { first_gpu, let_pass, room, text, views, visit } from "./steps.mjs";

test("before the first look nothing is claimed", { noisy: true }, async (page) => {
  let look;
  const looked = new Promise((done) => {
    look = done;
  });
  await page.route("**/api/v1/events", async (route) => {
    await looked;
    await route.continue();
  });
  const error = { code: "no_snapshot", message: "the first look is still under way", remedy: "" };
  const answer = { status: 503, json: { error } };
  await page.route("**/api/v1/overview", (route) => route.fulfill(answer));
  await page.reload();
  await page.getByText("Asking the server…").first().waitFor();
  for (const claim of ["No process.", "Nobody waits.", "No GPU is to be seen"]) {
    check(!(await page.getByText(claim).first().isVisible()), claim);
  }
  await page.unroute("**/api/v1/overview");
  look();
  await page.waitForSelector("a.tile");
  check(await page.getByText("Asking the server…").first().isHidden(), "it still asks");
});

test("the first picture does not wait for the stream", { noisy: true }, async (page) => {
  await page.route("**/api/v1/events", (route) => route.abort());
  await page.reload();
  await page.waitForSelector("a.tile");
  // No picture of an empty room came before it.
  const [draw, whole] = await page.evaluate(() => {
    const [{ startTime, duration }] = performance.getEntriesByName("berth-draw");
    const [mark] = performance.getEntriesByName("berth-first-picture");
    return [startTime + duration, mark.startTime];
  });
  check(whole <= draw, `the first draw ended at ${draw} without the room, which came at ${whole}`);
});

test(
  "without a history it is said in place, and the live charts go on",
  { own: true, needs: ["no-history"], noisy: true },
  async (page, server) => {
    await server.tell("history-off");
    await first_gpu(page);
    await page.getByText("This server keeps no history.").waitFor();
    await until("the live chart is drawn", async () =>
      /now \d+ %/.test(await page.locator(".plot").first().getAttribute("aria-label")),
    );
    for (const hash of ["#/timeline", "#/usage", "#/health"]) {
      await page.goto(`${server.base}${hash}`);
      await page.getByText("This server keeps no history.").waitFor();
    }
  },
);

test(
  "when the server goes, the page counts down and finds it again",
  { own: true, needs: ["restart"], noisy: true },
  async (page, server) => {
    await server.tell("stop");
    await until("it says so", async () =>
      /Not connected\. .*next try in \d+ s/.test(await text(page, ".trouble")),
    );
    check((await page.locator("a.tile").count()) > 0, "what was known stays");
    await until(
      "the pause grows",
      async () => /next try in [3-9] s/.test(await text(page, ".trouble")),
      15_000,
    );
    await server.tell("start");
    await until(
      "live again",
      async () =>
        (await page.locator(".trouble").isHidden()) && /live/.test(await text(page, ".fresh")),
      15_000,
    );
  },
);

test("the button tries at once", { own: true, needs: ["restart"], noisy: true }, async (page, server) => {
  await server.tell("stop");
  await until(
    "it waits long",
    async () => /next try in [3-9] s/.test(await text(page, ".trouble")),
    20_000,
  );
  await server.tell("start");
  await page.getByRole("button", { name: "Try now" }).click();
  await until("live again", async () => /live/.test(await text(page, ".fresh")), 2_500);
});

test("stale numbers are called stale", { own: true, needs: ["stale"] }, async (page, server) => {
  await server.tell("stale");
  await until("the banner", async () => /^Stale: the last look/.test(await text(page, ".trouble")));
  check(/stale/.test(await text(page, ".fresh")), "the sign in the head");
  await server.tell("fresh");
  await until("it goes", async () => page.locator(".trouble").isHidden());
});

test(
  "a look that is only said again is stale, however often it comes",
  { own: true, needs: ["still", "unanswered"] },
  async (page, server) => {
    await server.tell("still");
    await let_pass(page, 10_000);
    await until("the banner", async () => /^Stale: the last look/.test(await text(page, ".trouble")));
    await server.tell("unanswered");
    await until("whose fault it is", async () =>
      /^The driver has not answered since \d\d:\d\d:\d\d .* What is shown is of \d\d:\d\d:\d\d/.test(
        await text(page, ".trouble"),
      ),
    );
  },
);

test(
  "what a server shows that stands still is called stale, and live when it goes on",
  { own: true, needs: ["hang"] },
  async (page, server) => {
    const fresh = () => text(page, ".fresh");
    await until("it is live", async () => /^live/.test(await fresh()));
    await server.tell("hang");
    await let_pass(page, 10_000);
    await until(
      "the banner",
      async () => /^Stale: the last look at the GPUs was at /.test(await text(page, ".trouble")),
      60_000,
    );
    const [time] = /\d\d:\d\d:\d\d/.exec(await text(page, ".trouble"));
    check((await fresh()) === `stale ${time}`, `the sign in the head: ${await fresh()}`);
    check(/stale/.test(await text(page, "[aria-live=polite]")), "it is not spoken of");
    check((await page.locator("a.tile").count()) > 0, "what was known stays");
    await server.tell("go-on");
    await until("it goes", async () => page.locator(".trouble").isHidden());
    await until("later numbers", async () => {
      const said = await fresh();
      return /^live/.test(said) && said !== `live ${time}`;
    });
    await until("that is spoken of", async () =>
      /live again/.test(await page.locator("[aria-live=polite]").innerText()),
    );
  },
);

test(
  "a driver that does not answer is told of on every view, since when, and until it does",
  { own: true, needs: ["unanswered"], noisy: true },
  async (page, server) => {
    await server.tell("unanswered");
    const since = await until("the server says so", async () => {
      const { unanswered_since_unix_ms } = await server.ask("api/v1/overview");
      return unanswered_since_unix_ms;
    });
    const time = new Date(since).toTimeString().slice(0, 8);
    for (const view of [room, ...views]) {
      await visit(page, server, view);
      await until(`${view[0]} tells since ${time}`, async () =>
        (await text(page, ".trouble")).includes(`has not answered since ${time} `),
      );
      check((await text(page, ".fresh")).includes(time), `${view[0]}: the sign in the head`);
    }
    await server.tell("answered");
    // A server that hung is asked again after a pause that grows.
    await until("it is no longer told of", () => page.locator(".trouble").isHidden(), 90_000);
    check(/^live/.test(await text(page, ".fresh")), "the sign in the head");
  },
);

test(
  "simulated numbers are called simulated on every view",
  { needs: ["simulated"] },
  async (page, server) => {
    for (const view of [room, ...views]) {
      await visit(page, server, view);
      check(/^SIMULATED/.test(await text(page, ".simulated")), view[0]);
    }
  },
);

