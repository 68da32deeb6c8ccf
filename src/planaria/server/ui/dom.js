// Elements of the page, made without any HTML in strings.
import { icon } from "./icons.js";

/** An element: `class`, `text`, `on` (listeners) and attributes; children are elements, texts or null. */
export function element(name, properties = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
        if (value === undefined || value === null || value === false) continue;
        if (key === "class") made.className = value;
        else if (key === "text") made.textContent = value;
        else if (key === "on") for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
        else if (key === "value") made.value = value;
        else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.flat().filter((one) => one !== null && one !== undefined && one !== false));
    return made;
}

/** A button, which shows an icon, or its label without one. */
export function button(label, action, { icon: picture, kind = "", title = label, ...rest } = {}) {
    return element(
        "button",
        { type: "button", class: `button ${kind}`, title: picture || title !== label ? title : undefined, "aria-label": picture ? label : undefined, on: { click: action }, ...rest },
        picture ? icon(picture) : label,
    );
}

/** A number of bytes as people read it. */
export function bytes(number) {
    if (number === null || number === undefined) return "no limit";
    let unit = 0;
    while (number >= 1000 && unit < 4) { number /= 1024; unit += 1; }
    return `${unit && number < 10 ? number.toFixed(1) : Math.round(number)} ${["B", "KB", "MB", "GB", "TB"][unit]}`;
}

/** Milliseconds as people read them. */
export function duration(milliseconds) {
    if (milliseconds === null || milliseconds === undefined) return "";
    if (milliseconds < 1000) return `${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`;
    return milliseconds < 60000 ? `${(milliseconds / 1000).toFixed(1)} s` : `${Math.round(milliseconds / 60000)} min`;
}

/** Say something for a while, such as what has failed. */
export function notice(text, kind = "error") {
    const place = document.getElementById("notices");
    const shown = element("p", { class: `notice ${kind}` }, text, button("Dismiss", () => shown.remove(), { icon: "close", kind: "quiet" }));
    place.append(shown);
    setTimeout(() => shown.remove(), kind === "error" ? 12000 : 4000);
}

/** Do something that may fail; what went wrong is said. */
export async function attempt(action) {
    try {
        return await action();
    } catch (error) {
        notice(error.message || String(error));
        return undefined;
    }
}

/** A dialog with a title, which is removed when it is closed. Its promise has what `close(value)` was given. */
export function dialog(title, content, { kind = "" } = {}) {
    const heading = element("h2", { id: `dialog-${Math.random().toString(36).slice(2)}`, text: title });
    const made = element(
        "dialog",
        { class: `dialog ${kind}`, "aria-labelledby": heading.id },
        element("header", {}, heading, button("Close", () => made.close(), { icon: "close", kind: "quiet" })),
        content,
    );
    document.body.append(made);
    let given;
    const closed = new Promise((resolve) => made.addEventListener("close", () => { made.remove(); resolve(given); }));
    made.showModal();
    return { element: made, closed, close: (value) => { given = value; made.close(); } };
}

/** Wait until nothing has asked for it for a while, then do it once. */
export function debounced(milliseconds, action) {
    let timer = null;
    const later = (...given) => {
        clearTimeout(timer);
        timer = setTimeout(() => { timer = null; action(...given); }, milliseconds);
    };
    later.cancel = () => { clearTimeout(timer); timer = null; };
    later.isWaiting = () => timer !== null;
    return later;
}
