import { describe, expect, it } from "vitest";
import { LONGEST_CLASS, problemsOf } from "./structure.mjs";

const empty = "export {};";

describe("the rules for rooms", () => {
  it("allow imports within a room and of rooms before it", () => {
    expect(problemsOf({
      "ui/dom.ts": empty,
      "map/legend.ts": 'import "../ui/dom"; import "./stage"; import "maplibre-gl";',
      "map/stage.ts": 'import "./style.css"; import x from "../ui/tokens.css?raw";',
      "layers/map-layer.ts": empty,
      "layers/zones/zones.ts": 'import "../map-layer";',
      "layers/registry.ts": 'import("./zones/zones");',
    })).toEqual([]);
  });

  it.each([
    ["import", 'import { a } from "../map/a";'],
    ["import of a type", 'import type { A } from "../map/a";'],
    ["export", 'export * from "../map/a";'],
    ["import when needed", 'const a = () => import("../map/a");'],
    ["type of a module", 'type A = typeof import("../map/a");'],
  ])("refuse an %s of a later room", (_, text) => {
    const problems = problemsOf({ "map/a.ts": empty, "ui/b.ts": text });
    expect(problems).toEqual(["ui/b.ts imports map/a.ts: ui/ may not import map/."]);
  });

  it.each([
    ["planner/a.ts", "release/b", "planner/ may not import release/"],
    ["layers/zones/a.ts", "layers/points/b", "layers/zones/ may not import layers/points/"],
    ["layers/zones/a.ts", "layers/registry", "layers/zones/ may not import layers/registry.ts"],
    ["layers/a.ts", "layers/zones/b", "layers/ may not import layers/zones/"],
  ])("keep %s from importing %s", (path, target, words) => {
    const up = "../".repeat(path.split("/").length - 1);
    const [problem] = problemsOf({ [path]: `import "${up}${target}";`, [`${target}.ts`]: empty });
    expect(problem).toContain(words);
  });

  it("refuse circles, within a room too and of types too", () => {
    const problems = problemsOf({
      "map/a.ts": 'import { b } from "./b";',
      "map/b.ts": 'import type { C } from "./c";',
      "map/c.ts": 'type A = typeof import("./a");',
      "map/d.ts": 'import "./a";',
    });
    expect(problems).toEqual(["Circle: map/a.ts -> map/b.ts -> map/c.ts -> map/a.ts."]);
  });

  it("refuse files in no room, and imports of nothing", () => {
    expect(problemsOf({ "helpers/a.ts": empty })[0]).toContain("no room");
    expect(() => problemsOf({ "ui/a.ts": 'import "./gone";' })).toThrow("not there");
  });
});

describe("the rule for classes", () => {
  const lines = (count) => `class Long {\n${"  // line\n".repeat(count - 2)}}`;

  it("allows so many lines and no more", () => {
    expect(problemsOf({ "ui/a.ts": lines(LONGEST_CLASS) })).toEqual([]);
    expect(problemsOf({ "ui/a.ts": lines(LONGEST_CLASS + 1) })).toEqual([expect.stringContaining("class Long has")]);
    expect(problemsOf({ "ui/a.ts": `export const A = ${lines(LONGEST_CLASS + 1)}` })).toHaveLength(1);
  });
});
