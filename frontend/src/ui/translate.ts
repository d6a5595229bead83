/** Translation of texts by the catalogue that a page holds where its language is not English. */

const catalogue: Record<string, string> = readCatalogue();

/**
 * The text in the page's language, with `{name}` filled in. The English text is its own key:
 * `make messages` collects the literals that stand in calls of this and of `message`.
 */
export function t(text: string, values: Record<string, string | number> = {}): string {
  const template = catalogue[text] ?? text;
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** Marks a text for translators that `t` is given elsewhere. */
export function message(text: string): string {
  return text;
}

/** The page's language, by which numbers are written. */
export function language(): string {
  const declared = typeof document === "undefined" ? "" : document.documentElement.lang;
  return !declared || declared === "en" ? "en-GB" : declared;
}

function readCatalogue(): Record<string, string> {
  const holder = typeof document === "undefined" ? null : document.querySelector("script#words");
  return holder?.textContent ? (JSON.parse(holder.textContent) as Record<string, string>) : {};
}
