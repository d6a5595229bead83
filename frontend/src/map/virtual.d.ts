/** The address of MapLibre's worker, as `vite.config.ts` builds it. */
declare module "virtual:map-worker" {
  const url: string;
  export default url;
}
