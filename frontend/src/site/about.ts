// Entry of the page on privacy: an invented map, drawn again and again with and without "you".
import { classOf } from "../colour/classes";
import { COLUMNS, margin, noise, ROWS, threshold, town, uniform, YOURS } from "../data/invented-town";
import { choices } from "../ui/controls";
import { need } from "../ui/dom";
import { formatNumber } from "../ui/format";
import { t } from "../ui/translate";

const EDGES = [1, 8, 20, 40, 70, 110, 160];
const EPSILONS = [0.1, 0.2, 0.5, 1, 2, 4];

function install(picture: HTMLElement): void {
  const cells = need<HTMLElement>(picture, ".cells");
  const slider = need<HTMLInputElement>(picture, "input[type=range]");
  const words = need<HTMLElement>(picture, "[role=status]");
  const truth = town();
  let present = true;
  cells.style.setProperty("--columns", String(COLUMNS));
  cells.append(...Array.from({ length: COLUMNS * ROWS }, () => document.createElement("i")));
  const draw = (): void => {
    const epsilon = EPSILONS[Number(slider.value)]!;
    const noisy = truth.map((count, cell) =>
      count + (present && cell === YOURS ? 1 : 0) + noise(epsilon, uniform),
    );
    noisy.forEach((count, cell) => {
      const look = count < threshold(epsilon) ? "hatch" : `step-${classOf(count, EDGES)}`;
      cells.children[cell]!.className = `${look}${cell === YOURS ? " yours" : ""}`;
    });
    need(picture, "output").textContent = String(epsilon);
    words.textContent = t(
      "Your square shows {count} ± {margin}. From any such picture, a guess whether you were there is right at most {right} times in 100.",
      { count: formatNumber(noisy[YOURS]!), margin: margin(epsilon), right: rightGuesses(epsilon) },
    );
  };
  choices(need(picture, "[data-choose=you]"), "with", (you) => {
    present = you === "with";
    draw();
  });
  slider.addEventListener("input", draw);
  need(picture, "[data-again]").addEventListener("click", draw);
  picture.hidden = false;
  draw();
}

/** How often in 100 a guess about somebody's presence is right at most, rounded up. */
function rightGuesses(epsilon: number): number {
  return Math.ceil(100 / (1 + Math.exp(-epsilon)));
}

const picture = document.querySelector<HTMLElement>("#try");
if (picture) install(picture);
