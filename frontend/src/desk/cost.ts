/** Forms of requests: the figures, pictures and fields that follow the choices. */
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
    fields.delete("csrfmiddlewaretoken");
    const answer = await fetch(`${location.pathname}?${fields}`, { signal: asking.signal }).catch(() => null);
    // A page with errors has them at its fields.
    if (answer && (answer.ok || answer.status === 422))
      renew(page, new DOMParser().parseFromString(await answer.text(), "text/html"));
  };
  form.addEventListener("input", ({ target }) => {
    excludeOthers(form, target as HTMLInputElement);
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void refresh(), PAUSE);
  });
}

/** A number of one's own and those offered exclude each other, and so do an epsilon and a detail. */
function excludeOthers(form: HTMLFormElement, { name, type }: HTMLInputElement): void {
  const offered = name === "epsilon" ? "detail" : name;
  for (const each of form.querySelectorAll<HTMLInputElement>("input")) {
    if (type === "text" && each.type === "radio" && each.name === offered) each.checked = false;
    const follows = each.name === name || (name === "detail" && "usual" in each.dataset);
    if (type === "radio" && each.type === "text" && follows) each.value = "";
  }
}

/** Replaces the parts that depend on the choices, but not the fields, so that the focus stays. */
function renew(page: Document, answer: Document): void {
  for (const part of page.querySelectorAll<HTMLElement>("[data-live]")) {
    const next = answer.querySelector<HTMLElement>(`[data-live="${part.dataset.live}"]`);
    // Fields are replaced only if they belong to another method.
    if (!next || next.innerHTML === part.dataset.source || (part.dataset.of && part.dataset.of === next.dataset.of))
      continue;
    if (next.dataset.of) part.dataset.of = next.dataset.of;
    part.dataset.source = next.innerHTML;
    part.innerHTML = next.innerHTML;
    installPictures(part);
  }
}
