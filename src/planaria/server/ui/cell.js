// One cell: its editor, its number, its outputs, and what can be done with it.
import { button, debounced, duration, element } from "./dom.js";
import { Editor } from "./editor.js";
import { Outputs } from "./outputs.js";

const KINDS = { code: "Python", bash: "Bash", markdown: "Markdown" };
const SAVE_AFTER = 700;

export class Cell {
    /** @param owner the notebook: `cells`, `complete`, `save`, `select`, `run`, `keysOf`, `numberOf`, `session`. */
    constructor(owner, { id, kind, source, outputs = [], state = "new", count = null, duration_ms = null }) {
        Object.assign(this, { owner, id, kind, state, count, time: duration_ms, ran: source, isRendered: kind === "markdown" && source.trim() !== "" });
        this.outputs = new Outputs(owner.session, () => this.name);
        this.save = debounced(SAVE_AFTER, () => owner.save(this));
        this.editor = new Editor({
            text: source,
            language: kind,
            label: "Source",
            keys: owner.keysOf(this),
            complete: (text, cursor) => (this.kind === "markdown" ? null : owner.complete(this.kind, text, cursor)),
            changed: () => { this.markEdited(); this.save(); },
            focused: () => owner.select(this, "edit"),
            hint: kind === "markdown" ? "Text in Markdown" : owner.cells.length ? "" : "Python, or bash below; Shift+Enter runs it",
        });
        this.prompt = element("span", { class: "prompt" });
        this.timing = element("span", { class: "timing" });
        this.rendered = element("div", { class: "markdown rendered", on: { dblclick: () => owner.edit(this) } });
        this.kinds = element(
            "select",
            { class: "kind", "aria-label": "Kind of cell", on: { change: () => owner.setKind(this, this.kinds.value) } },
            Object.entries(KINDS).map(([value, text]) => element("option", { value, text })),
        );
        this.kinds.value = kind;
        this.runButton = button("Run this cell", () => owner.run(this), { icon: "run", kind: "quiet run" });
        this.stopButton = button("Interrupt", () => owner.interrupt(), { icon: "stop", kind: "quiet stop" });
        this.element = element(
            "article",
            { class: "cell", id: `cell-${id}`, tabindex: "-1", on: { focus: () => owner.select(this), pointerdown: () => owner.select(this) } },
            element("div", { class: "gutter" }, this.runButton, this.stopButton, this.prompt),
            element(
                "div",
                { class: "body" },
                element("div", { class: "source" }, this.editor.element, this.rendered),
                this.outputs.element,
                element(
                    "div",
                    { class: "cell-tools" },
                    this.kinds,
                    button("Move up", () => owner.move(this, -1), { icon: "up", kind: "quiet" }),
                    button("Move down", () => owner.move(this, 1), { icon: "down", kind: "quiet" }),
                    button("Add a cell below", () => owner.insert(this, 1), { icon: "add", kind: "quiet" }),
                    button("Delete this cell", () => owner.remove(this), { icon: "close", kind: "quiet" }),
                    this.timing,
                ),
            ),
        );
        this.outputs.replace(outputs);
        this.show();
    }

    /** What screen readers call it. */
    get name() {
        return `cell ${this.owner.numberOf(this)}`;
    }

    get source() {
        return this.editor.text;
    }

    markEdited() {
        this.element.classList.toggle("edited", this.state !== "new");
    }

    /** Show the present state. */
    show() {
        const busy = this.state === "running" || this.state === "queued";
        this.element.dataset.state = this.state;
        this.element.dataset.kind = this.kind;
        this.element.setAttribute("aria-busy", String(busy));
        this.prompt.textContent = this.kind === "markdown" ? "" : `[${this.state === "running" ? "*" : this.state === "queued" ? "…" : this.state === "waiting" ? "?" : (this.count ?? " ")}]`;
        const gone = this.isUndone ? " · not part of the present state" : "";
        this.timing.textContent = ({ running: "running", queued: "queued", waiting: "waits for an answer" }[this.state] ?? duration(this.time)) + gone;
        this.element.classList.toggle("undone", Boolean(this.isUndone));
        this.runButton.hidden = busy;
        this.stopButton.hidden = !busy;
        const isShown = this.kind === "markdown" && this.isRendered;
        this.element.classList.toggle("is-rendered", isShown);
        if (isShown) import("./markdown.js").then(({ showMarkdown }) => showMarkdown(this.rendered, this.source));
    }

    /** Hide the outputs, or show them again. */
    foldOutputs() {
        this.element.classList.toggle("folded");
    }

    /** Whether what it has executed is not part of the present state any more. */
    markUndone(isUndone) {
        if (isUndone === Boolean(this.isUndone)) return;
        this.isUndone = isUndone;
        this.show();
    }

    /** Its name has changed, since others came or went. */
    rename() {
        const kind = KINDS[this.kind];
        this.element.setAttribute("aria-label", `${kind} ${this.name}`);
        this.editor.label = `Source of ${this.name}, ${kind}`;
    }

    setKind(kind) {
        if (kind === this.kind) return;
        this.kind = this.kinds.value = kind;
        this.editor.setLanguage(kind);
        this.isRendered = false;
        this.show();
        this.rename();
    }

    /** It is to run, or runs: `source` is what is executed. */
    begin(state = "running", source = this.source) {
        if (state === "running") {
            this.outputs.clear();
            this.ran = source;
        }
        this.state = state;
        this.isUndone = false;
        this.element.classList.remove("edited");
        this.show();
    }

    end({ state, execution_count, duration_ms }) {
        this.state = state;
        if (execution_count !== undefined) this.count = execution_count;
        if (duration_ms !== undefined) this.time = duration_ms;
        this.show();
    }

    /** Become what the server has. */
    update({ kind, source, outputs, state, count, duration_ms }) {
        this.setKind(kind);
        if (!this.save.isWaiting()) this.editor.text = source;
        this.outputs.replace(outputs);
        Object.assign(this, { state, count, time: duration_ms });
        this.show();
    }

    destroy() {
        this.save.cancel();
        this.editor.destroy();
        this.element.remove();
    }
}
