// The outputs of a cell: text, figures, tables, and errors.
import { coloured } from "./ansi.js";
import { element } from "./dom.js";
import { plotlyFrame, htmlFrame } from "./rich.js";

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"];
const PLOTLY = "application/vnd.plotly.v1+json";
function imageOf(type, content, label) {
    const text = Array.isArray(content) ? content.join("") : content;
    const source = type === "image/svg+xml" ? `data:${type};utf8,${encodeURIComponent(text)}` : `data:${type};base64,${text.replace(/\s/g, "")}`;
    return element("img", { class: "figure", src: source, alt: `Figure of ${label}` });
}

function richOf(data, session, label) {
    for (const type of IMAGES) if (data[type]) return imageOf(type, data[type], label);
    const text = (type) => (Array.isArray(data[type]) ? data[type].join("") : data[type]);
    if (data[PLOTLY]) return plotlyFrame(data[PLOTLY], session, label);
    if (data["text/html"]) return htmlFrame(text("text/html"), session, label);
    if (data["text/markdown"]) {
        const place = element("div", { class: "markdown" });
        import("./markdown.js").then(({ showMarkdown }) => showMarkdown(place, text("text/markdown")));
        return place;
    }
    if (data["application/json"] !== undefined) return element("pre", { class: "text", tabindex: "0", text: JSON.stringify(data["application/json"], null, 2) });
    return element("pre", { class: "text value", tabindex: "0" }, coloured(String(text("text/plain") ?? `<${Object.keys(data).join(", ")}>`)));
}

/** Shows the outputs of one cell, and knows them as notebooks have them. */
export class Outputs {
    /** @param label gives the name of the cell. */
    constructor(session, label) {
        Object.assign(this, { session, label });
        this.list = [];
        this.element = element("div", { class: "outputs" });
    }

    replace(list) {
        this.clear();
        list.forEach((output, index) => this.put(index, output));
    }

    clear() {
        this.list = [];
        this.element.replaceChildren();
    }

    /** More text of a stream. It is drawn once for each frame of the screen, however often it comes. */
    addText(name, text) {
        const last = this.list.at(-1);
        if (last?.output_type === "stream" && last.name === name) last.text += text;
        else this.put(this.list.length, { output_type: "stream", name, text });
        const index = this.list.length - 1;
        this.drawing ??= new Set();
        if (!this.drawing.size) requestAnimationFrame(() => this.draw());
        this.drawing.add(index);
    }

    draw() {
        for (const index of this.drawing) {
            const output = this.list[index];
            const place = this.element.children[index];
            if (output?.output_type !== "stream" || !place) continue;
            const below = place.scrollHeight - place.scrollTop - place.clientHeight < 40;
            place.replaceChildren(...coloured(output.text));
            if (below) place.scrollTop = place.scrollHeight;
        }
        this.drawing.clear();
    }

    put(index, output) {
        this.list[index] = output;
        const shown = this.shown(output);
        const there = this.element.children[index];
        if (there) there.replaceWith(shown);
        else this.element.append(shown);
    }

    shown(output) {
        const label = this.label();
        if (output.output_type === "stream") return element("pre", { class: `text ${output.name}`, tabindex: "0", "aria-label": `${output.name} of ${label}` }, coloured(output.text));
        if (output.output_type === "error") {
            return element(
                "div",
                { class: "failure" },
                element("p", { class: "failure-title" }, element("strong", { text: output.ename }), output.evalue ? `: ${output.evalue}` : ""),
                element("pre", { class: "text", tabindex: "0", "aria-label": `Traceback of ${label}` }, coloured(output.traceback.join("\n"))),
            );
        }
        return element("div", { class: "shown" }, richOf(output.data, this.session, label));
    }
}
