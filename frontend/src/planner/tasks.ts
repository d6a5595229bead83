/** Tasks as an operator enters them. */

/** A reward that is no number stays as it was typed, so that the server can answer it with its reason. */
export type Task = { name: string; longitude: number | null; latitude: number | null; reward: number | string | null };

export const MOST_TASKS = 3_000;
/** More do not fit an address that mail and chat keep whole. */
export const MOST_LINKED = 150;

/** A task from what was typed or read; names are cut to what the server takes. */
export function taskOf(longitude: unknown, latitude: unknown, name: string, reward: unknown): Task {
  const typed = String(reward ?? "").trim();
  return {
    name: name.slice(0, 200),
    longitude: number(longitude),
    latitude: number(latitude),
    reward: number(typed) ?? (typed || null),
  };
}

function number(raw: unknown): number | null {
  const text = String(raw ?? "").trim();
  const value = text === "" ? NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}
