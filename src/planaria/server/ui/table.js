// Tables of text, such as CSV.
import { element } from "./dom.js";

/** The rows of a text as RFC 4180 has them, at most so many. */
export function rowsOf(text, most, separator = ",") {
    const rows = [];
    let row = [];
    let field = "";
    let quoted = false;
    for (let place = 0; place < text.length && rows.length < most; place += 1) {
        const one = text[place];
        if (quoted) {
            if (one !== '"') field += one;
            else if (text[place + 1] === '"') { field += '"'; place += 1; } else quoted = false;
        } else if (one === '"' && field === "") quoted = true;
        else if (one === separator) { row.push(field); field = ""; } else if (one === "\n" || one === "\r") {
            if (one === "\r" && text[place + 1] === "\n") place += 1;
            rows.push([...row, field]);
            row = [];
            field = "";
        } else field += one;
    }
    if (rows.length < most && (row.length || field)) rows.push([...row, field]);
    return rows;
}

export function tableOf([head = [], ...rows], label) {
    return element(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
        element(
            "table",
            { class: "data" },
            element("thead", {}, element("tr", {}, head.map((text) => element("th", { scope: "col", text })))),
            element("tbody", {}, rows.map((row) => element("tr", {}, row.map((text) => element("td", { class: text !== "" && !Number.isNaN(Number(text)) ? "number" : "", text }))))),
        ),
    );
}
