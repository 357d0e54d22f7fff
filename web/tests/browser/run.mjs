// The page in a browser: what a person sees, clicks and types. All *.test.mjs of this folder.

import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { run_all } from "./harness.mjs";

const here = fileURLToPath(new URL(".", import.meta.url)); // import.meta.dirname came with node 20
for (const name of readdirSync(here).sort())
  if (name.endsWith(".test.mjs")) await import(`./${name}`);
await run_all();
