// One file: a picture, a table, or a text that can be edited.
import { files } from "./api.js";
import { attempt, button, bytes, dialog, element, notice } from "./dom.js";
import { download } from "./download.js";
import { Editor } from "./editor.js";
import { rowsOf, tableOf } from "./table.js";

const IMAGES = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", svg: "image/svg+xml" };
const LANGUAGES = { py: "python", sh: "bash", md: "markdown", json: "json" };
const MOST_TEXT = 2 << 20;
const MOST_ROWS = 500;

export async function preview(session, path, entry, changed) {
    const suffix = entry.name.includes(".") ? entry.name.split(".").pop().toLowerCase() : "";
    const blob = await files.read(session, path);
    const tools = element("div", { class: "buttons" });
    const content = element("div", { class: "preview" });
    const shown = dialog(entry.name, [content, tools], { kind: "wide" });
    tools.append(button("Download", () => download(entry.name, blob)));
    if (IMAGES[suffix]) {
        const address = URL.createObjectURL(new Blob([blob], { type: IMAGES[suffix] }));
        content.append(element("img", { src: address, alt: entry.name }));
        shown.closed.then(() => URL.revokeObjectURL(address));
        return;
    }
    if (blob.size > MOST_TEXT) { content.append(element("p", { class: "hint", text: `It has ${bytes(blob.size)}: too much to be shown here.` })); return; }
    let text;
    try {
        text = new TextDecoder("utf-8", { fatal: true }).decode(await blob.arrayBuffer());
    } catch {
        content.append(element("p", { class: "hint", text: `It is not text; it has ${bytes(blob.size)}.` }));
        return;
    }
    const edit = () => showEditor({ session, path, text, language: LANGUAGES[suffix] ?? "", content, tools, changed, shown });
    if (suffix !== "csv" && suffix !== "tsv") { edit(); return; }
    const rows = rowsOf(text, MOST_ROWS + 1, suffix === "tsv" ? "\t" : ",");
    content.append(tableOf(rows, entry.name));
    if (rows.length > MOST_ROWS) content.append(element("p", { class: "hint", text: `The first ${MOST_ROWS} rows.` }));
    const change = button("Edit", () => { change.remove(); content.replaceChildren(); edit(); });
    tools.append(change);
}

function showEditor({ session, path, text, language, content, tools, changed, shown }) {
    const save = () => {
        attempt(async () => {
            await files.write(session, path, editor.text);
            notice(`${path} is saved`, "info");
            await changed();
        });
        return true;
    };
    const editor = new Editor({ text, language, label: `Contents of ${path}`, numbers: true, keys: [{ key: "Mod-s", run: save }] });
    content.append(element("div", { class: "file-editor" }, editor.element));
    tools.append(button("Save", save, { kind: "primary" }));
    shown.closed.then(() => editor.destroy());
    editor.focus();
}
