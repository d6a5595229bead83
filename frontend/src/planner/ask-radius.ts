/** Requests for radius maps: the last one wins. */
import type { RadiusMap } from "../data/api";
import { rejectedBy } from "./ask-plan";
import type { Settings } from "./settings";

export type RadiusRequest = {
  /** The reward of every task. */
  reward: number;
  settings: Settings;
};

export class RadiusClient {
  private running: AbortController | null = null;

  constructor(
    private readonly address: string,
    private readonly release: string,
  ) {}

  /** The radius map, or null where another was asked for in the meantime. Throws Rejected. */
  async map(request: RadiusRequest): Promise<RadiusMap | null> {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    try {
      const response = await this.post(request, { values: true }, running.signal);
      return (await response.json()) as RadiusMap;
    } catch (error) {
      if (running.signal.aborted) return null;
      throw error;
    }
  }

  /** The same map as a GeoPackage. Throws Rejected. */
  async geoPackage(request: RadiusRequest): Promise<Blob> {
    return (await this.post(request, { format: "gpkg" })).blob();
  }

  private async post({ reward, settings }: RadiusRequest, further: object, signal?: AbortSignal): Promise<Response> {
    const { total_reward: _, ...conditions } = settings;
    const response = await fetch(this.address, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ release: this.release, reward, ...conditions, ...further }),
      signal: signal ?? null,
    });
    if (!response.ok) throw await rejectedBy(response);
    return response;
  }
}
