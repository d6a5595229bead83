// Every page: the styles, the header's menu on narrow screens, and still maps where there are any.
import "./index.css";
import { foldFilters } from "./filters";
import { installMenu } from "./menu";
import { installThumbnails } from "./thumbnails";

installMenu(document);
foldFilters(document);
installThumbnails(document);
