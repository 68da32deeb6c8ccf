// The shell of a session in a terminal. Its lines are edited here and sent whole; what it prints is the same for all.
import { post, query } from "./api.js";
import { element, notice } from "./dom.js";

const PROMPT = "$ ";
const MORE = "> ";

const wide = matchMedia("(prefers-color-scheme: dark)");

function themeOf(place) {
    const style = getComputedStyle(place);
    const of = (name) => style.getPropertyValue(name).trim();
    const probe = (name) => { place.style.color = `var(${name})`; const found = getComputedStyle(place).color; place.style.color = ""; return found; };
    return { background: probe("--page"), foreground: probe("--ink"), cursor: probe("--accent"), selectionBackground: of("--selection-plain") || "#88aabb66" };
}

export class TerminalTab {
    constructor() {
        this.place = element("div", { class: "terminal" });
        this.element = element("div", { id: "shell", hidden: true }, this.place, element("p", { class: "hint", text: "Tab completes, the arrows go through what was typed, Ctrl+C interrupts. Esc, then Tab, leaves the terminal." }));
        this.session = null;
        this.terminal = null;
        this.text = "";
        this.history = [];
        this.reset();
    }

    reset() {
        Object.assign(this, { line: "", cursor: 0, before: "", isBusy: false, isPrompted: false, recalled: 0 });
    }

    open(session) {
        this.session = session;
        this.text = "";
        this.history = [];
        this.reset();
        this.terminal?.reset();
    }

    async show() {
        if (!this.terminal) {
            const { FitAddon, Terminal } = await import("./vendor/xterm.js");
            if (!document.querySelector("link[data-xterm]")) {
                const sheet = element("link", { rel: "stylesheet", href: new URL("./vendor/xterm.css", import.meta.url).href, "data-xterm": "" });
                await new Promise((resolve) => { sheet.addEventListener("load", resolve); document.head.append(sheet); });
            }
            if (this.terminal) return;
            this.terminal = new Terminal({ convertEol: true, fontFamily: "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace", fontSize: 13, screenReaderMode: true, cursorBlink: false, theme: themeOf(this.place) });
            this.fit = new FitAddon();
            this.terminal.loadAddon(this.fit);
            this.terminal.open(this.place);
            this.terminal.onData((data) => this.typed(data));
            this.terminal.attachCustomKeyEventHandler((event) => {
                if (event.key === "Escape") { this.mayLeave = true; return true; }
                if (event.key === "Tab" && this.mayLeave) { this.mayLeave = false; return false; }
                this.mayLeave = false;
                return true;
            });
            new ResizeObserver(() => { if (this.place.offsetWidth) this.fit.fit(); }).observe(this.place);
            wide.addEventListener("change", () => { this.terminal.options.theme = themeOf(this.place); });
            this.terminal.write(this.text);
        }
        this.fit.fit();
        if (!this.isPrompted && !this.isBusy) this.prompt();
        this.terminal.focus();
    }

    /** Show all that the terminal has. */
    replace(text) {
        this.text = text;
        if (!this.terminal) return;
        this.terminal.reset();
        this.terminal.write(text);
        this.isPrompted = false;
        if (!this.isBusy) this.prompt();
    }

    /** More output, of a command that was typed here or in another browser. */
    write(text) {
        this.text += text;
        if (!this.terminal) return;
        this.unprompt();
        this.terminal.write(text);
        clearTimeout(this.later);
        this.later = setTimeout(() => { if (!this.isBusy) this.prompt(); }, 150);
    }

    prompt() {
        if (!this.terminal || this.isPrompted) return;
        if (this.text && !this.text.endsWith("\n")) { this.text += "\n"; this.terminal.write("\n"); }
        this.isPrompted = true;
        this.draw();
    }

    unprompt() {
        if (!this.isPrompted) return;
        this.terminal.write(`\r${this.up()}\x1b[J`);
        this.isPrompted = false;
        this.rows = 0;
    }

    up() {
        return this.rows ? `\x1b[${this.rows}A` : "";
    }

    draw() {
        const prompt = this.before ? MORE : PROMPT;
        const width = Math.max(1, this.terminal.cols);
        const at = [...prompt, ...this.line.slice(0, this.cursor)].length;
        const end = [...prompt, ...this.line].length;
        this.terminal.write(`\r${this.up()}\x1b[J\x1b[36m${prompt}\x1b[0m${this.line}`);
        const rowOfEnd = Math.floor(Math.max(0, end - 1) / width);
        const row = Math.floor(at / width);
        if (at === end && end % width === 0) this.terminal.write("\r\n");
        else if (rowOfEnd > row) this.terminal.write(`\x1b[${rowOfEnd - row}A`);
        this.terminal.write(`\r${at % width ? `\x1b[${at % width}C` : ""}`);
        this.rows = row;
    }

    typed(data) {
        if (this.isBusy) {
            if (data === "\x03") post(`/sessions/${this.session}/interrupt`).catch((error) => notice(error.message));
            return;
        }
        const edits = {
            "\x7f": () => { if (this.cursor) { this.line = this.line.slice(0, this.cursor - 1) + this.line.slice(this.cursor); this.cursor -= 1; } },
            "\x1b[3~": () => { this.line = this.line.slice(0, this.cursor) + this.line.slice(this.cursor + 1); },
            "\x1b[D": () => { this.cursor = Math.max(0, this.cursor - 1); },
            "\x1b[C": () => { this.cursor = Math.min(this.line.length, this.cursor + 1); },
            "\x1b[A": () => this.recall(1),
            "\x1b[B": () => this.recall(-1),
            "\x01": () => { this.cursor = 0; }, "\x1b[H": () => { this.cursor = 0; },
            "\x05": () => { this.cursor = this.line.length; }, "\x1b[F": () => { this.cursor = this.line.length; },
            "\x15": () => { this.line = this.line.slice(this.cursor); this.cursor = 0; },
            "\x0b": () => { this.line = this.line.slice(0, this.cursor); },
            "\x17": () => { const kept = this.line.slice(0, this.cursor).replace(/\S+\s*$/, ""); this.line = kept + this.line.slice(this.cursor); this.cursor = kept.length; },
            "\x03": () => { this.line = this.before = ""; this.cursor = 0; },
            "\x0c": () => { this.terminal.write("\x1b[2J\x1b[H"); this.rows = 0; },
        };
        if (edits[data]) { edits[data](); this.draw(); return; }
        if (data === "\t") { this.complete(); return; }
        if (data === "\x1b") return;
        const lines = data.replace(/\r\n?/g, "\n").split("\n");
        this.line = this.line.slice(0, this.cursor) + lines.join("\n") + this.line.slice(this.cursor);
        this.cursor += lines.join("\n").length;
        if (lines.length > 1) { this.line = this.line.replace(/\n$/, ""); this.cursor = Math.min(this.cursor, this.line.length); this.enter(); } else this.draw();
    }

    recall(by) {
        const to = Math.min(this.history.length, Math.max(0, this.recalled + by));
        this.recalled = to;
        this.line = to ? this.history.at(-to) : "";
        this.cursor = this.line.length;
    }

    async complete() {
        try {
            const text = this.before + this.line;
            const at = [...(this.before + this.line.slice(0, this.cursor))].length;
            const { matches, start, end } = await query(this.session, "bash_complete", text, at);
            if (!matches.length) return;
            let common = matches[0];
            for (const one of matches) while (!one.startsWith(common)) common = common.slice(0, -1);
            const characters = [...text];
            const typed = characters.slice(start, end).join("");
            if (common.length > typed.length || matches.length === 1) {
                const offset = [...this.before].length;
                const rest = characters.slice(end).join("");
                const head = characters.slice(offset, start).join("") + common;
                this.line = head + rest;
                this.cursor = head.length;
            } else {
                this.terminal.write(`\r\n${matches.slice(0, 100).join("  ")}\r\n`);
                this.rows = 0;
            }
            this.draw();
        } catch { /* something runs: it cannot be asked now */ }
    }

    async enter() {
        const script = this.before + this.line;
        if (!script.trim()) { this.terminal.write("\r\n"); this.rows = 0; this.line = this.before = ""; this.cursor = 0; this.draw(); return; }
        this.isBusy = true;
        try {
            if (!(await query(this.session, "bash_is_complete", script))) {
                this.terminal.write("\r\n");
                Object.assign(this, { before: `${script}\n`, line: "", cursor: 0, rows: 0, isBusy: false });
                this.draw();
                return;
            }
            this.history = [...this.history.filter((one) => one !== script), script].slice(-500);
            this.recalled = 0;
            this.unprompt();
            Object.assign(this, { before: "", line: "", cursor: 0 });
            await post(`/sessions/${this.session}/bash`, { script, cell: "terminal" });
        } catch (error) {
            notice(error.message);
        }
        this.isBusy = false;
        setTimeout(() => this.prompt(), 30);
    }
}
