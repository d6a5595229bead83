/** Campaigns: plans that an organisation keeps on the server. */
import type { Campaign, Problem } from "../data/api";
import { t } from "../ui/translate";

/** The campaign at an address; null where it cannot be read. */
export async function fetchCampaign(address: string): Promise<Campaign | null> {
  const response = await fetch(address);
  return response.ok ? ((await response.json()) as Campaign) : null;
}

/** Keeps a campaign and returns its page. Throws an Error whose message is for the reader. */
export async function keepCampaign(address: string, token: string, campaign: object): Promise<string> {
  const response = await fetch(address, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": token },
    body: JSON.stringify(campaign),
  });
  const { page, detail } = (await response.json()) as Partial<Campaign & Problem>;
  if (!response.ok || !page) throw new Error(detail ?? t("The plan was not saved ({status}).", { status: response.status }));
  return page;
}
