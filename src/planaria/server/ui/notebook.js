// The notebook of a session: its cells in order, the selected one, and the keys that Jupyter has.
import { post, put, query, remove } from "./api.js";
import { Cell } from "./cell.js";
import { attempt, dialog, element, notice } from "./dom.js";

const CLIENT = Math.random().toString(36).slice(2);
const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(6)), (one) => one.toString(16).padStart(2, "0")).join("");

export class Notebook {
    /** @param place the element that the cells are in; `changed()` is called when cells come, go, begin or end. */
    constructor(session, place, changed) {
        Object.assign(this, { session, place, changed, cells: [], selected: null, removed: [], isBusy: false, lastKey: "" });
        this.onKey = (event) => this.key(event);
        document.addEventListener("keydown", this.onKey);
    }

    close() {
        document.removeEventListener("keydown", this.onKey);
        for (const cell of this.cells) {
            if (cell.save.isWaiting()) this.save(cell);
            cell.destroy();
        }
        this.place.replaceChildren();
    }

    path(rest) {
        return `/sessions/${this.session}${rest}`;
    }

    find(id) {
        return this.cells.find((cell) => cell.id === id);
    }

    numberOf(cell) {
        return this.cells.indexOf(cell) + 1;
    }

    // -- what the server tells -------------------------------------------------------------------------

    take(name, data) {
        const cell = data.cell === undefined ? null : this.find(data.cell);
        switch (name) {
            case "notebook": this.replace(data.cells); break;
            case "cell": this.placed(data); break;
            case "removed": this.dropped(this.find(data.id)); break;
            case "begun": (cell ?? this.added(data.cell, data)).setKind(data.kind); this.begun(this.find(data.cell), data); break;
            case "state": cell?.end({ state: data.state }); break;
            case "text": cell?.outputs.addText(data.name, data.text); break;
            case "output": cell?.outputs.put(data.index, data.output); break;
            case "ended": cell?.end(data); break;
            default: return;
        }
        this.isBusy = this.cells.some((one) => one.state === "running");
        if (name !== "text" && name !== "output") this.changed();
    }

    begun(cell, { source }) {
        if (!cell.editor.hasFocus || !cell.save.isWaiting()) cell.editor.text = source;
        cell.begin("running", source);
    }

    replace(list) {
        const known = new Map(this.cells.map((cell) => [cell.id, cell]));
        this.cells = list.map((one) => {
            const cell = known.get(one.id);
            known.delete(one.id);
            if (!cell) return new Cell(this, one);
            cell.update(one);
            return cell;
        });
        for (const cell of known.values()) cell.destroy();
        this.arrange();
        if (!this.cells.includes(this.selected)) this.selected = null;
        if (!this.cells.length) this.insert(null, 1, "code");
        else if (!this.selected) this.select(this.cells.at(-1));
    }

    arrange() {
        this.cells.forEach((cell, index) => {
            if (this.place.children[index] !== cell.element) this.place.insertBefore(cell.element, this.place.children[index] ?? null);
            cell.rename();
        });
    }

    added(id, { kind, source }, index = this.cells.length) {
        const cell = new Cell(this, { id, kind, source });
        this.cells.splice(index, 0, cell);
        this.arrange();
        return cell;
    }

    placed({ id, kind, source, after, client }) {
        if (client === CLIENT) return;
        const cell = this.find(id) ?? this.added(id, { kind, source });
        cell.setKind(kind);
        if (!cell.save.isWaiting()) cell.editor.text = source;
        cell.show();
        this.cells.splice(this.cells.indexOf(cell), 1);
        const before = this.find(after);
        this.cells.splice(before ? this.cells.indexOf(before) + 1 : 0, 0, cell);
        this.arrange();
    }

    dropped(cell) {
        if (!cell) return;
        const index = this.cells.indexOf(cell);
        this.cells.splice(index, 1);
        if (this.selected === cell) this.selected = null;
        cell.destroy();
        this.arrange();
        if (!this.selected && this.cells.length) this.select(this.cells[Math.min(index, this.cells.length - 1)]);
    }

    // -- cells -----------------------------------------------------------------------------------------

    save(cell, after = undefined) {
        cell.save.cancel();
        const body = { kind: cell.kind, source: cell.source, client: CLIENT };
        if (after !== undefined) body.after = after;
        return attempt(() => put(this.path(`/notebook/cells/${cell.id}`), body));
    }

    afterOf(cell) {
        return this.cells[this.cells.indexOf(cell) - 1]?.id ?? "";
    }

    insert(beside, direction, kind = "code", { source = "" } = {}) {
        const index = beside ? this.cells.indexOf(beside) + (direction > 0 ? 1 : 0) : this.cells.length;
        const cell = this.added(newId(), { kind, source }, index);
        this.save(cell, this.afterOf(cell));
        this.select(cell);
        this.changed();
        return cell;
    }

    async remove(cell) {
        this.removed.push({ kind: cell.kind, source: cell.source, index: this.cells.indexOf(cell) });
        const had = this.selected === cell;
        this.dropped(cell);
        if (!this.cells.length) this.insert(null, 1);
        if (had) this.selected?.element.focus({ preventScroll: true });
        this.changed();
        try {
            await remove(this.path(`/notebook/cells/${cell.id}`));
        } catch (error) {
            if (error.status !== 404) notice(error.message);
        }
    }

    restore() {
        const found = this.removed.pop();
        if (found) this.insert(this.cells[found.index] ?? null, -1, found.kind, { source: found.source });
    }

    copy(cell) {
        this.copied = { kind: cell.kind, source: cell.source };
    }

    paste(beside, direction) {
        const { copied } = this;
        if (copied) this.leave(this.insert(beside, direction, copied.kind, { source: copied.source }));
    }

    move(cell, by) {
        const index = this.cells.indexOf(cell);
        const target = index + by;
        if (target < 0 || target >= this.cells.length) return;
        this.cells.splice(index, 1);
        this.cells.splice(target, 0, cell);
        this.arrange();
        this.select(cell);
        this.save(cell, this.afterOf(cell));
    }

    setKind(cell, kind) {
        cell.setKind(kind);
        this.save(cell);
    }

    /** Make a cell a heading of a level, in Markdown. */
    setHeading(cell, level) {
        cell.editor.text = `${"#".repeat(level)} ${cell.source.replace(/^#+\s*/, "")}`;
        this.setKind(cell, "markdown");
    }

    /** Put the next cell's source at the end of a cell's. */
    async merge(cell) {
        const next = this.cells[this.cells.indexOf(cell) + 1];
        if (!next) return;
        const gap = cell.kind === "markdown" ? "\n\n" : "\n";
        cell.editor.text = [cell.source, next.source].filter(Boolean).join(gap);
        cell.isRendered = false;
        cell.markEdited();
        cell.show();
        this.save(cell);
        await this.remove(next);
    }

    /** Divide a cell where the cursor is; its outputs stay with the second part, as in Jupyter. */
    split(cell) {
        const { text, cursor } = cell.editor;
        const first = this.insert(cell, -1, cell.kind, { source: text.slice(0, cursor).replace(/\n$/, "") });
        first.isRendered = false;
        first.show();
        cell.editor.text = text.slice(cursor).replace(/^\n/, "");
        cell.markEdited();
        this.save(cell);
        cell.editor.moveTo(0);
        this.edit(cell);
    }

    /** Start the session again; files stay. */
    async restart() {
        const form = element("form", { class: "form", method: "dialog" }, element("p", { text: "Variables are forgotten; files stay." }), element("button", { class: "button danger", type: "submit", text: "Start again" }));
        const asked = dialog("Start the session again?", form, { kind: "narrow" });
        form.addEventListener("submit", (event) => { event.preventDefault(); asked.close(true); });
        if (await asked.closed) await attempt(() => post(this.path("/reset")));
    }

    // -- executing -------------------------------------------------------------------------------------

    async run(cell) {
        if (cell.kind === "markdown") {
            cell.isRendered = cell.source.trim() !== "";
            cell.show();
            this.save(cell);
            return true;
        }
        if (!cell.source.trim() || cell.state === "queued") return true;
        cell.save.cancel();
        const before = cell.state;
        cell.begin("queued");
        try {
            const body = cell.kind === "bash" ? { script: cell.source } : { code: cell.source };
            const done = await post(this.path(cell.kind === "bash" ? "/bash" : "/run"), { ...body, cell: cell.id });
            return done.ok && done.exit_code === 0;
        } catch (error) {
            if (cell.state === "queued") { cell.state = before; cell.show(); }
            notice(error.message);
            return false;
        }
    }

    /** Run these one after the other, until one fails. */
    async runAll(cells = [...this.cells]) {
        const runnable = cells.filter((cell) => cell.kind !== "markdown" && cell.source.trim());
        const left = new Set(runnable);
        this.stopsAll = false;
        for (const cell of runnable) {
            left.delete(cell);
            if (!this.cells.includes(cell)) continue;
            if (!(await this.run(cell)) || this.stopsAll) break;
        }
    }

    interrupt() {
        this.stopsAll = true;
        return attempt(() => post(this.path("/interrupt")));
    }

    async complete(kind, text, cursor) {
        if (this.isBusy) return null;
        try {
            return await query(this.session, kind === "bash" ? "bash_complete" : "complete", text, cursor);
        } catch {
            return null; // while something waits, the kernel answers nothing
        }
    }

    // -- selection and keys ----------------------------------------------------------------------------

    select(cell, mode = "command") {
        if (this.selected !== cell) {
            this.selected?.element.classList.remove("selected");
            this.selected = cell;
        }
        cell.element.classList.add("selected");
        cell.element.dataset.mode = mode;
    }

    edit(cell) {
        cell.isRendered = false;
        cell.show();
        cell.editor.focus();
    }

    leave(cell) {
        this.select(cell);
        cell.element.focus({ preventScroll: true });
    }

    step(by) {
        const cell = this.cells[this.cells.indexOf(this.selected) + by];
        if (!cell) return false;
        this.select(cell);
        cell.element.focus({ preventScroll: true });
        cell.element.scrollIntoView({ block: "nearest" });
        return true;
    }

    runAndStep(cell) {
        this.run(cell);
        this.select(cell);
        if (!this.step(1)) this.edit(this.insert(cell, 1));
    }

    /** The keys of the editor of a cell. */
    keysOf(cell) {
        const done = (action) => () => { action(); return true; };
        return [
            { key: "Shift-Enter", run: done(() => this.runAndStep(cell)) },
            { key: "Ctrl-Enter", mac: "Cmd-Enter", run: done(() => { this.run(cell); this.leave(cell); }) },
            { key: "Alt-Enter", run: done(() => { this.run(cell); this.edit(this.insert(cell, 1)); }) },
            { key: "Ctrl-Shift--", mac: "Cmd-Shift--", run: done(() => this.split(cell)) },
            { key: "Ctrl-Shift-_", mac: "Cmd-Shift-_", run: done(() => this.split(cell)) },
            // Not while completions are shown: the editor takes the key then.
            { key: "Escape", run: () => { if (cell.editor.element.querySelector(".cm-tooltip-autocomplete")) return false; this.leave(cell); return true; } },
        ];
    }

    /** Keys while no editor has the focus, as in Jupyter's command mode. */
    key(event) {
        const cell = this.selected;
        const at = document.activeElement;
        const isFree = at === document.body || (at instanceof Element && at.closest(".cell") && !at.closest("input, select, textarea, button, [contenteditable], iframe"));
        if (!cell || !isFree || event.defaultPrevented || document.querySelector("dialog[open]")) return;
        const name = `${event.ctrlKey || event.metaKey ? "Ctrl-" : ""}${event.altKey ? "Alt-" : ""}${event.shiftKey && event.key.length > 1 ? "Shift-" : ""}${event.key}`;
        const twice = this.lastKey === name;
        this.lastKey = name;
        const commands = {
            Enter: () => this.edit(cell),
            "Shift-Enter": () => this.runAndStep(cell),
            "Ctrl-Enter": () => this.run(cell),
            "Alt-Enter": () => { this.run(cell); this.edit(this.insert(cell, 1)); },
            a: () => this.leave(this.insert(cell, -1)),
            b: () => this.leave(this.insert(cell, 1)),
            d: () => { if (twice) { this.lastKey = ""; this.remove(cell); } },
            i: () => { if (twice) { this.lastKey = ""; this.interrupt(); } },
            0: () => { if (twice) { this.lastKey = ""; this.restart(); } },
            z: () => this.restore(),
            c: () => this.copy(cell),
            x: () => { this.copy(cell); this.remove(cell); },
            v: () => this.paste(cell, 1),
            V: () => this.paste(cell, -1),
            m: () => this.setKind(cell, "markdown"),
            y: () => this.setKind(cell, "code"),
            M: () => this.merge(cell),
            o: () => cell.foldOutputs(),
            l: () => cell.editor.toggleNumbers(),
            j: () => this.step(1),
            k: () => this.step(-1),
            ArrowDown: () => this.step(1),
            ArrowUp: () => this.step(-1),
            K: () => this.move(cell, -1),
            J: () => this.move(cell, 1),
        };
        const command = /^[1-6]$/.test(name) ? () => this.setHeading(cell, Number(name)) : commands[name];
        if (command) {
            event.preventDefault();
            command();
        }
    }
}
