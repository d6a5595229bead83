/** Sharing of a map: its link, code that embeds it, a picture, a print. */
import { need } from "../ui/dom";
import { download } from "../ui/download";
import { t } from "../ui/translate";

export function installSharing(frame: HTMLElement, draw: () => HTMLCanvasElement): void {
  const panel = document.querySelector<HTMLElement>("#share");
  if (!panel) return;
  panel.hidden = false;
  const status = need<HTMLElement>(panel, "[role=status]");
  const say = (words: string): void => void (status.textContent = words);
  need(panel, "[data-share=link]").addEventListener("click", () => {
    copy(location.href).then(
      () => say(t("The link is copied; it holds all that you see.")),
      () => say(location.href),
    );
  });
  need(panel, "[data-share=png]").addEventListener("click", () => {
    draw().toBlob((picture) => {
      if (!picture) return say(t("This browser could not make the picture."));
      download(frame.dataset.file ?? "map.png", picture);
      say(t("The picture is ready."));
    }, "image/png");
  });
  need(panel, "[data-share=print]").addEventListener("click", () => print());
  // A draft has no code to embed it.
  const code = panel.querySelector<HTMLTextAreaElement>("[data-embed]");
  code?.closest("details")?.addEventListener("toggle", () => {
    code.value = embedCode(new URL(code.dataset.embed!, location.href).href + location.hash, code.dataset.title ?? "");
  });
  for (const field of panel.querySelectorAll<HTMLTextAreaElement>("textarea")) {
    field.addEventListener("focus", () => field.select());
  }
  installPrinting(frame, draw);
}

/** A canvas drawn by WebGL cannot be printed, so a picture replaces it on paper. */
function installPrinting(frame: HTMLElement, draw: () => HTMLCanvasElement): void {
  addEventListener("beforeprint", () => {
    const picture = draw();
    picture.className = "print-picture";
    frame.querySelector(".print-picture")?.remove();
    frame.append(picture);
  });
}

async function copy(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
}

function embedCode(address: string, title: string): string {
  const quoted = (text: string): string => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  return `<iframe src="${quoted(address)}" title="${quoted(title)}" width="100%" height="520" style="border:1px solid" loading="lazy"></iframe>`;
}
