/** The planner's settings: texts of form fields on the page, numbers and shares in the API. */

/** The texts of form fields by their names. */
export type Fields = Record<string, string>;

/** The settings of a plan as the API takes them. */
export type Settings = Record<string, number | string>;

/** Fields in per cent of what is a share in the API. */
const SHARES = ["target", "worker_share"];
const WORDS = ["model", "density"];
/** Fields that choose what is asked for and are no settings. */
const QUESTIONS = ["allocation", "geocast", "reward"];

/** The ways to divide the reward that the form offers. */
export const ALLOCATIONS = ["optimised", "optimal"];

export function settingsOf(fields: Fields): Settings {
  const entries = Object.entries(fields).filter(([name]) => !QUESTIONS.includes(name));
  return Object.fromEntries(
    entries.map(([name, text]) => {
      if (WORDS.includes(name)) return [name, text];
      return [name, SHARES.includes(name) ? Number(text) / 100 : Number(text)];
    }),
  );
}

/** What the form says of settings that a campaign keeps. */
export function fieldsOf(settings: Record<string, unknown>): Fields {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      name,
      String(SHARES.includes(name) ? Number((Number(value) * 100).toPrecision(12)) : value),
    ]),
  );
}
