/** Whether the browser can draw an interactive map. */
export function hasWebGL(): boolean {
  return document.createElement("canvas").getContext("webgl2") !== null;
}
