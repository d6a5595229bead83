// Every page: the styles, and the header's menu on narrow screens.
import "./styles/index.css";
import { installMenu } from "./menu";

installMenu(document);
