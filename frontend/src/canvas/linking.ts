/**
 * Links a map's shaders while its page goes on. MapLibre asks whether a shader is linked as soon as it
 * has ordered that, and the page then waits until the graphics processor has worked off all that it was
 * told before, which takes long where the processor itself draws. So a frame leaves out what is drawn
 * by shaders that are new, and the next one comes when those are linked and the answer is at hand.
 */
import type { Map as MapLibre } from "maplibre-gl";

type Cache = MapLibre["painter"]["programCache"];
type Variant = Parameters<Cache["getProgram"]>[0];
type Program = ReturnType<Cache["getProgram"]>;
type GL = WebGL2RenderingContext;

/** Milliseconds between two looks at whether the graphics processor is done. */
const LOOK = 10;

/** Milliseconds for which answers are taken in one go, while the graphics processor has nothing else to do. */
const AT_HAND = 25;

/** Milliseconds after which no answer is expected any more, and the page waits as MapLibre does. */
const LONGEST = 10_000;

/** Stands in for a program that is not linked. */
const UNLINKED = { draw: () => {} } as unknown as Program;

/** Ends the constructor of a program that has ordered to be linked. */
class Ordered extends Error {}

const linkings = new WeakMap<MapLibre, Linking>();

/** Has the map link its shaders without anybody waiting for them. */
export function linkAside(map: MapLibre): void {
  linkings.set(map, new Linking(map));
}

/**
 * Whether a program of a layer of our own can be used; if not, the layer is drawn again once it can.
 * `ask` then asks for what the layer wants to know of it.
 */
export function isLinked(map: MapLibre, program: WebGLProgram, ask: () => void): boolean {
  return linkings.get(map)?.has(program, ask) ?? true;
}

/** Ends the wait for a program that is about to be deleted. */
export function forgetProgram(map: MapLibre, program: WebGLProgram): void {
  linkings.get(map)?.drop(program);
}

/** Draws the map at once and whole, even if the page has to wait. */
export function redrawWhole(map: MapLibre): void {
  const linking = linkings.get(map);
  if (linking) linking.insist(() => map.redraw());
  else map.redraw();
}

class Linking {
  private readonly gl: GL;
  private parallel: KHR_parallel_shader_compile | null = null;
  /** What there is to be done with each program once it is linked. */
  private readonly awaited = new Map<WebGLProgram, () => void>();
  private readonly linked = new WeakSet<WebGLProgram>();
  private readonly ordered = new Set<string>();
  private readonly cached = new Set<string>();
  private fence: WebGLSync | null = null;
  /** When the first of the awaited programs was ordered, by the page's clock. */
  private since = 0;
  private insisting = false;
  private adopted: Cache | null = null;
  private getProgram!: Cache["getProgram"];

  constructor(private readonly map: MapLibre) {
    this.gl = map.painter.context.gl;
    this.adopt();
    // A context that was lost comes back empty, and MapLibre begins anew with it. It says the same, but
    // keeps its programs, after it has restarted its workers.
    map.on("webglcontextlost", () => this.forget());
    map.on("webglcontextrestored", () => this.adopt());
    const render = map._render.bind(map);
    map._render = (time) => (this.awaited.size ? map : render(time));
  }

  private adopt(): void {
    const { programCache } = this.map.painter;
    this.parallel = this.gl.getExtension("KHR_parallel_shader_compile");
    if (programCache === this.adopted) return;
    this.adopted = programCache;
    this.getProgram = programCache.getProgram.bind(programCache);
    programCache.getProgram = (variant) => this.programOf(variant);
  }

  private forget(): void {
    for (const known of [this.awaited, this.ordered, this.cached]) known.clear();
    this.dropFence();
    this.map.repaint = false;
  }

  has(program: WebGLProgram, ask: () => void): boolean {
    if (this.insisting || this.linked.has(program)) return true;
    if (!this.awaited.has(program)) this.await(program, ask);
    return false;
  }

  drop(program: WebGLProgram): void {
    this.awaited.delete(program);
  }

  /** Draws with all shaders, whether the page has to wait for them or not. */
  insist(draw: () => void): void {
    for (const program of [...this.awaited.keys()]) this.take(program);
    this.release();
    const before = this.insisting;
    this.insisting = true;
    try {
      draw();
    } finally {
      this.insisting = before;
    }
  }

  private programOf(variant: Variant): Program {
    const { name, programConfiguration, projectionShaderVariant, showOverdrawInspector, useTerrain, defines } = variant;
    const key = [name, programConfiguration?.cacheKey, projectionShaderVariant.name, showOverdrawInspector, useTerrain, ...defines].join();
    if (this.insisting || this.cached.has(key)) return this.getProgram(variant);
    if (this.ordered.has(key)) return UNLINKED;
    this.ordered.add(key);
    return this.order(key, variant) ?? UNLINKED;
  }

  /**
   * Runs the constructor of MapLibre's program twice: until it orders the link, and later from there on.
   * Returns the program if MapLibre has it already.
   */
  private order(key: string, variant: Variant): Program | null {
    const { gl } = this;
    const { createProgram, createShader, linkProgram } = gl;
    const nothing = (): void => {};
    const shaders = new Map<number, WebGLShader>();
    let program: WebGLProgram | null = null;
    const begin: Partial<GL> = {
      createProgram: () => (program = createProgram.call(gl)),
      createShader: (kind) => {
        const shader = createShader.call(gl, kind)!;
        shaders.set(kind, shader);
        return shader;
      },
      linkProgram: (one) => {
        linkProgram.call(gl, one);
        throw new Ordered();
      },
    };
    const complete: Partial<GL> = {
      createProgram: () => program!,
      createShader: (kind) => shaders.get(kind)!,
      ...{ shaderSource: nothing, compileShader: nothing, attachShader: nothing, linkProgram: nothing },
    };
    try {
      const known = replacing(gl, begin, () => this.getProgram(variant));
      this.cached.add(key);
      return known;
    } catch (error) {
      if (!(error instanceof Ordered)) throw error;
    }
    this.await(program!, () => {
      this.cached.add(key);
      replacing(gl, complete, () => this.getProgram(variant));
    });
    return null;
  }

  private await(program: WebGLProgram, then: () => void): void {
    if (!this.awaited.size) this.since = performance.now();
    if (!this.map.repaint) this.lookSoon();
    this.awaited.set(program, then);
    // A map that wants another frame does not say that it is idle.
    this.map.repaint = true;
  }

  private lookSoon(): void {
    setTimeout(() => {
      try {
        this.look();
      } catch {
        this.giveUp();
      }
    }, LOOK);
  }

  /**
   * Lets MapLibre link all programs by itself from now on. One that failed is then linked again, and fails
   * where MapLibre tells of it.
   */
  private giveUp(): void {
    this.insisting = true;
    this.awaited.clear();
    this.release();
  }

  private look(): void {
    if (!this.awaited.size) return this.release();
    if (performance.now() - this.since > LONGEST) return this.giveUp();
    // The context of a map that was removed is lost, and never answers.
    if (this.gl.isContextLost()) return this.forget();
    const ready = this.done() ? [...this.awaited.keys()] : [];
    if (ready.length) this.dropFence();
    const until = performance.now() + AT_HAND;
    for (const program of ready) {
      this.take(program);
      // The last one leaves nothing that is awaited, and more may be from then on.
      if (!this.awaited.size) return this.release();
      // Meanwhile the page may have given the graphics processor a picture of itself to draw.
      if (performance.now() > until) break;
    }
    this.lookSoon();
  }

  /** Whether asking for the awaited programs takes no time, as the graphics processor has nothing else to do. */
  private done(): boolean {
    const { gl, parallel } = this;
    if (!this.fence) {
      this.fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
      gl.flush();
    }
    if (!this.fence || gl.getSyncParameter(this.fence, gl.SYNC_STATUS) !== gl.SIGNALED) return false;
    return !parallel || [...this.awaited.keys()].every((one) => gl.getProgramParameter(one, parallel.COMPLETION_STATUS_KHR));
  }

  private take(program: WebGLProgram): void {
    const then = this.awaited.get(program);
    this.linked.add(program);
    this.awaited.delete(program);
    then?.();
  }

  private dropFence(): void {
    this.gl.deleteSync(this.fence);
    this.fence = null;
  }

  private release(): void {
    this.dropFence();
    this.map.repaint = false;
    this.map.triggerRepaint();
  }
}

/** Does something while some functions of a context are others. */
function replacing<T>(gl: GL, others: Partial<GL>, work: () => T): T {
  Object.assign(gl, others);
  try {
    return work();
  } finally {
    for (const name of Object.keys(others)) delete gl[name as keyof Partial<GL>];
  }
}
