/** Figures and pictures of the step of privacy and cost, which follow the choices. */
import { installPictures } from "./picture";

const PAUSE = 200;

export function installCost(page: Document): void {
  const form = page.querySelector<HTMLFormElement>("form[data-cost]");
  if (!form) return;
  let timer = 0;
  let asking: AbortController | undefined;
  const refresh = async (): Promise<void> => {
    asking?.abort();
    asking = new AbortController();
    const fields = new URLSearchParams(new FormData(form) as unknown as Record<string, string>);
    const answer = await fetch(`${location.pathname}?${fields}`, { signal: asking.signal }).catch(() => null);
    if (answer?.ok) renew(page, new DOMParser().parseFromString(await answer.text(), "text/html"));
  };
  form.addEventListener("input", ({ target }) => {
    excludeOthers(form, (target as HTMLInputElement).name);
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void refresh(), PAUSE);
  });
}

/** Offered numbers, and the field for one of the owner's own. */
const OWN_NUMBER = { total: "other", places: "other_places" };

/** A number of one's own and one of those offered exclude each other. */
function excludeOthers(form: HTMLFormElement, changed: string): void {
  for (const [offered, own] of Object.entries(OWN_NUMBER)) {
    const typed = form.querySelector<HTMLInputElement>(`[name=${own}]`);
    if (changed === offered && typed) typed.value = "";
    if (changed !== own) continue;
    form.querySelectorAll<HTMLInputElement>(`[name=${offered}]`).forEach((each) => (each.checked = false));
  }
}

/** Replaces the parts that depend on the choices, but not the fields, so that the focus stays. */
function renew(page: Document, answer: Document): void {
  for (const part of page.querySelectorAll<HTMLElement>("[data-live]")) {
    const next = answer.querySelector(`[data-live="${part.dataset.live}"]`);
    if (!next || next.innerHTML === part.dataset.source) continue;
    part.dataset.source = next.innerHTML;
    part.innerHTML = next.innerHTML;
    installPictures(part);
  }
}
