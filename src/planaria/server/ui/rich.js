// HTML and figures of a guest, in frames with origins of their own. Scripts run there when the one who looks wants that.
import { files } from "./api.js";
import { button, element } from "./dom.js";

const HIGHEST = 1200;
const KEY = "planaria-scripts";
const PACKAGES = "/home/user/.local/lib";
const PLOTLY = "plotly/package_data/plotly.min.js";
// The libraries that figures load from elsewhere, and where their packages have them in the session.
const LIBRARIES = [
    [/^https:\/\/cdn\.plot\.ly\/plotly-[^/]*\.js$/, () => PLOTLY],
    [/^https:\/\/cdn\.bokeh\.org\/bokeh\/[^?#]*\/(bokeh[a-z-]*)-[\d.]+\.min\.js$/, (match) => `bokeh/server/static/js/${match[1]}.min.js`],
];

/** What each frame is to show, once it asks for it. */
const contents = new WeakMap();
/** Texts of libraries, by session and path. */
const known = new Map();
/** Sessions whose scripts run in this tab, and what is drawn anew when one of the others is added. */
const trusted = new Set(JSON.parse(sessionStorage.getItem(KEY) ?? "[]"));
const waiting = new Map();

addEventListener("message", async (event) => {
    const frame = [...document.querySelectorAll("iframe.rich")].find((one) => one.contentWindow === event.source);
    if (!frame) return;
    const height = event.data?.planariaHeight;
    if (typeof height === "number") frame.style.height = `${Math.min(HIGHEST, Math.max(20, height))}px`;
    if (event.data?.planariaReady === true) frame.contentWindow.postMessage(await contents.get(frame), "*");
});

function frameOf(content, label, { runs = false } = {}) {
    const address = new URL(runs ? "./frame.html?scripts" : "./frame.html", import.meta.url);
    const frame = element("iframe", { class: "rich", sandbox: "allow-scripts", src: address.href, title: `Output of ${label}`, tabindex: "0" });
    contents.set(frame, content);
    return frame;
}

const note = (...parts) => element("p", { class: "hint" }, parts);

/** What asks whether scripts of a session may run, and `draw` once they may. */
function question(session, text, action, draw) {
    if (!waiting.has(session)) waiting.set(session, new Set());
    waiting.get(session).add(draw);
    const allow = () => {
        trusted.add(session);
        sessionStorage.setItem(KEY, JSON.stringify([...trusted]));
        for (const one of waiting.get(session) ?? []) one();
        waiting.delete(session);
    };
    const title = "For all outputs of this session, until the tab is closed. Scripts of outputs see nothing of this page and load nothing, but could connect to other computers (WebRTC).";
    return note(`${text} `, button(action, allow, { title }));
}

/** The text of a script of a package that is installed in a session; null when it is not. */
function library(session, path) {
    const key = `${session} ${path}`;
    if (!known.has(key)) {
        const found = (async () => {
            const [version] = await files.list(session, PACKAGES);
            return (await files.read(session, `${PACKAGES}/${version.name}/site-packages/${path}`)).text();
        })().catch(() => { known.delete(key); return null; });
        known.set(key, found);
    }
    return known.get(key);
}

/** What a library from elsewhere is replaced by; null when it is not in the session. */
async function replacement(address, session) {
    for (const [pattern, pathOf] of LIBRARIES) {
        const match = pattern.exec(address);
        if (match) return library(session, pathOf(match));
    }
    return null;
}

/** HTML in which scripts that it would load are those of packages in the session, and the addresses of the others. */
async function complete(html, session) {
    if (!/<script[^>]*\ssrc\s*=/i.test(html)) return { html, missing: [] };
    const parsed = new DOMParser().parseFromString(html, "text/html");
    const missing = [];
    for (const script of parsed.querySelectorAll("script[src]")) {
        const text = await replacement(script.src, session);
        if (text === null) missing.push(script.src);
        const inline = parsed.createElement("script");
        inline.textContent = text ?? "";
        script.replaceWith(inline);
    }
    return { html: parsed.head.innerHTML + parsed.body.innerHTML, missing };
}

/** HTML; its scripts run in sessions of which that was asked for. */
export function htmlFrame(html, session, label) {
    const place = element("div", { class: "framed" });
    const draw = () => {
        const content = complete(html, session).then(({ html: whole, missing }) => {
            if (missing.length) place.append(note(`Not loaded, since outputs have no network: ${missing.join(", ")}`));
            return { html: whole, runs: true };
        });
        place.replaceChildren(frameOf(content, label, { runs: true }));
    };
    if (!/<script/i.test(html)) place.append(frameOf({ html }, label));
    else if (trusted.has(session)) draw();
    else place.append(frameOf({ html }, label), question(session, "This output has scripts.", "Run them", draw));
    return place;
}

/** A figure of Plotly's, from its data. */
export function plotlyFrame(figure, session, label) {
    const place = element("div", { class: "framed" });
    const draw = async () => {
        place.replaceChildren(note("Drawing…"));
        const text = await library(session, PLOTLY);
        place.replaceChildren(text === null
            ? note("A figure of Plotly's: it is drawn once the package plotly is installed in the session.")
            : frameOf({ figure, scripts: [text] }, label, { runs: true }));
    };
    if (trusted.has(session)) draw();
    else place.append(question(session, "A figure of Plotly's, which a script of the session draws.", "Draw it", draw));
    return place;
}
