// Entry of the owner's desk. Every page works without it; this adds what follows input at once.
import "./desk.css";
import "./forms.css";
import "./path.css";
import { installCost } from "./cost";
import { followJobs } from "./jobs";
import { installNotes } from "./notes";
import { installPasskeys } from "./passkeys";
import { installPictures } from "./picture";
import { installUpload } from "./upload";
import { installWhere } from "./where";

followJobs(document);
installUpload(document);
installWhere(document);
installCost(document);
installPictures(document);
installNotes(document);
installPasskeys();

const map = document.querySelector<HTMLElement>("figure.area-map");
if (map) void import("./area").then(({ AreaMap }) => new AreaMap(map));

// A form that spends budget is sent once. The server refuses a second payment in any case.
for (const form of document.querySelectorAll<HTMLFormElement>("form[data-once]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset["sent"]) event.preventDefault();
    form.dataset["sent"] = "yes";
  });
}
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-once]")) {
    delete form.dataset["sent"];
  }
});

document.querySelector<HTMLElement>("[data-refusal]")?.focus();
