// The keys, told.
import { dialog, element } from "./dom.js";

const KEYS = [
    ["Shift+Enter", "run the cell and go on"],
    ["Ctrl+Enter", "run the cell"],
    ["Alt+Enter", "run the cell and add one below"],
    ["Esc, Enter", "leave the text of a cell, and go back into it"],
    ["j, k or ↓, ↑", "the next cell, the one before"],
    ["J, K", "move the cell down, up"],
    ["a, b", "add a cell above, below"],
    ["d d", "delete the cell"],
    ["z", "bring a deleted cell back"],
    ["c, x", "copy, cut the cell"],
    ["v, V", "paste below, above"],
    ["m, y", "make it Markdown, code"],
    ["1 to 6", "make it a heading of that level"],
    ["M", "merge with the cell below"],
    ["Ctrl+Shift+-", "split the cell at the cursor"],
    ["o", "hide or show the output"],
    ["l", "hide or show line numbers"],
    ["i i", "interrupt"],
    ["0 0", "start the session again; files stay"],
    ["Ctrl+Space", "complete"],
];

export function showKeys() {
    dialog("Keys", element("dl", { class: "facts keys" }, KEYS.flatMap(([key, text]) => [element("dt", {}, element("kbd", { text: key })), element("dd", { text })])));
}
