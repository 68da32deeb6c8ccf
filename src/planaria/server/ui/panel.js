// A part of the right side, which can be folded.
import { element } from "./dom.js";

/** A folding part with a title; returns it and the place for its contents. */
export function panel(place, title, { open = true, actions = [] } = {}) {
    const content = element("div", { class: "panel-content" });
    const summary = element("summary", {}, element("h2", { text: title }));
    const made = element("details", { class: "panel", open }, summary, actions.length ? element("div", { class: "panel-actions" }, actions) : null, content);
    place.append(made);
    return { element: made, content, summary };
}
