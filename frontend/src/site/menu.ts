/** Folds the header's navigation behind its button on narrow screens (see header.css). */
export function installMenu(page: Document): void {
  const button = page.querySelector<HTMLButtonElement>(".top .menu");
  const nav = page.querySelector<HTMLElement>(".top nav");
  if (!button || !nav) return;
  page.documentElement.classList.add("scripted");
  const set = (open: boolean): void => {
    nav.classList.toggle("open", open);
    button.setAttribute("aria-expanded", String(open));
  };
  button.addEventListener("click", () => set(!nav.classList.contains("open")));
  page.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !nav.classList.contains("open")) return;
    set(false);
    button.focus();
  });
}
