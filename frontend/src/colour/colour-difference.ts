/**
 * How far apart two colours are seen, also by readers with a colour vision deficiency: CIEDE2000
 * (Sharma, Wu and Dalal 2005) after Machado, Oliveira and Fernandes (2009) at severity 1. For tests.
 */
import { parseHex } from "./ramps";

type Triple = [number, number, number];

const SEEN = {
  none: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
} as const;

export type Deficiency = keyof typeof SEEN;
export const DEFICIENCIES = Object.keys(SEEN) as Deficiency[];

/** CIEDE2000 between two colours like #12ab9f. */
export function difference(one: string, other: string, seen: Deficiency): number {
  return ciede2000(lab(one, seen), lab(other, seen));
}

/** The contrast ratio of WCAG 2. */
export function contrast(one: string, other: string): number {
  const [low, high] = [one, other].map(luminance).sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function luminance(hex: string): number {
  const [red, green, blue] = linear(hex);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function linear(hex: string): Triple {
  return parseHex(hex).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as Triple;
}

function lab(hex: string, seen: Deficiency): Triple {
  const plain = linear(hex);
  const [r, g, b] = SEEN[seen].map((row) =>
    Math.min(1, Math.max(0, row[0] * plain[0] + row[1] * plain[1] + row[2] * plain[2])),
  ) as Triple;
  const f = (share: number): number => (share > 0.008856 ? Math.cbrt(share) : 7.787 * share + 16 / 116);
  const x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
  const y = f(0.2126729 * r + 0.7151522 * g + 0.072175 * b);
  const z = f((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const RADIANS = Math.PI / 180;

function ciede2000([l1, a1, b1]: Triple, [l2, a2, b2]: Triple): number {
  const mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const stretch = 1.5 - 0.5 * Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7));
  const chroma1 = Math.hypot(a1 * stretch, b1);
  const chroma2 = Math.hypot(a2 * stretch, b2);
  const hue1 = hue(a1 * stretch, b1);
  const hue2 = hue(a2 * stretch, b2);
  const grey = chroma1 * chroma2 === 0;
  const turn = grey ? 0 : ((((hue2 - hue1 + 180) % 360) + 360) % 360) - 180;
  const hueStep = 2 * Math.sqrt(chroma1 * chroma2) * Math.sin((turn / 2) * RADIANS);
  const lightness = (l1 + l2) / 2;
  const chroma = (chroma1 + chroma2) / 2;
  const middle = grey ? hue1 + hue2 : (((hue1 + turn / 2) % 360) + 360) % 360;
  const cosine = (factor: number, shift: number) => Math.cos((factor * middle + shift) * RADIANS);
  const t = 1 - 0.17 * cosine(1, -30) + 0.24 * cosine(2, 0) + 0.32 * cosine(3, 6) - 0.2 * cosine(4, -63);
  const bend = (lightness - 50) ** 2;
  const dl = (l2 - l1) / (1 + (0.015 * bend) / Math.sqrt(20 + bend));
  const dc = (chroma2 - chroma1) / (1 + 0.045 * chroma);
  const dh = hueStep / (1 + 0.015 * chroma * t);
  const blue = 30 * Math.exp(-(((middle - 275) / 25) ** 2));
  const rotation = -Math.sin(2 * blue * RADIANS) * 2 * Math.sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7));
  return Math.sqrt(dl ** 2 + dc ** 2 + dh ** 2 + rotation * dc * dh);
}

function hue(a: number, b: number): number {
  return ((Math.atan2(b, a) / RADIANS) % 360 + 360) % 360;
}
