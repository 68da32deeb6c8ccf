// The pictures on buttons.

const SVG = "http://www.w3.org/2000/svg";
const PATHS = {
    run: "M5 3.5v9l7.5-4.5z",
    "run-all": "M3 3.5v9l6-4.5zM9 3.5v9l6-4.5z",
    stop: "M4 4h8v8H4z",
    add: "M8 3v10M3 8h10",
    up: "M8 13V3.5M4 7.5l4-4 4 4",
    down: "M8 3v9.5M4 8.5l4 4 4-4",
    close: "M4 4l8 8M12 4l-8 8",
    upload: "M8 10.5V2.5M5 5.5l3-3 3 3M2.5 10v3.5h11V10",
    download: "M8 2.5v8M5 7.5l3 3 3-3M2.5 10v3.5h11V10",
    keys: "M2 4.5h12v7H2zM4.5 7h.5M7.8 7h.5M11 7h.5M5 9.5h6",
    fork: "M5 2.5v11M5 9.5c0-3 6-2 6-5.5M11 4V2.5",
    folder: "M2 4.5h4.5l1.5 1.5h6v7H2z",
    file: "M4 2h5.5L12 4.5V14H4zM9.5 2v2.5H12",
};
const FILLED = new Set(["run", "run-all", "stop"]);

/** A picture, which says nothing itself. */
export function icon(name) {
    const drawing = document.createElementNS(SVG, "svg");
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", PATHS[name]);
    for (const [key, value] of Object.entries({ viewBox: "0 0 16 16", width: 15, height: 15, class: FILLED.has(name) ? "icon filled" : "icon", "aria-hidden": "true" })) drawing.setAttribute(key, value);
    drawing.append(path);
    return drawing;
}
