/**
 * WebGL layer of the heatmap: one texel for each cell, coloured in the fragment shader.
 *
 * The map is never turned or tilted, so a pixel's cell follows by one subtraction and one
 * division of numbers that are computed here in double precision. Every pixel belongs to exactly one cell, the
 * hatch stays the same size at every zoom, and a change of theme changes only uniforms.
 */
import type { Geometry } from "geojson";
import type { CustomLayerInterface, Map as MapLibre } from "maplibre-gl";
import { AT_SEA, HATCH_GLSL } from "../../canvas/hatch";
import { forgetProgram, isLinked } from "../../canvas/linking";
import { shapePath } from "../../canvas/paths";
import { STEPS } from "../../colour/classes";
import { type Palette, parseHex } from "../../colour/ramps";
import type { Grid } from "../../geometry/grid";
import { toDegrees } from "../../geometry/mercator";
import { type CellImage, GAP_FROM, HATCHED, LOWER_EDGE, NOTHING, RIGHT_EDGE } from "./cell-image";

/** Width of the land mask in pixels. */
const MASK = 1024;

const VERTEX = `#version 300 es
in vec2 corner;
void main() { gl_Position = vec4(corner, 0.0, 1.0); }`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
uniform usampler2D cells;
uniform sampler2D land;
uniform vec2 origin;      // device pixels from the lower left corner to the grid's north-west one
uniform float cellSize;   // device pixels
uniform float pixelRatio;
uniform vec3 ramp[${STEPS}];
uniform vec3 hatch;
uniform float opacity;
out vec4 colour;
${HATCH_GLSL}
void main() {
  vec2 position = vec2(gl_FragCoord.x - origin.x, origin.y - gl_FragCoord.y);
  ivec2 cell = ivec2(floor(position / cellSize));
  ivec2 size = textureSize(cells, 0);
  if (any(lessThan(cell, ivec2(0))) || any(greaterThanEqual(cell, size))) discard;
  uvec4 texel = texelFetch(cells, cell, 0);
  if (texel.r == ${NOTHING}u) discard;
  if (texel.r == ${HATCHED}u) {
    // Lines follow the map but start on whole pixels, so that they are equally sharp everywhere.
    vec2 steady = vec2(gl_FragCoord.x - round(origin.x), round(origin.y) - gl_FragCoord.y);
    float cover = hatchCover(steady / pixelRatio, pixelRatio);
    cover *= mix(${AT_SEA.toFixed(2)}, 1.0, texture(land, position / cellSize / vec2(size)).a);
    colour = vec4(hatch, 1.0) * cover * opacity;
    return;
  }
  ivec2 next = ivec2(floor((position + 1.0) / cellSize));
  bvec2 last = notEqual(next, cell);
  vec2 extent = vec2(texel.ba) * cellSize / pixelRatio;
  if (last.x && (texel.g & ${RIGHT_EDGE}u) != 0u && extent.x > ${GAP_FROM.toFixed(1)}) discard;
  if (last.y && (texel.g & ${LOWER_EDGE}u) != 0u && extent.y > ${GAP_FROM.toFixed(1)}) discard;
  colour = vec4(ramp[texel.r], 1.0) * opacity;
}`;

type Program = {
  program: WebGLProgram;
  corners: WebGLVertexArrayObject;
  texture: WebGLTexture;
  land: WebGLTexture;
  uniform: (name: string) => WebGLUniformLocation | null;
};

export class HeatmapLayer implements CustomLayerInterface {
  readonly id = "heatmap";
  readonly type = "custom";
  readonly renderingMode = "2d";
  private map: MapLibre | null = null;
  private drawn: Program | null = null;
  private stale = true;

  constructor(
    private readonly grid: Grid,
    private readonly land: Geometry,
    private image: CellImage,
    private palette: Palette,
    private opacity: number,
  ) {}

  show(image: CellImage, palette: Palette, opacity: number): void {
    this.stale ||= image !== this.image;
    this.image = image;
    this.palette = palette;
    this.opacity = opacity;
    this.map?.triggerRepaint();
  }

  onAdd(map: MapLibre, gl: WebGL2RenderingContext): void {
    this.map = map;
    this.drawn = build(gl, landMask(this.grid, this.land));
    this.stale = true;
    // No frame is drawn before the program is linked, so that what was seen stays until the cells are.
    this.canDraw();
  }

  onRemove(map: MapLibre, gl: WebGL2RenderingContext): void {
    if (!this.drawn) return;
    forgetProgram(map, this.drawn.program);
    gl.deleteProgram(this.drawn.program);
    gl.deleteTexture(this.drawn.texture);
    gl.deleteTexture(this.drawn.land);
    gl.deleteVertexArray(this.drawn.corners);
    this.drawn = null;
  }

  render(gl: WebGL2RenderingContext): void {
    if (!this.map || !this.drawn) return;
    if (!this.canDraw()) return;
    const { program, corners, texture, land } = this.drawn;
    gl.useProgram(program);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, land);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    if (this.stale) this.upload(gl);
    this.setUniforms(gl, this.map, this.drawn);
    gl.bindVertexArray(corners);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.bindVertexArray(null);
  }

  private canDraw(): boolean {
    const { program, uniform } = this.drawn!;
    return isLinked(this.map!, program, () => uniform("cells"));
  }

  private upload(gl: WebGL2RenderingContext): void {
    const { columns, rows, pixels } = this.image;
    plainUploads(gl);
    gl.texImage2D(
      gl.TEXTURE_2D, 0, gl.RGBA8UI, columns, rows, 0, gl.RGBA_INTEGER, gl.UNSIGNED_BYTE, pixels,
    );
    this.stale = false;
  }

  private setUniforms(gl: WebGL2RenderingContext, map: MapLibre, drawn: Program): void {
    const { uniform } = drawn;
    const canvas = map.getCanvas();
    const ratio = canvas.width / canvas.clientWidth;
    const { corner, cellSize } = placeGrid(map, this.grid);
    gl.uniform2f(uniform("origin"), corner.x * ratio, canvas.height - corner.y * ratio);
    gl.uniform1f(uniform("cellSize"), cellSize * ratio);
    gl.uniform1f(uniform("pixelRatio"), ratio);
    const unit = (hex: string): number[] => parseHex(hex).map((part) => part / 255);
    gl.uniform3fv(uniform("ramp"), this.palette.ramp.flatMap(unit));
    gl.uniform3fv(uniform("hatch"), unit(this.palette.hatch));
    gl.uniform1f(uniform("opacity"), this.opacity);
    gl.uniform1i(uniform("cells"), 0);
    gl.uniform1i(uniform("land"), 1);
  }
}

/** The grid's north-west corner and the width of a cell, in CSS pixels of the map. */
function placeGrid(
  map: MapLibre,
  grid: Grid,
): { corner: { x: number; y: number }; cellSize: number } {
  const at = (x: number, y: number) => {
    const { longitude, latitude } = toDegrees(x, y);
    return map.project([longitude, latitude]);
  };
  const corner = at(grid.west, grid.north);
  const opposite = at(grid.west + grid.columns * grid.cell, grid.north);
  return { corner, cellSize: (opposite.x - corner.x) / grid.columns };
}

/** Mask of the land in the grid's frame, opaque on land and finer than the outlines. */
function landMask(grid: Grid, land: Geometry): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = MASK;
  canvas.height = Math.round((MASK * grid.rows) / grid.columns);
  const perPixel = (grid.cell * grid.columns) / MASK;
  const corner = { west: grid.west, north: grid.north, perPixel };
  // It is copied at once: drawn by the graphics processor, it would have to be waited for.
  canvas.getContext("2d", { willReadFrequently: true })!.fill(shapePath(land, corner), "evenodd");
  return canvas;
}

function build(gl: WebGL2RenderingContext, mask: HTMLCanvasElement): Program {
  const program = gl.createProgram();
  const shaders = [
    [gl.VERTEX_SHADER, VERTEX] as const,
    [gl.FRAGMENT_SHADER, FRAGMENT] as const,
  ].map(([kind, source]) => {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    return shader;
  });
  gl.bindAttribLocation(program, 0, "corner");
  gl.linkProgram(program);
  const uniforms = new Map<string, WebGLUniformLocation | null>();
  return {
    program,
    corners: quad(gl),
    texture: texture(gl, gl.NEAREST),
    land: maskTexture(gl, mask),
    uniform: (name) => {
      // Whoever asks waits for the graphics processor: so not before the layer is drawn.
      if (!uniforms.size) check(gl, program, shaders);
      if (!uniforms.has(name)) uniforms.set(name, gl.getUniformLocation(program, name));
      return uniforms.get(name)!;
    },
  };
}

/** Throws the compiler's message if the program could not be linked. */
function check(gl: WebGL2RenderingContext, program: WebGLProgram, shaders: readonly WebGLShader[]): void {
  if (gl.getProgramParameter(program, gl.LINK_STATUS) || gl.isContextLost()) return;
  const messages = shaders.map((shader) => gl.getShaderInfoLog(shader));
  throw new Error(messages.find(Boolean) ?? "the heatmap's shader does not compile");
}

function quad(gl: WebGL2RenderingContext): WebGLVertexArrayObject {
  const corners = gl.createVertexArray();
  gl.bindVertexArray(corners);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]), gl.STATIC_DRAW);
  gl.enableVertexAttribArray(0);
  gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
  gl.bindVertexArray(null);
  return corners;
}

function maskTexture(gl: WebGL2RenderingContext, mask: HTMLCanvasElement): WebGLTexture {
  const uploaded = texture(gl, gl.LINEAR);
  plainUploads(gl);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, mask);
  return uploaded;
}

/** Resets upload settings that MapLibre leaves behind: rows from the top, bytes unchanged. */
function plainUploads(gl: WebGL2RenderingContext): void {
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  gl.pixelStorei(gl.UNPACK_FLIP_Y_WEBGL, false);
  gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
}

function texture(gl: WebGL2RenderingContext, filter: number): WebGLTexture {
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, filter);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, filter);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  return texture;
}
