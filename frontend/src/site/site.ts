// Entry of every page: styles, the header's menu on narrow screens, languages, and thumbnails.
import "./index.css";
import { foldFilters } from "./filters";
import { installLanguages } from "./languages";
import { installMenu } from "./menu";

installMenu(document);
foldFilters(document);
installLanguages(document);
if (document.querySelector("canvas[data-array]")) void import("./thumbnails").then((module) => module.installThumbnails(document));
