/** The even part of the total reward. */
import type { Task } from "./tasks";

/** The reward of each task without one of its own, at equal parts; null where there is none. */
export function evenReward(tasks: readonly Task[], total: number): number | null {
  const fixed = tasks.map(({ reward }) => reward).filter((reward) => reward !== null);
  const free = tasks.length - fixed.length;
  if (free === 0) return null;
  const left = total - fixed.reduce<number>((sum, reward) => sum + (Number(reward) || 0), 0);
  return left > 0 ? Number((left / free).toPrecision(3)) : null;
}
