// The page in a browser: what a person sees, clicks and types. All *.test.mjs of this folder.

import { readdirSync } from "node:fs";

import { run_all } from "./harness.mjs";

for (const name of readdirSync(import.meta.dirname).sort())
  if (name.endsWith(".test.mjs")) await import(`./${name}`);
await run_all();
