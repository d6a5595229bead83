/**
 * Waits until the browser has shown what was drawn. Without a graphics card that takes a while, for
 * which whoever asks something of the graphics processor would keep the page waiting.
 */
export async function shown(): Promise<void> {
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  await pause();
}

/** Lets the browser answer its reader, and draw, before the next part of a long work. */
export function pause(): Promise<void> {
  const { scheduler } = globalThis as { scheduler?: { yield?: () => Promise<void> } };
  return scheduler?.yield?.() ?? new Promise((resolve) => setTimeout(resolve));
}
