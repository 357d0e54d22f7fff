// The contrasts of colours.css, computed as WCAG 2 does, in both themes. Text has 4.5:1 on its ground, lines and signs
// have 3:1.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

type Colour = [number, number, number];

const sheet = readFileSync(join(process.env["BERTH_WEB"]!, "src/style/colours.css"), "utf8");
function theme(selector: string): Map<string, string> {
  const begin = sheet.indexOf(`${selector} {`);
  assert.notEqual(begin, -1, selector);
  const block = sheet.slice(begin, sheet.indexOf("}", begin));
  return new Map(
    [...block.matchAll(/--([\w-]+): ([^;]+);/g)].map((found) => [found[1]!, found[2]!]),
  );
}
const themes = { light: theme(":root"), dark: theme(':root[data-theme="dark"]') };

function colour_of(hex: string): Colour {
  assert.match(hex, /^#[0-9a-f]{6}$/);
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)) as Colour;
}
function mixed(colour: Colour, share: number, ground: Colour): Colour {
  return colour.map((part, i) => part * share + ground[i]! * (1 - share)) as Colour;
}
function luminance(colour: Colour): number {
  const [r, g, b] = colour.map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}
function contrast(a: Colour, b: Colour): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high! + 0.05) / (low! + 0.05);
}

test("the contrast of black and white is 21", () => {
  assert.equal(contrast([0, 0, 0], [255, 255, 255]), 21);
});

const standings = ["free", "reserved", "leased", "busy", "held", "broken", "unknown", "divided"];
const charts = ["chart-load", "chart-memory", "chart-power", "chart-heat", "mark"];

for (const [name, colours] of Object.entries(themes)) {
  const of = (word: string): Colour => colour_of(colours.get(word) ?? `no --${word}`);
  const found = (pairs: [string, Colour, string, Colour][], least: number): string[] =>
    pairs
      .filter(([, a, , b]) => contrast(a, b) < least)
      .map(([what, a, on, b]) => `${what} on ${on}: ${contrast(a, b).toFixed(2)}`);

  test(`what is read is readable (${name})`, () => {
    const pairs: [string, Colour, string, Colour][] = [];
    for (const ground of ["ground", "panel", "sunken"])
      for (const word of ["text", "muted", "accent", ...standings])
        pairs.push([word, of(word), ground, of(ground)]);
    const tint = parseFloat(colours.get("tint")!) / 100;
    for (const standing of standings) {
      const tile = mixed(of(standing), tint, of("panel"));
      // "busy" and "broken" are the colours of a temperature near and beyond its limit.
      for (const word of ["text", "muted", "busy", "broken", standing])
        pairs.push([word, of(word), `a tile that is ${standing}`, tile]);
      // A bar of the timeline, under the mouse.
      pairs.push([
        "text",
        of("text"),
        `a bar, ${standing}`,
        mixed(of(standing), 0.38, of("panel")),
      ]);
    }
    for (const button of ["accent", "broken"])
      pairs.push(["a button's word", of("panel"), button, of(button)]);
    for (const banner of ["warn", "bad"])
      pairs.push([banner, of(`${banner}-text`), "its banner", of(`${banner}-ground`)]);
    assert.deepEqual(found(pairs, 4.5), []);
  });

  test(`what is drawn is seen (${name})`, () => {
    const pairs: [string, Colour, string, Colour][] = ["focus", ...charts].flatMap((word) =>
      ["ground", "panel"].map(
        (ground) => [word, of(word), ground, of(ground)] as [string, Colour, string, Colour],
      ),
    );
    assert.deepEqual(found(pairs, 3), []);
  });
}

test("no theme lacks a colour that the other has", () => {
  assert.deepEqual([...themes.dark.keys()].sort(), [...themes.light.keys()].sort());
});
