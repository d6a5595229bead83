/*!
 * <dp-map src="https://maps.example.org/maps/ID/">: a published map on any page, in this one file.
 *
 * The map is in a frame, so that nothing of it reads or changes the page. Where the page's policy
 * forbids the frame, or with the attribute `still`, it is a picture with its legend; where that is
 * forbidden, too, what the page wrote inside the element stays, such as a link. The element runs
 * under any Content Security Policy that lets it load: it writes no markup and no style attribute,
 * and asks for nothing but the frame or the picture. Attributes: `src`, the address of a map;
 * `caption`, what it shows; `still`. Size it as you would a picture.
 *
 * Apache License 2.0: https://www.apache.org/licenses/LICENSE-2.0
 */
(() => {
  "use strict";
  if (customElements.get("dp-map")) return;

  const PAGE = /^((?:\/[a-z]{2}(?:-[a-z]{2})?)?)\/(?:maps|embed)\/([A-Za-z0-9_-]+)\/?$/;
  const FRAMES = new Set(["frame-src", "child-src", "default-src"]);

  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    :host { display: block; max-width: 100%; color: inherit; font: inherit; }
    :host([hidden]) { display: none; }
    iframe, img { display: block; box-sizing: border-box; width: 100%; border: 0; }
    iframe { height: var(--dp-map-height, clamp(30rem, 60vw, 36rem)); }
    img { height: auto; }
    p { margin: 0.4em 0 0; font-size: 0.875em; line-height: 1.4; }
    a { color: inherit; }
  `);

  /** The addresses of the map that `src` names; null if it names none. */
  function read(src, base) {
    let address;
    try {
      address = new URL(src, base);
    } catch {
      return null;
    }
    const match = PAGE.exec(address.pathname);
    if (match === null || !/^https?:$/.test(address.protocol)) return null;
    const [, language, id] = match;
    return {
      origin: address.origin,
      page: `${address.origin}${language}/maps/${id}/${address.hash}`,
      frame: `${address.origin}${language}/embed/${id}/${address.hash}`,
      picture: `${address.origin}/api/v1/releases/${id}/files/card.png`,
    };
  }

  class DpMap extends HTMLElement {
    static observedAttributes = ["src", "caption", "still"];

    #root = this.attachShadow({ mode: "open" });
    #map = null;
    #forbidden = (event) => {
      const blocked = String(event.blockedURI);
      const ours = this.#map !== null && (blocked === this.#map.origin || blocked.startsWith(`${this.#map.origin}/`));
      if (ours && FRAMES.has(event.effectiveDirective)) this.#show("picture");
    };

    constructor() {
      super();
      this.#root.adoptedStyleSheets = [sheet];
    }

    connectedCallback() {
      this.ownerDocument.addEventListener("securitypolicyviolation", this.#forbidden);
      this.#begin();
    }

    disconnectedCallback() {
      this.ownerDocument.removeEventListener("securitypolicyviolation", this.#forbidden);
    }

    attributeChangedCallback() {
      if (this.isConnected) this.#begin();
    }

    #begin() {
      this.#map = read(this.getAttribute("src") ?? "", this.ownerDocument.baseURI);
      this.#show(this.#map === null ? "words" : this.hasAttribute("still") ? "picture" : "frame");
    }

    /** Shows the map as a "frame", as a "picture", or the page's own "words". */
    #show(how) {
      const parts = { frame: () => this.#frame(), picture: () => this.#picture() }[how]?.() ?? [];
      this.#root.replaceChildren(...(parts.length > 0 ? parts : [document.createElement("slot")]));
      this.dataset.shows = how;
    }

    #frame() {
      const frame = document.createElement("iframe");
      frame.title = this.#words();
      frame.loading = "lazy";
      frame.referrerPolicy = "no-referrer";
      frame.src = this.#map.frame;
      return [frame];
    }

    #picture() {
      const picture = document.createElement("img");
      picture.alt = this.#words();
      picture.referrerPolicy = "no-referrer";
      picture.addEventListener("error", () => this.#show("words"));
      picture.src = this.#map.picture;
      return [picture, this.#credit()];
    }

    #credit() {
      const line = document.createElement("p");
      const link = document.createElement("a");
      link.href = this.#map.page;
      link.rel = "noopener";
      link.target = "_blank";
      link.textContent = this.#words();
      line.append(link);
      return line;
    }

    #words() {
      return this.getAttribute("caption") || this.textContent.trim() || this.#map.page;
    }
  }

  customElements.define("dp-map", DpMap);
})();
