import type { Map as MapLibre } from "maplibre-gl";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { linkAside } from "./linking";

/** A context that links programs at once, unless `fails` is set. */
class Context {
  SYNC_GPU_COMMANDS_COMPLETE = 1;
  SYNC_STATUS = 2;
  SIGNALED = 3;
  fails = false;
  createProgram(): object { return {}; }
  createShader(): object { return {}; }
  shaderSource(): void {}
  compileShader(): void {}
  attachShader(): void {}
  linkProgram(): void {}
  fenceSync(): object { return {}; }
  flush(): void {}
  getSyncParameter(): number { return this.SIGNALED; }
  deleteSync(): void {}
  isContextLost(): boolean { return false; }
  getExtension(): null { return null; }
  getProgramParameter(): boolean { return !this.fails; }
}

/** What MapLibre makes of a program: it is built, linked and then asked about in one go. */
class Programs {
  private readonly kept = new Map<string, object>();
  constructor(private readonly gl: Context) {}
  getProgram(variant: { name: string }): object {
    const known = this.kept.get(variant.name);
    if (known) return known;
    const { gl } = this;
    gl.createProgram();
    gl.linkProgram();
    if (!gl.getProgramParameter()) throw new Error(`${variant.name} failed to link`);
    const program = { name: variant.name };
    this.kept.set(variant.name, program);
    return program;
  }
}

type Asked = { getProgram(variant: unknown): { name?: string } };

function mapOf(gl: Context) {
  const listeners = new Map<string, () => void>();
  const map = {
    repaint: false,
    painter: { context: { gl }, programCache: new Programs(gl) as unknown as Asked },
    on: (event: string, then: () => void) => listeners.set(event, then),
    _render: () => map,
    triggerRepaint: () => {},
  };
  linkAside(map as unknown as MapLibre);
  const ask = (name: string): string | undefined =>
    map.painter.programCache.getProgram({ name, projectionShaderVariant: { name: "" }, defines: [] }).name;
  return { map, ask, tell: (event: string) => listeners.get(event)!() };
}

describe("linking aside", () => {
  beforeEach(() => void vi.useFakeTimers());

  it("gives a program once it is linked", async () => {
    const { map, ask } = mapOf(new Context());
    expect(ask("fill")).toBeUndefined();
    expect(map.repaint).toBe(true);
    await vi.advanceTimersByTimeAsync(1000);
    expect(ask("fill")).toBe("fill");
    expect(map.repaint).toBe(false);
  });

  it("goes on after MapLibre has restarted its workers, which keeps the programs", async () => {
    const { map, ask, tell } = mapOf(new Context());
    ask("fill");
    await vi.advanceTimersByTimeAsync(1000);
    tell("webglcontextlost");
    tell("webglcontextrestored");
    expect(ask("fill")).toBe("fill");
    expect(ask("line")).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1000);
    expect(ask("line")).toBe("line");
    expect(map.repaint).toBe(false);
  });

  it("asks for many programs only while the graphics processor is known to do nothing else", async () => {
    const gl = new Context();
    const { ask } = mapOf(gl);
    const fence = vi.spyOn(gl, "fenceSync");
    const answer = vi.spyOn(gl, "getProgramParameter").mockImplementation(() => {
      vi.setSystemTime(Date.now() + 20);
      return true;
    });
    const now = vi.spyOn(performance, "now").mockImplementation(() => Date.now());
    for (const name of ["fill", "line", "symbol"]) ask(name);
    await vi.advanceTimersByTimeAsync(10);
    expect(answer).toHaveBeenCalledTimes(2);
    expect(ask("symbol")).toBeUndefined();
    await vi.advanceTimersByTimeAsync(10);
    expect(fence).toHaveBeenCalledTimes(2);
    expect(ask("symbol")).toBe("symbol");
    now.mockRestore();
  });

  it("leaves a program that cannot be linked to MapLibre, whose error is then seen", async () => {
    const gl = new Context();
    gl.fails = true;
    const { map, ask } = mapOf(gl);
    expect(ask("fill")).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1000);
    expect(map.repaint).toBe(false);
    expect(() => ask("fill")).toThrow("fill failed to link");
  });

  it("waits for no graphics processor longer than ten seconds", async () => {
    const gl = new Context();
    gl.getSyncParameter = () => 0;
    const { map, ask } = mapOf(gl);
    ask("fill");
    await vi.advanceTimersByTimeAsync(9000);
    expect(map.repaint).toBe(true);
    await vi.advanceTimersByTimeAsync(2000);
    expect(ask("fill")).toBe("fill");
  });
});
