// The page is painted first; then its modules are fetched, all at once. A tab that is not seen paints nothing.
let hasBegun = false;

function begin() {
    if (hasBegun) return;
    hasBegun = true;
    for (const link of document.querySelectorAll("link[data-later]")) link.rel = "modulepreload";
    import("./main.js");
}

requestAnimationFrame(() => setTimeout(begin));
setTimeout(begin, 250);
