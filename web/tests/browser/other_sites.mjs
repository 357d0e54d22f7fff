// How far pages of other sites reach into a server: node other_sites.mjs MODULES WORDS. Started by
// tests/e2e/test_other_sites.py. Prints what the page of each site got, as one line of JSON.

import { open_browser, until } from "./harness.mjs";

const { sites, berth, token } = JSON.parse(process.argv[3]);
const { browser, close } = await open_browser();

/// In the page. What a script there cannot have is "refused".
async function tries({ berth, token }) {
  const got = (path, how) =>
    fetch(berth + path, how).then(
      async (answer) => (await answer.json()).asker?.user ?? answer.status,
      () => "refused",
    );
  const bearer = { authorization: `Bearer ${token}` };
  const posted = { ...bearer, "content-type": "application/json", "x-berth": "1" };
  return {
    asks: await got("api/v1/health"),
    shows_a_token: await got("api/v1/overview", { headers: bearer }),
    posts: await got("api/v1/compose", { method: "POST", headers: posted, body: '{"devices": 1}' }),
    uses_the_login: await got("api/v1/overview", { credentials: "include" }),
  };
}

const seen = {};
try {
  for (const [name, address] of Object.entries(sites)) {
    // Its user has logged in to berth.
    const login = { username: "me", password: token, origin: new URL(berth).origin };
    const page = await (await browser.newContext({ httpCredentials: login })).newPage();
    await page.goto(address);
    const frame = await until("there is a frame", async () => page.frames()[1]);
    await until("it has loaded", async () => frame.url() !== "about:blank" && frame.url() !== "");
    await frame.waitForLoadState("load");
    seen[name] = { ...(await page.evaluate(tries, { berth, token })), frames: frame.url() === berth };
  }
  console.log(JSON.stringify(seen));
} finally {
  await close();
}
