// Entry of every page: styles, the header's menu on narrow screens, and thumbnails.
import "./index.css";
import { foldFilters } from "./filters";
import { installMenu } from "./menu";
import { installThumbnails } from "./thumbnails";

installMenu(document);
foldFilters(document);
installThumbnails(document);
