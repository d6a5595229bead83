/** Formats of numbers, lengths and positions for readers, in the page's language. */
import { language, t } from "./translate";

const whole = new Intl.NumberFormat(language(), { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat(language(), { maximumSignificantDigits: 2 });

/** As short as an axis needs: "1,000", "25k". */
export function formatShort(value: number): string {
  return value < 10_000 ? formatNumber(value) : `${formatNumber(value / 1000)}k`;
}

/** The lower edge of a class, as a legend shows it. A number alone would not say what it is, where one
    class is all there is. */
export function edgeText(from: number | null, classes: number): string {
  if (from === null) return "";
  return classes === 1 ? t("{number} or more", { number: formatShort(from) }) : formatShort(from);
}

/** Whole from ten on, two digits below; a true minus sign. */
export function formatNumber(value: number): string {
  const text = Math.abs(value) >= 10 || Number.isInteger(value) ? whole.format(value) : fine.format(value);
  return text === "-0" ? "0" : text.replace("-", "\u2212");
}

/** A value with as many decimals as an interval of this width lets one tell apart, at most six. */
export function formatValue(value: number, width: number): string {
  const digits = width > 0 ? Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(width)))) : 0;
  const text = new Intl.NumberFormat(language(), { maximumFractionDigits: digits, minimumFractionDigits: digits }).format(value);
  return text.replace("-", "\u2212");
}

/** A length on the ground in metres, rounded to two digits: "240 m", "1.2 km". */
export function formatMetres(metres: number): string {
  const rounded = Number(metres.toPrecision(2));
  return rounded < 1000
    ? `${formatNumber(rounded)}\u00a0m`
    : `${fine.format(rounded / 1000)}\u00a0km`;
}

/** A margin of error; one close to zero is rounded up to a hundredth. */
export function formatMargin(margin: number): string {
  return `\u00b1 ${formatNumber(margin > 0 ? Math.max(margin, 0.01) : margin)}`;
}

export function formatPosition(longitude: number, latitude: number): string {
  const side = (value: number, positive: string, negative: string) =>
    `${Math.abs(value).toFixed(4)}\u00b0 ${value < 0 ? negative : positive}`;
  return `${side(latitude, "N", "S")}, ${side(longitude, "E", "W")}`;
}

export function capitalise(text: string): string {
  return text.charAt(0).toLocaleUpperCase(language()) + text.slice(1);
}
