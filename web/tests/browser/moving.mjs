// The moving picture of the README: node moving.mjs MODULES BERTH OUT.webp. It shows `berth top` in a terminal (tmux),
// then the page of `berth serve`. Both are of one simulated server on which one real job runs. Each frame is what was
// seen at its moment, shown as long as it took. Needs chromium, tmux and img2webp (Debian: webp). The page's Chinese
// button needs a font that has it (fonts-wqy-microhei).

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open_browser, until } from "./harness.mjs";

const [, , , berth, out] = process.argv;
const folder = mkdtempSync(join(tmpdir(), "berth-moving-"));
const env = {
  PATH: process.env["PATH"],
  LANG: "C.UTF-8",
  HOME: folder,
  XDG_STATE_HOME: join(folder, "state"),
  XDG_RUNTIME_DIR: folder,
  BERTH_LEDGER: join(folder, "ledger"),
  BERTH_ETC: join(folder, "etc"),
  BERTH_SIM: "server-8xh100",
};
const size = { width: 960, height: 600 };
const [columns, rows] = [118, 33];
const call = (program, ...words) =>
  execFileSync(program, words, { env, encoding: "utf8", cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
const tmux = (...words) => call("tmux", "-L", "moving", "-f", "/dev/null", ...words);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

writeFileSync(
  join(folder, "train.py"),
  `import os, time
marks = open(os.environ["BERTH_MARKS"], "a", buffering=1)
for step in range(900):
    if step % 20 == 0:
        marks.write(f"loss={2.4 / (1 + step / 9) + 0.3:.3f} step={step}\\n")
    print(f"step {step}  loss {2.4 / (1 + step / 9) + 0.3:.3f}", flush=True)
    time.sleep(0.5)
`,
);

// ------------------------------------------------------------------------- a terminal as a page

const colours = ["#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4"];
const escaped = (text) =>
  text
    .replace(/[&<]/g, (one) => ({ "&": "&amp;", "<": "&lt;" })[one])
    .replace(/[\u2800-\u28ff]/g, "<b>$&</b>");

function html_of(screen) {
  let [front, back, bold, turned] = [null, null, false, false];
  const span = (text) => {
    const [ink, paper] = turned ? [back ?? "#0d1117", front ?? "#c9d1d9"] : [front, back];
    const style = [ink && `color:${ink}`, paper && `background:${paper}`, bold && "font-weight:bold"];
    return text && `<span style="${style.filter(Boolean).join(";")}">${escaped(text)}</span>`;
  };
  const parts = screen.split(/\x1b\[([\d;]*)m/);
  const told = parts.map((part, i) => {
    if (i % 2 === 0) return span(part);
    for (const code of part.split(";").map(Number)) {
      if (code === 0) [front, back, bold, turned] = [null, null, false, false];
      if (code === 1) bold = true;
      if (code === 7) turned = true;
      if (code === 39) front = null;
      if (code === 49) back = null;
      if (code >= 30 && code < 38) front = colours[code - 30];
      if (code >= 40 && code < 48) back = colours[code - 40];
      if (code >= 90 && code < 98) front = code === 90 ? "#8b949e" : colours[code - 90];
    }
    return "";
  });
  return `<!doctype html><style>body{margin:0;background:#0d1117;color:#c9d1d9}
    pre{margin:8px 10px;font:13px/17.6px "DejaVu Sans Mono"}
    b{display:inline-block;width:1ch;font-weight:inherit;font-family:"DejaVu Sans Mono","DejaVu Sans";
    overflow:hidden;height:17.6px;vertical-align:top}</style><pre>${told.join("")}</pre>`;
}

// ------------------------------------------------------------------------- what is seen

const frames = [];
const keep = async (page, ms) => {
  const file = join(folder, `${frames.length}.png`);
  await page.screenshot({ path: file });
  frames.push({ file, ms });
};

const { browser, close } = await open_browser();
const server = spawn(berth, ["serve", "--listen", "127.0.0.1:0", "--no-open"], { env, cwd: folder });
let said = "";
for (const stream of [server.stdout, server.stderr]) stream.on("data", (data) => (said += data));
try {
  await until("the server listens", () => /http:\/\/127\.0\.0\.1:\d+/.test(said), 60_000);
  await pause(45_000); // so that lines have a length

  const terminal = await browser.newPage({ viewport: size });
  const shown = async (ms) => {
    await terminal.setContent(html_of(tmux("capture-pane", "-ep")));
    await keep(terminal, ms);
  };
  tmux("new-session", "-d", "-x", columns, "-y", rows, "env PS1='$ ' sh");
  await pause(500);
  const words = ["berth run ", "--detach --name tiny-gpt ", "-- python3 train.py"];
  call("ln", "-s", berth, "berth");
  tmux("send-keys", `PATH=$PWD:$PATH; clear`, "Enter");
  await pause(300);
  for (const word of words) {
    tmux("send-keys", "-l", "--", word);
    await pause(200);
    await shown(350);
  }
  tmux("send-keys", "Enter");
  await pause(2_000);
  await shown(1_500);
  tmux("send-keys", "-l", "berth top");
  await pause(200);
  await shown(500);
  tmux("send-keys", "Enter");
  await pause(12_000);
  for (let i = 0; i < 5; ++i) {
    await shown(1_000);
    await pause(1_000);
  }

  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    deviceScaleFactor: 0.75,
    colorScheme: "dark",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const link = call(berth, "serve", "--link").trim();
  await page.goto(link);
  await page.waitForSelector("a.tile");
  await pause(3_000);
  for (let i = 0; i < 4; ++i) {
    await keep(page, 1_000);
    await pause(1_000);
  }
  await page.click("a.tile >> nth=3");
  await page.waitForSelector(".gpu .chart canvas");
  await pause(2_000);
  for (let i = 0; i < 3; ++i) {
    await keep(page, 1_000);
    await pause(1_000);
  }
  await page.locator('main a[href^="#/run"]').first().click();
  await page.waitForSelector(".run .chart canvas");
  await pause(2_000);
  for (let i = 0; i < 3; ++i) {
    await keep(page, 1_000);
    await pause(1_000);
  }
  frames.at(-1).ms = 2_500;
  const words_of = frames.flatMap(({ file, ms }) => ["-d", String(ms), file]);
  call("img2webp", "-loop", "0", "-min_size", "-lossy", "-q", "55", "-m", "6", ...words_of, "-o", out);
} finally {
  server.kill();
  for (const [program, ...words] of [
    [berth, "stop", "last"],
    ["tmux", "-L", "moving", "kill-server"],
  ])
    spawnSync(program, words, { env, cwd: folder });
  await close();
  rmSync(folder, { recursive: true, force: true });
}
