// Entry of every page: styles, the header's menu on narrow screens, languages, and thumbnails.
import "./index.css";
import { foldFilters } from "./filters";
import { installLanguages } from "./languages";
import { installMenu } from "./menu";
import { installThumbnails } from "./thumbnails";

installMenu(document);
foldFilters(document);
installLanguages(document);
installThumbnails(document);
