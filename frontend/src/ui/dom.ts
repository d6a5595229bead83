/** Creates an element with classes and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const created = document.createElement(tag);
  if (className) created.className = className;
  created.append(...children);
  return created;
}

/** Returns an element that the script cannot work without. Throws where it is missing. */
export function need<T extends Element>(root: ParentNode, selector: string): T {
  const match = root.querySelector<T>(selector);
  if (!match) throw new Error(`This page has no ${selector}.`);
  return match;
}
