/**
 * Waits until the browser has shown what was drawn. Without a graphics card that takes a while, for
 * which whoever asks something of the graphics processor would keep the page waiting.
 */
export async function shown(): Promise<void> {
  for (let frame = 0; frame < 2; frame++) await nextFrame();
  await pause();
}

/** Waits for a frame of a page that is seen. In a tab behind others there is none, and nothing to wait for. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) => {
    if (document.hidden) return resolve();
    requestAnimationFrame(() => resolve());
    document.addEventListener("visibilitychange", () => resolve(), { once: true });
  });
}

/** Lets the browser answer its reader, and draw, before the next part of a long work. */
export function pause(): Promise<void> {
  const { scheduler } = globalThis as { scheduler?: { yield?: () => Promise<void> } };
  return scheduler?.yield?.() ?? new Promise((resolve) => setTimeout(resolve));
}
