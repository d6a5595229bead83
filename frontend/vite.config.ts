import { defineConfig } from "vitest/config";

// Django serves frontend/dist under /static/ and finds the hashed names in manifest.json.
export default defineConfig({
  base: "/static/",
  build: {
    target: "es2022",
    manifest: "manifest.json",
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1200,
    rollupOptions: {
      input: ["src/site.ts", "src/release.ts", "src/planner.ts", "src/desk.ts", "src/about.ts"],
    },
  },
  test: { include: ["src/**/*.test.ts"], css: true },
});
