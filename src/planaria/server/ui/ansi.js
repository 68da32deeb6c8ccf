// Text of a terminal: carriage returns, backspaces, and the colours of escape sequences.
import { element } from "./dom.js";

const SEQUENCE = /\x1b\[([0-9;]*)m|\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07/g;

/** What stays of lines that were written over. */
function overwritten(text) {
    if (!/[\r\b]/.test(text)) return text;
    return text.replace(/\r\n/g, "\n").split("\n").map((line) => {
        let kept = "";
        for (const part of line.split("\r")) kept = part + kept.slice(part.length);
        while (/[^\b]\b/.test(kept)) kept = kept.replace(/[^\b]\b/, "");
        return kept;
    }).join("\n");
}

/** Texts and elements that show a text with escape sequences. */
export function coloured(text) {
    const parts = [];
    let styles = new Set();
    let place = 0;
    const add = (piece) => {
        if (piece) parts.push(styles.size ? element("span", { class: [...styles].join(" "), text: piece }) : piece);
    };
    const shown = overwritten(text);
    for (const match of shown.matchAll(SEQUENCE)) {
        add(shown.slice(place, match.index));
        place = match.index + match[0].length;
        if (match[1] === undefined) continue;
        for (const code of (match[1] || "0").split(";").map(Number)) {
            if (code === 0) styles = new Set();
            else if (code === 1) styles.add("ansi-bold");
            else if (code === 4) styles.add("ansi-underline");
            else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) {
                styles = new Set([...styles].filter((one) => !/^ansi-\d/.test(one)));
                styles.add(`ansi-${code % 10}`);
            } else if (code === 39) styles = new Set([...styles].filter((one) => !/^ansi-\d/.test(one)));
        }
    }
    add(shown.slice(place));
    return parts;
}
