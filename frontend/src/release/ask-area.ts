/** Client of `/api/v1/releases/{id}/query`: how many are in an area. */
import type { Answer, Answers, Problem } from "../data/api";
import type { AreaShape, Ends } from "../geometry/area-shape";
import { t } from "../ui/translate";

/** An answer, with the English words for what it, and it scaled, are numbers of. */
export type Counted = Answer & { noun: string; scaledNoun: string };

/**
 * The answer for an area, or for trips between two; `slice` names the slice of time to ask about, all of them without. Throws
 * an Error whose message is for the reader. Members of an organisation ask about drafts in their own
 * name, with their page's `token`; for everybody else no cookie is sent.
 */
export async function askArea(url: string, token: string, areas: Ends<AreaShape>, slice = ""): Promise<Counted> {
  const { area, ...ends } = areas;
  const response = await fetch(url, {
    method: "POST",
    credentials: token ? "same-origin" : "omit",
    headers: { "Content-Type": "application/json", ...(token ? { "X-CSRFToken": token } : {}) },
    body: JSON.stringify({ ...(area ? { polygon: area } : ends), ...(slice ? { layer: slice } : {}) }),
  }).catch(() => {
    throw new Error(t("The server did not answer; try again."));
  });
  const { results, rows, scaling, detail } = (await response.json().catch(() => ({}))) as Partial<Answers & Problem>;
  const answer = results?.[0];
  const word = (counted: string): string => {
    if (!area && counted !== "people") return "trips";
    return counted === "visits" ? rows! : counted;
  };
  if (response.ok && answer) return { ...answer, noun: word(answer.counted), scaledNoun: word(scaling?.counted ?? "") };
  throw new Error(detail ?? t("The area could not be added up ({status}).", { status: response.status }));
}
