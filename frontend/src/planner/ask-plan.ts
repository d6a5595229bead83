/** Requests for plans: the last one wins. */
import type { Plan as PlanAnswer, Problem } from "../data/api";
import { t } from "../ui/translate";
import { type Plan, planOf } from "./plan";
import type { Settings } from "./settings";
import type { Task } from "./tasks";

/** The server rejected the request; the message is for the reader, `field` the setting at fault or "". */
export class Rejected extends Error {
  constructor(message: string, readonly field: string) {
    super(message);
  }
}

export type PlanRequest = { tasks: readonly Task[]; settings: Settings };

export class PlanClient {
  private running: AbortController | null = null;

  constructor(
    private readonly address: string,
    private readonly release: string,
  ) {}

  /** The plan, or null where another was asked for in the meantime. Throws Rejected. */
  async plan({ tasks, settings }: PlanRequest): Promise<Plan | null> {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    try {
      const response = await fetch(this.address, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ release: this.release, tasks, ...settings }),
        signal: running.signal,
      });
      if (!response.ok) throw await rejectedBy(response);
      return planOf(tasks, (await response.json()) as PlanAnswer);
    } catch (error) {
      if (running.signal.aborted) return null;
      throw error;
    }
  }
}

export async function rejectedBy(response: Response): Promise<Rejected> {
  const { detail, field } = (await response.json()) as Partial<Problem>;
  return new Rejected(detail ?? t("Planning failed ({status}).", { status: response.status }), field ?? "");
}
