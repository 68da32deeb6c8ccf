// The variables of a session with their sizes.
import { query } from "./api.js";
import { bytes, element } from "./dom.js";
import { panel } from "./panel.js";

const MOST = 300;

export class Variables {
    constructor(place) {
        ({ content: this.content } = panel(place, "Variables"));
        this.session = null;
    }

    open(session) {
        this.session = session;
        this.content.replaceChildren();
    }

    async refresh() {
        const session = this.session;
        const names = await query(session, "names");
        const sizes = await query(session, "sizes");
        if (session !== this.session) return;
        const rows = Object.entries(names).sort(([one], [other]) => one.localeCompare(other));
        if (!rows.length) {
            this.content.replaceChildren(element("p", { class: "hint", text: "There is none." }));
            return;
        }
        const table = element(
            "table",
            { class: "variables" },
            element("thead", {}, element("tr", {}, ["Name", "Type", "Size"].map((text) => element("th", { scope: "col", text })))),
            element("tbody", {}, rows.slice(0, MOST).map(([name, [type, repr]]) => element(
                "tr",
                {},
                element("th", { scope: "row" }, element("span", { class: "name", text: name }), element("code", { class: "repr", text: repr, title: repr })),
                element("td", { class: "type", text: type }),
                element("td", { class: "number", text: sizes[name] === undefined ? "" : bytes(sizes[name]) }),
            ))),
        );
        this.content.replaceChildren(table);
        if (rows.length > MOST) this.content.append(element("p", { class: "hint", text: `and ${rows.length - MOST} more` }));
    }
}
