// The page: it signs in, shows a session, and follows it.
import { Approvals } from "./approvals.js";
import { Activity } from "./activity.js";
import { get } from "./api.js";
import { attempt, button, debounced, element, notice } from "./dom.js";
import { Files } from "./files.js";
import { follow } from "./follow.js";
import { Sessions } from "./sessions.js";
import { TerminalTab } from "./terminal.js";
import { Tree } from "./tree.js";
import { Usage } from "./usage.js";
import { Variables } from "./variables.js";

const LIST_EVERY = 10000;
// The editor is most of the page's code: sessions and states are shown before it is there.
const notebookModule = import("./notebook.js");

const place = (id) => document.getElementById(id);

class Page {
    constructor() {
        this.session = null;
        this.notebook = null;
        this.sessions = new Sessions(place("left"), (name, options) => this.open(name, options));
        this.tree = new Tree(place("left"), (name) => this.open(name), () => this.sessions.refresh());
        this.approvals = new Approvals(place("right"));
        this.files = new Files(place("right"));
        this.variables = new Variables(place("right"));
        this.activity = new Activity(place("right"));
        this.usage = new Usage(place("right"));
        this.terminal = new TerminalTab();
        this.panels = [this.tree, this.approvals, this.files, this.variables, this.activity, this.usage, this.terminal];
        this.refresh = debounced(120, () => this.refreshNow());
        this.makeTools();
        this.makeTabs();
        this.makeSwitch();
        addEventListener("hashchange", () => this.open(decodeURIComponent(location.hash.slice(1)) || null));
    }

    async start() {
        try {
            await this.sessions.refresh();
        } catch (error) {
            if (error.status !== 401) throw error;
            await (await import("./login.js")).login();
            await this.sessions.refresh();
        }
        const wanted = decodeURIComponent(location.hash.slice(1));
        const known = this.sessions.list.map((one) => one.id);
        this.open(known.includes(wanted) ? wanted : (known[0] ?? null));
        setInterval(() => { if (!document.hidden) this.sessions.refresh().catch(() => {}); }, LIST_EVERY);
    }

    // -- the session that is shown ---------------------------------------------------------------------

    /** Show a session, or none; with `edits`, its last cell is ready to be written in. */
    async open(session, { edits = false } = {}) {
        if (session === this.session && this.notebook) return;
        this.unfollow?.();
        this.notebook?.close();
        this.notebook = null;
        this.session = this.sessions.current = session;
        this.sessions.show();
        place("toolbar").hidden = place("tabs").hidden = session === null;
        place("right").classList.toggle("blank", session === null);
        document.title = session ? `${session} – planaria` : "planaria";
        history.replaceState(null, "", session ? `#${encodeURIComponent(session)}` : location.pathname);
        for (const panel of this.panels) panel.open(session);
        this.showTab("cells");
        if (session === null) { this.showNothing(); return; }
        place("cells").replaceChildren();
        this.status("Connecting…");
        place("columns").dataset.pane = "notebook";
        this.showSwitch();
        const { Notebook } = await notebookModule;
        if (this.session !== session || this.notebook) return;
        this.edits = edits;
        this.notebook = new Notebook(session, place("cells"), () => this.changed());
        this.unfollow = follow(session, (name, data) => this.take(name, data), (state) => this.tell(state));
    }

    showNothing() {
        this.status("");
        place("cells").replaceChildren(
            element(
                "div",
                { class: "empty" },
                element("h2", { text: "No session is open" }),
                element("p", { text: "A session runs Python and bash in a sandbox, and can be taken back to any of its states." }),
                button("Create a session", () => this.sessions.add(""), { kind: "primary" }),
            ),
        );
    }

    take(name, data) {
        this.notebook.take(name, data);
        if (name === "notebook") {
            this.terminal.replace(data.terminal);
            this.activity.replace(data.activity);
            if (this.edits) this.notebook.edit(this.notebook.cells.at(-1));
            this.edits = false;
            this.refresh();
        }
        if (name === "terminal") this.terminal.write(data.text);
        if (name === "ended") this.activity.add(data);
        if (name === "changed" || name === "ended") this.refresh();
        if (name === "calls" || name === "notebook") this.approvals.refresh().catch(() => {});
    }

    /** What is shown beside the cells, once nothing runs: the server answers such questions then. */
    async refreshNow() {
        if (!this.session || !this.notebook || this.notebook.isBusy) return;
        const { session } = this;
        let found;
        try {
            found = await get(`/sessions/${session}/overview?path=${encodeURIComponent(this.files.path)}`);
        } catch (error) {
            if (error.status !== 404 && error.status !== 409) notice(error.message);
            return;
        }
        if (session !== this.session) return;
        for (const one of [this.tree, this.variables, this.files, this.usage, this.approvals, this.sessions]) one.take(found);
        this.markUndone();
    }

    markUndone() {
        for (const cell of this.notebook?.cells ?? []) {
            const gone = cell.count !== null && !["running", "waiting"].includes(cell.state) && this.tree.nodes.length > 0 && !this.tree.has(cell.count, cell.ran);
            cell.markUndone(gone);
        }
    }

    changed() {
        const busy = this.notebook?.isBusy;
        document.body.classList.toggle("busy", Boolean(busy));
        const waits = this.notebook?.cells.some((cell) => cell.state === "waiting");
        this.stop.disabled = !busy && !waits;
        this.status(busy ? "Running" : waits ? "Waiting for you" : "Ready");
    }

    tell(state) {
        if (state === "lost") this.status("The connection is lost; trying again…");
        else if (state === "gone") { notice(`the session ${this.session} is gone`, "info"); this.sessions.refresh().then((list) => this.open(list[0]?.id ?? null)); }
        else if (state === "locked") location.reload();
    }

    status(text) {
        if (place("status").textContent !== text) place("status").textContent = text;
    }

    // -- what is around it -----------------------------------------------------------------------------

    makeTools() {
        this.stop = button("Interrupt", () => this.notebook.interrupt(), { icon: "stop", kind: "quiet", title: "Interrupt (i i)", id: "interrupt" });
        place("toolbar").append(
            button("Run the cell", () => this.notebook.runAndStep(this.notebook.selected), { icon: "run", kind: "quiet", title: "Run and go on (Shift+Enter)" }),
            button("Run all", () => this.notebook.runAll(), { icon: "run-all", kind: "quiet", title: "Run all cells" }),
            this.stop,
            button("Add a cell", () => this.notebook.edit(this.notebook.insert(this.notebook.selected, 1)), { icon: "add", kind: "quiet", title: "Add a cell below (b)" }),
            button("Import a notebook", () => this.withFiles(({ importNotebook }) => importNotebook(this.session)), { icon: "upload", kind: "quiet", title: "Import .ipynb" }),
            button("Export the notebook", () => this.withFiles(({ exportNotebook }) => exportNotebook(this.session, this.notebook.cells)), { icon: "download", kind: "quiet", title: "Export .ipynb" }),
            button("Keys", () => attempt(async () => (await import("./keys.js")).showKeys()), { icon: "keys", kind: "quiet", title: "Keys" }),
        );
    }

    /** Do something with what reads and writes .ipynb files. */
    withFiles(action) {
        return attempt(async () => action(await import("./notebook_file.js")));
    }

    makeTabs() {
        const tab = (name, text) => element("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": name, "aria-selected": String(name === "cells"), on: { click: () => this.showTab(name) } }, text);
        const list = element("div", { class: "tabs", role: "tablist", "aria-label": "Views of the session", id: "tabs", hidden: true }, tab("cells", "Notebook"), tab("shell", "Shell"));
        list.addEventListener("keydown", (event) => {
            if (event.key === "ArrowLeft" || event.key === "ArrowRight") { const other = this.tab === "cells" ? "shell" : "cells"; this.showTab(other); place(`tab-${other}`).focus(); }
        });
        place("centre").prepend(list);
        place("centre").append(this.terminal.element);
        for (const name of ["cells", "shell"]) {
            place(name).setAttribute("role", "tabpanel");
            place(name).setAttribute("aria-labelledby", `tab-${name}`);
        }
    }

    showTab(name) {
        this.tab = name;
        for (const one of ["cells", "shell"]) {
            place(one).hidden = one !== name;
            place(`tab-${one}`).setAttribute("aria-selected", String(one === name));
            place(`tab-${one}`).tabIndex = one === name ? 0 : -1;
        }
        if (name === "shell") this.terminal.show();
    }

    /** On narrow screens one part of the page is shown at a time. */
    makeSwitch() {
        const parts = { sessions: "Sessions", notebook: "Notebook", details: "Details" };
        for (const [name, text] of Object.entries(parts)) {
            place("switch").append(element("button", { type: "button", "data-pane": name, on: { click: () => { place("columns").dataset.pane = name; this.showSwitch(); } } }, text));
        }
        this.showSwitch();
    }

    showSwitch() {
        for (const one of place("switch").children) one.setAttribute("aria-pressed", String(one.dataset.pane === place("columns").dataset.pane));
    }
}

const page = new Page();
page.start().catch((error) => { notice(error.message); page.status("The server cannot be reached"); });
