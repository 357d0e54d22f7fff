// Bundles the page: node build.mjs MODULES OUT. MODULES is a node_modules folder; it lies in the build folder, never
// here. OUT gets index.html, page.js, page.css, icon.svg. Beside each lie its ETag and its gzip form, as
// src/serve/page/page.S embeds them. OUT/lab gets the panel of JupyterLab as a prebuilt extension, for the wheel.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const [modules, out] = process.argv.slice(2).map((path) => resolve(path));
const esbuild = createRequire(join(modules, "/"))("esbuild");

mkdirSync(out, { recursive: true });
await esbuild.build({
  entryPoints: [
    { in: join(here, "src/main.ts"), out: "page" },
    { in: join(here, "src/style/page.css"), out: "page" },
  ],
  outdir: out,
  nodePaths: [modules],
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "chrome110", "firefox115", "safari16.4"],
  legalComments: "eof",
  charset: "utf8",
  logLevel: "warning",
});
copyFileSync(join(here, "index.html"), join(out, "index.html"));
copyFileSync(join(here, "icon.svg"), join(out, "icon.svg"));
for (const name of ["index.html", "page.js", "page.css", "icon.svg"]) {
  const text = readFileSync(join(out, name));
  const hash = createHash("sha256").update(text).digest("hex");
  // Written anew each time: ninja goes by times.
  writeFileSync(join(out, `${name}.gz`), gzipSync(text, { level: 9 }));
  writeFileSync(join(out, `${name}.etag`), `"${hash.slice(0, 20)}"`);
}

const lab = join(out, "lab");
rmSync(lab, { recursive: true, force: true });
await esbuild.build({
  entryPoints: { "static/entry": join(here, "lab/entry.ts") },
  outdir: lab,
  entryNames: "[dir]/[name].[hash]",
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  loader: { ".css": "text" },
  plugins: [{ name: "small styles", setup: minify_styles }],
  logLevel: "warning",
  metafile: true,
}).then(({ metafile }) => {
  const load = Object.keys(metafile.outputs).map((path) => `static/${basename(path)}`)[0];
  const jupyterlab = { extension: true, _build: { load, extension: "./extension" } };
  const about = { name: "@berth/lab", version: "0.0.0", license: "Apache-2.0", jupyterlab };
  writeFileSync(join(lab, "package.json"), `${JSON.stringify(about)}\n`);
});

function minify_styles({ onLoad }) {
  onLoad({ filter: /\.css$/ }, async ({ path }) => {
    const { code } = await esbuild.transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
    return { contents: code, loader: "text" };
  });
}
