/** The planner's settings: texts of form fields on the page, numbers and shares in the API. */

/** The texts of form fields by their names. */
export type Fields = Record<string, string>;

/** The settings of a plan as the API takes them. */
export type Settings = Record<string, number>;

/** Fields in per cent of what is a share in the API. */
const SHARES = ["target", "worker_share"];

/** The settings that the form says; the reward of the radius map is none. */
export function settingsOf({ reward: _, ...fields }: Fields): Settings {
  return Object.fromEntries(
    Object.entries(fields).map(([name, text]) => [name, SHARES.includes(name) ? Number(text) / 100 : Number(text)]),
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
