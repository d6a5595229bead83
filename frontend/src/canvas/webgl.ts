/** Whether the browser can draw an interactive map. Asking takes as long as beginning one. */
export function hasWebGL(): boolean {
  return document.createElement("canvas").getContext("webgl2") !== null;
}

/** Whether the browser may be able to: it knows of WebGL, which can still be switched off. */
export function knowsWebGL(): boolean {
  return "WebGL2RenderingContext" in globalThis;
}
