/** The server's answer for an area: `/api/v1/releases/{id}/query`. */
import type { AreaShape } from "../geometry/area-shape";
import { t } from "../ui/translate";

export type AreaAnswer = { estimate: number; margin: number; notes: string[] };

/**
 * `slice` names the slice of time to ask about; without, all are added up. Raises an Error whose
 * message is for the reader. Members of an organisation ask about drafts in their own name, with
 * their page's `token`; everybody else is nobody.
 */
export async function askArea(url: string, token: string, shape: AreaShape, slice = ""): Promise<AreaAnswer> {
  const response = await fetch(url, {
    method: "POST",
    credentials: token ? "same-origin" : "omit",
    headers: { "Content-Type": "application/json", ...(token ? { "X-CSRFToken": token } : {}) },
    body: JSON.stringify({ polygon: shape, ...(slice ? { layer: slice } : {}) }),
  }).catch(() => {
    throw new Error(t("The server did not answer; try again."));
  });
  const document = (await response.json().catch(() => ({}))) as {
    detail?: string;
    results?: AreaAnswer[];
  };
  const answer = document.results?.[0];
  if (!response.ok || !answer) {
    throw new Error(
      document.detail ?? t("The area could not be added up ({status}).", { status: response.status }),
    );
  }
  return answer;
}
