// Bundles the page: node build.mjs MODULES OUT. MODULES is a node_modules folder (it lies in the
// build folder, never here); OUT gets index.html, page.js, page.css, icon.svg and, beside each, its
// ETag and what gzip makes of it, as src/serve/page/page.S embeds them.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
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
