// t("overview.sums", {load: "3 %"}): the words of the language that the reader chose.

import { filled } from "../model/format";
import { words, type Word } from "./words";

export type Language = "en" | "zh";
let chosen: Language = "en";

export function language(): Language {
  return chosen;
}
export function set_language(language: Language): void {
  chosen = language;
  if (typeof document !== "undefined")
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

/// The language chosen before, else the first of the browser's languages that we have.
export function language_from(stored: string | null, wanted: readonly string[]): Language {
  if (stored === "en" || stored === "zh") return stored;
  for (const tag of wanted) {
    if (/^zh\b/i.test(tag)) return "zh";
    if (/^en\b/i.test(tag)) return "en";
  }
  return "en";
}

/// A word made from the server's answer may be unknown to this page. Then it stands as the server said it.
export function t(word: Word, values: Record<string, string | number> = {}): string {
  const found: readonly [string, string] | undefined = words[word];
  return found ? filled(found[chosen === "en" ? 0 : 1], values) : word.replace(/^\w+\./, "");
}

/// For words that the server may know more of than this page.
export function word_or(word: string, otherwise: string): string {
  return word in words ? t(word as Word) : otherwise;
}
