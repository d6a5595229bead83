/** Lets the links to other languages keep the view that the address holds. */
export function installLanguages(page: Document): void {
  for (const link of page.querySelectorAll<HTMLAnchorElement>("nav a[hreflang]")) {
    link.addEventListener("click", () => {
      link.hash = location.hash;
    });
  }
}
