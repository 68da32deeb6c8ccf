// The variables of a session with their sizes.
import { bytes, element } from "./dom.js";
import { panel } from "./panel.js";

const MOST = 300;

export class Variables {
    constructor(place) {
        ({ content: this.content } = panel(place, "Variables"));
    }

    open() {
        this.content.replaceChildren();
    }

    take({ variables }) {
        const rows = Object.entries(variables);
        if (!rows.length) {
            this.content.replaceChildren(element("p", { class: "hint", text: "There is none." }));
            return;
        }
        const table = element(
            "table",
            { class: "variables" },
            element("thead", {}, element("tr", {}, ["Name", "Type", "Size"].map((text) => element("th", { scope: "col", text })))),
            element("tbody", {}, rows.slice(0, MOST).map(([name, { type, repr, size }]) => element(
                "tr",
                {},
                element("th", { scope: "row" }, element("span", { class: "name", text: name }), element("code", { class: "repr", text: repr, title: repr })),
                element("td", { class: "type", text: type }),
                element("td", { class: "number", text: size === null ? "" : bytes(size) }),
            ))),
        );
        this.content.replaceChildren(table);
        if (rows.length > MOST) this.content.append(element("p", { class: "hint", text: `and ${rows.length - MOST} more` }));
    }
}
