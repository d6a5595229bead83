import { defineConfig, type Plugin } from "vitest/config";

const MAPLIBRE = decodeURI(new URL("node_modules/maplibre-gl/src/", import.meta.url).pathname);
const NOTICE = "/*! MapLibre GL JS, 3-Clause BSD: https://github.com/maplibre/maplibre-gl-js */";

// MapLibre's built files hold most of the library twice, for the page and for its worker. Built
// from its source, the two share one chunk: nearly a quarter less to send.
function mapWorker(): Plugin {
  const name = "virtual:map-worker";
  return {
    name: "map-worker",
    resolveId: (id) => (id === name ? name : null),
    load(id) {
      if (id !== name) return null;
      const worker = { type: "chunk", name: "map-worker", id: `${MAPLIBRE}source/worker.ts` } as const;
      return `export default import.meta.ROLLUP_FILE_URL_${this.emitFile(worker)}`;
    },
  };
}

// Django serves frontend/dist under /static/ and finds the hashed names in manifest.json.
export default defineConfig({
  base: "/static/",
  plugins: [mapWorker()],
  resolve: { alias: [{ find: /^maplibre-gl$/, replacement: `${MAPLIBRE}index.ts` }] },
  // As MapLibre is built: its subclasses declare again what their parents' constructors have set.
  oxc: {
    assumptions: { setPublicClassFields: true },
    typescript: { removeClassFieldsWithoutInitializer: true },
  },
  build: {
    target: "es2022",
    manifest: "manifest.json",
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1200,
    rollupOptions: {
      input: ["src/site/site.ts", "src/release/release.ts", "src/series/series.ts", "src/planner/planner.ts", "src/desk/desk.ts", "src/desk/admin-upload.ts", "src/site/about.ts"],
      output: {
        // Few files: a phone waits for each that it asks for.
        codeSplitting: {
          groups: [
            { name: "base", priority: 2, test: /preload-helper|\/src\/(ui\/(dom|errors|translate)|geometry\/(place|mercator)|map\/notice)\.ts$/ },
            { name: "drawing", priority: 1, test: /\/src\/(colour\/|ui\/(controls|download|format)|map\/notes|release\/permalink).*\.ts$/ },
          ],
        },
        postBanner: ({ moduleIds }) =>
          moduleIds.some((id) => id.includes("/maplibre-gl/src/")) ? NOTICE : "",
      },
    },
  },
  // No test changes what another file sees, and a process for each file would take most of the time.
  test: {
    include: ["src/**/*.test.ts", "scripts/*.test.mjs"],
    css: true,
    pool: "threads",
    isolate: false,
  },
});
