/** Words for the noise in counts, the same for every kind of layer. */
import { formatMargin } from "../ui/format";
import { t } from "../ui/translate";

/** The note beside a count that noise alone could explain; "" beside any other. */
export function doubtNote(value: number, standsOut: boolean): string {
  if (value < 0) return t("noise can push a count below zero");
  return standsOut ? "" : t("too few to tell from none");
}

/** The smallest and the largest margin, or the one that all have, without a sign. */
export function plainRange(margins: readonly number[]): string {
  const low = plain(margins.reduce((a, b) => Math.min(a, b)));
  const high = plain(margins.reduce((a, b) => Math.max(a, b)));
  return low === high ? low : t("{low} to {high}", { low, high });
}

/** A range of margins and what it counts, which is in the singular where every margin is one person. */
export function countedRange(margins: readonly number[], counting: string): { range: string; counting: string } {
  const range = plainRange(margins);
  return { range, counting: range === "1" && counting === t("people") ? t("person") : counting };
}

function plain(margin: number): string {
  return formatMargin(margin).replace("\u00b1 ", "");
}
