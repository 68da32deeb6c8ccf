// Runs in the frame of an output, which has an origin of its own: tells the page how high it is.
const tell = () => parent.postMessage({ planariaHeight: Math.ceil(document.documentElement.getBoundingClientRect().height) }, "*");
addEventListener("load", tell);
document.addEventListener("DOMContentLoaded", () => {
    tell();
    new ResizeObserver(tell).observe(document.body);
});
