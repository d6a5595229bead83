// Rules for the rooms of src/: imports go one way, none go in circles, and classes stay short.
import { posix } from "node:path";
import { parseSync } from "vite";

// A file belongs to the entry that its path begins with. It may import files of its own entry and
// of the lines above. Entries on one line do not import each other; "*" is any single folder.
const ORDER = [
  ["ui/"],
  ["geometry/"],
  ["colour/"],
  ["data/"],
  ["canvas/"],
  ["layers/"],
  ["layers/*/"],
  ["layers/registry.ts"],
  ["map/"],
  ["release/", "planner/", "desk/", "site/"],
  ["series/"],
];
export const LONGEST_CLASS = 200;

/** What breaks a rule, in words. `sources` holds the text of each file by its path below src/. */
export function problemsOf(sources) {
  const files = new Map(Object.entries(sources).map(([path, text]) => [path, read(path, text, sources)]));
  return [
    ...[...files].flatMap(([path, { imports }]) => wrongWays(path, imports)),
    ...circles(files),
    ...[...files].flatMap(([path, { classes }]) => longClasses(path, classes)),
  ];
}

function read(path, text, sources) {
  const { program, errors } = parseSync(path, text);
  if (errors.length) throw new Error(`${path}: ${errors[0].message}`);
  const found = { imports: new Set(), classes: [] };
  walk(program, (node) => {
    if (node.type === "ClassDeclaration" || node.type === "ClassExpression") {
      const lines = text.slice(node.start, node.end).split("\n").length;
      found.classes.push({ name: node.id?.name ?? "(unnamed)", lines });
    }
    const specifier = node.source?.value;
    if (typeof specifier !== "string" || !specifier.startsWith(".")) return;
    const target = `${posix.join(posix.dirname(path), specifier)}.ts`;
    if (target in sources) found.imports.add(target);
    else if (!/\.css(\?raw)?$/.test(specifier)) throw new Error(`${path} imports ${specifier}, which is not there`);
  });
  return found;
}

function walk(node, visit) {
  if (Array.isArray(node)) node.forEach((each) => walk(each, visit));
  else if (node && typeof node === "object") {
    if (typeof node.type === "string") visit(node);
    Object.values(node).forEach((each) => walk(each, visit));
  }
}

/** The line of ORDER that a path belongs to, and its room there. */
function roomOf(path) {
  for (const [line, entries] of [...ORDER.entries()].reverse()) {
    for (const entry of entries) {
      const begins = new RegExp(`^${entry.replace("*", "[^/]+")}`).exec(path);
      if (begins) return { line, room: begins[0] };
    }
  }
  return null;
}

function wrongWays(path, imports) {
  const own = roomOf(path);
  if (!own) return [`${path} is in no room; name its folder in scripts/structure.mjs.`];
  return [...imports].flatMap((target) => {
    const other = roomOf(target);
    const allowed = !other || other.line < own.line || other.room === own.room;
    return allowed ? [] : [`${path} imports ${target}: ${own.room} may not import ${other.room}.`];
  });
}

/** Each circle of imports once, found by walking in depth. */
function circles(files) {
  const problems = [];
  const done = new Set();
  const visit = (path, trail) => {
    const at = trail.indexOf(path);
    if (at >= 0) return void problems.push(`Circle: ${[...trail.slice(at), path].join(" -> ")}.`);
    if (done.has(path)) return;
    for (const target of files.get(path).imports) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of files.keys()) visit(path, []);
  return problems;
}

function longClasses(path, classes) {
  return classes
    .filter(({ lines }) => lines > LONGEST_CLASS)
    .map(({ name, lines }) => `${path}: class ${name} has ${lines} lines, of ${LONGEST_CLASS} allowed.`);
}
