import { describe, expect, it } from "vitest";
import { formatLink, type Link, NO_LINK, parseLink } from "./permalink";

describe("the permalink", () => {
  it("comes back as it was", () => {
    const link: Link = {
      view: { zoom: 12.639, latitude: 55.660128, longitude: -12.58 },
      layer: "estimate", show: "margin", figures: "scaled", ramp: "ember", scale: "quantile", opacity: 65, ground: "outline",
      compare: "aB_-9", divider: 0, areas: {
        area: [[12.5, 55.6], [12.61234, 55.6], [-0.00001, -55.7]],
        from: [[1, 2], [3, 2], [3, 4]],
        to: [[5, 6], [7, 6], [7, 8]],
      },
    };
    expect(parseLink(formatLink(link))).toEqual(link);
    expect(formatLink(parseLink(formatLink(link)))).toBe(formatLink(link));
    expect(formatLink(NO_LINK)).toBe("");
  });

  it.each(["", "#", "#map=", "#map=a/b/c", "#map=99/0/0", "#map=3/91/0", "#map=3/1", "#%%%=&&", "#show=all",
    "#ramp=rainbow", "#scale=cubic", "#opacity=-1", "#opacity=9", "#opacity=1e2", "#divider=101",
    "#compare=../x", "#area=1,2;3,4", "#from=1,2;3,4", "#area=1,2;3,;5,6", "#area=1,91;2,2;3,3", "#area=1,2,3;4,5,6;7,8,9"])(
    "leaves nonsense out: %s",
    (hash) => expect(parseLink(hash)).toEqual(NO_LINK),
  );
});
