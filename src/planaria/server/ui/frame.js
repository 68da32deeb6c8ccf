// Runs in the frame of an output, which has an origin of its own: shows what the page sends, and tells how high it is.
addEventListener("message", (event) => {
    if (event.source !== parent) return;
    const { html = "", scripts = [], runs = false, figure } = event.data;
    for (const text of scripts) {
        const script = document.createElement("script");
        script.textContent = text;
        document.head.append(script);
    }
    if (figure) {
        const place = document.createElement("div");
        document.body.append(place);
        Plotly.newPlot(place, { ...figure, config: { responsive: true, ...figure.config } });
    } else if (runs) {
        // The scripts of such a fragment are executed.
        document.body.append(document.createRange().createContextualFragment(html));
    } else {
        document.body.innerHTML = html;
    }
}, { once: true });

document.addEventListener("DOMContentLoaded", () => {
    // What is as high as its frame, as figures may be, tells by what does not fit into it.
    const tell = () => {
        const { scrollHeight } = document.documentElement;
        const height = Math.max(document.documentElement.getBoundingClientRect().height, scrollHeight > innerHeight ? scrollHeight : 0);
        parent.postMessage({ planariaHeight: Math.ceil(height) }, "*");
    };
    const sizes = new ResizeObserver(tell);
    for (const one of [document.body, document.documentElement]) sizes.observe(one);
    new MutationObserver(() => requestAnimationFrame(tell)).observe(document.body, { childList: true, subtree: true });
    addEventListener("load", tell);
    parent.postMessage({ planariaReady: true }, "*");
});
