// Markdown as elements. micromark lets no HTML of the text through.
import { gfmTable, gfmTableHtml, micromark } from "./vendor/micromark.js";

/** Put what a text in Markdown says into an element. */
export function showMarkdown(place, text) {
    place.innerHTML = micromark(text, { extensions: [gfmTable()], htmlExtensions: [gfmTableHtml()] });
    for (const link of place.querySelectorAll("a")) {
        link.target = "_blank";
        link.rel = "noopener noreferrer";
    }
    for (const table of place.querySelectorAll("table")) {
        const around = document.createElement("div");
        around.className = "scroll";
        around.tabIndex = 0;
        table.replaceWith(around);
        around.append(table);
    }
}
