/** Upload of a chosen or dropped file, with its progress and a button that stops it. */

import { language, t } from "../ui/translate";

interface Answer {
  next?: string;
  errors?: string[];
}

export function installUpload(page: Document): void {
  const form = page.querySelector<HTMLFormElement>("form[data-upload]");
  const input = form?.querySelector<HTMLInputElement>("input[type=file]");
  if (!form || !input) return;
  installDrop(form, input);
  // Choosing is sending: nothing becomes public by it, and it can be stopped. In the admin's form a
  // dataset has to be chosen as well, so that the button sends.
  if (form.dataset["upload"] !== "button") {
    input.addEventListener("change", () => input.files?.length && form.requestSubmit());
  }
  form.addEventListener("submit", (event) => {
    if (!input.files?.length) return;
    event.preventDefault();
    send(form, input.files[0]?.size ?? 0);
  });
}

function installDrop(form: HTMLFormElement, input: HTMLInputElement): void {
  const place = form.querySelector<HTMLElement>("[data-drop]");
  if (!place) return;
  place.classList.add("ready");
  for (const kind of ["dragenter", "dragover"]) {
    place.addEventListener(kind, (event) => {
      event.preventDefault();
      place.classList.add("over");
    });
  }
  for (const kind of ["dragleave", "drop"]) {
    place.addEventListener(kind, () => place.classList.remove("over"));
  }
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    if (!event.dataTransfer?.files.length) return;
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

function send(form: HTMLFormElement, size: number): void {
  const request = new XMLHttpRequest();
  const sending = form.querySelector<HTMLElement>("[data-sending]");
  const stop = form.querySelector<HTMLButtonElement>("[data-stop]");
  const button = form.querySelector<HTMLButtonElement>("button[type=submit]");
  const finish = (errors: string[]): void => {
    if (sending) sending.hidden = true;
    if (button) button.disabled = false;
    showErrors(form, errors);
  };
  showErrors(form, []);
  if (sending) sending.hidden = false;
  if (button) button.disabled = true;
  showSent(form, 0, size);
  request.upload.addEventListener("progress", (event) =>
    showSent(form, event.loaded, event.lengthComputable ? event.total : size),
  );
  request.addEventListener("load", () => {
    const answer = read(request);
    if (answer.next) location.assign(answer.next);
    else finish(answer.errors ?? [t("The server answered {status}; try again.", { status: request.status })]);
  });
  request.addEventListener("error", () =>
    finish([t("The connection broke before the file had arrived; send it again.")]),
  );
  request.addEventListener("abort", () => finish([t("Stopped. Nothing was stored.")]));
  if (stop) stop.onclick = () => request.abort();
  request.open("POST", form.action);
  request.setRequestHeader("Accept", "application/json");
  request.send(new FormData(form));
}

function read(request: XMLHttpRequest): Answer {
  try {
    return JSON.parse(request.responseText) as Answer;
  } catch {
    return {};
  }
}

function showSent(form: HTMLFormElement, sent: number, size: number): void {
  const percent = size ? Math.min(100, Math.floor((100 * sent) / size)) : 0;
  const simple = form.querySelector<HTMLProgressElement>("[data-sending] progress");
  if (simple) simple.value = percent;
  const bar = form.querySelector<HTMLElement>("[data-sending] [role=progressbar]");
  bar?.setAttribute("aria-valuenow", String(percent));
  bar?.querySelector("b")?.setAttribute("style", `width:${percent}%`);
  const words = form.querySelector("[data-sent]");
  if (!words) return;
  words.textContent =
    percent < 100
      ? t("{percent} % of {size} sent", { percent, size: megabytes(size) })
      : t("All {size} sent; looking at its first rows", { size: megabytes(size) });
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toLocaleString(language(), { maximumFractionDigits: 1 })} MB`;
}

function showErrors(form: HTMLFormElement, errors: string[]): void {
  const place = form.querySelector<HTMLElement>("[data-errors]");
  if (!place) return;
  for (const old of form.querySelectorAll(".errorlist")) old.remove(); // of an earlier answer
  place.hidden = errors.length === 0;
  // Django's admin shows a box of this class even where it is hidden.
  if (place.dataset.errors) place.className = place.hidden ? "" : place.dataset.errors;
  place.replaceChildren(
    ...errors.map((error) => {
      const line = document.createElement("p");
      line.textContent = error;
      return line;
    }),
  );
}
