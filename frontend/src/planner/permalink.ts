/** Tasks and settings in the address, such as `#target=90&tasks=18.05,59.3,,Quay;18.1,59.2,7,Ring`. */
import type { Fields } from "./settings";
import { MOST_LINKED, type Task, taskOf } from "./tasks";

export function formatPlanLink(tasks: readonly Task[], fields: Fields): string {
  const parts = Object.entries(fields).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  if (tasks.length <= MOST_LINKED) {
    const listed = tasks.map(({ longitude, latitude, reward, name }) =>
      [longitude?.toFixed(5), latitude?.toFixed(5), encodeURIComponent(reward ?? ""), encodeURIComponent(name)].join(","),
    );
    if (listed.length) parts.push(`tasks=${listed.join(";")}`);
  }
  return parts.length ? `#${parts.join("&")}` : "";
}

export function parsePlanLink(hash: string): { tasks: Task[]; fields: Fields } {
  const fields: Fields = {};
  let tasks: Task[] = [];
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [name, value = ""] = part.split(/=(.*)/s);
    if (name === "tasks") {
      const listed = value.split(";").map((each) => each.split(","));
      tasks = listed.map(([x, y, reward, text]) => taskOf(x, y, decoded(text ?? ""), decoded(reward ?? "")));
    } else if (name) fields[name] = decoded(value);
  }
  return { tasks: tasks.slice(0, MOST_LINKED), fields };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
