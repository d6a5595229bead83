/** Shows a message over the map, where the page has a place for one. */
export function showNotice(frame: HTMLElement, message: string): void {
  const notice = frame.querySelector<HTMLElement>(".map-notice");
  if (!notice) return;
  notice.textContent = message;
  notice.hidden = false;
}
