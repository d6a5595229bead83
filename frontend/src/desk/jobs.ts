/** Progress of running jobs; the page is reloaded when one ends. */

interface Progress {
  state: string;
  active: boolean;
  step: string;
  detail: string;
  percent: number;
  segments: number[];
}

const PAUSE = 1000;
const LONGEST_PAUSE = 10_000;

export function followJobs(page: Document): void {
  for (const place of page.querySelectorAll<HTMLElement>('[data-job][data-active="1"]')) {
    void follow(place, PAUSE);
  }
}

async function follow(place: HTMLElement, pause: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, pause));
  if (document.hidden) {
    await new Promise((resolve) =>
      document.addEventListener("visibilitychange", resolve, { once: true }),
    );
  }
  const progress = await ask(place.dataset["job"] ?? "");
  if (!progress) return follow(place, Math.min(pause * 2, LONGEST_PAUSE));
  if (!progress.active) {
    location.reload();
    return;
  }
  show(place, progress);
  if (progress.state !== "queued") forgetWaiting(place);
  return follow(place, PAUSE);
}

/** The job's progress; undefined while the server cannot be reached. */
async function ask(address: string): Promise<Progress | undefined> {
  try {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    return answer.ok ? ((await answer.json()) as Progress) : undefined;
  } catch {
    return undefined;
  }
}

export function show(place: HTMLElement, progress: Progress): void {
  const bar = place.querySelector<HTMLElement>("[role=progressbar]");
  bar?.setAttribute("aria-valuenow", String(progress.percent));
  bar?.setAttribute("aria-label", progress.step);
  bar?.querySelectorAll("i").forEach((segment, index) => {
    const width = progress.segments[index] ?? 0;
    segment.classList.toggle("done", width === 100);
    segment.querySelector("b")?.setAttribute("style", `width:${width}%`);
  });
  write(place, "[data-step]", progress.step);
  write(place, "[data-detail]", progress.detail ? `, ${progress.detail}` : "");
  write(place, "[data-percent]", progress.percent ? `${progress.percent} %` : "");
}

/** Removes what holds for waiting jobs only, such as the button that cancels one. */
function forgetWaiting(place: HTMLElement): void {
  for (const part of place.parentElement?.querySelectorAll("[data-while-queued]") ?? []) {
    part.remove();
  }
}

function write(place: HTMLElement, selector: string, text: string): void {
  const element = place.querySelector(selector);
  if (element) element.textContent = text;
}
