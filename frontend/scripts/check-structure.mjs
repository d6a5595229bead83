// Checks src/ against the rules of structure.mjs; part of `npm run check`.
import { readdirSync, readFileSync } from "node:fs";
import { problemsOf } from "./structure.mjs";

const root = new URL("../src/", import.meta.url);
const paths = readdirSync(root, { recursive: true })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"));
const problems = problemsOf(
  Object.fromEntries(paths.map((path) => [path, readFileSync(new URL(path, root), "utf8")])),
);
for (const problem of problems) console.error(problem);
console.log(`${paths.length} files, ${problems.length} problems of structure`);
process.exit(problems.length ? 1 : 0);
