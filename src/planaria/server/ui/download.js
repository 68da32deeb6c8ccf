// Files that the page makes.
import { element } from "./dom.js";

/** Hand a file to the browser. */
export function download(name, blob) {
    const link = element("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
