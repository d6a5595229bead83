// Entry of the upload form in Django's admin, which brings its own styles.
import { installUpload } from "./upload";

installUpload(document);
