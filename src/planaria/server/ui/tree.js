// The tree of a session's states: what was executed, checkpoints, branches that were left, and forks.
import { get, post } from "./api.js";
import { attempt, button, dialog, element, notice } from "./dom.js";
import { icon } from "./icons.js";
import { firstLine, placeOf, titleOf } from "./states.js";
import { hierarchy } from "./vendor/d3_hierarchy.js";

const ROW = 30;
const LANE = 14;
const MOST_LANES = 8;
const MOST_ROWS = 200;
const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
}

export class Tree {
    /** @param choose is called with the name of a fork that was clicked; `listed()` when sessions were made. */
    constructor(place, choose, listed) {
        Object.assign(this, { choose, listed, session: null, nodes: [], forks: [], selected: null, showsAll: false });
        this.rows = element("ul", { class: "tree", role: "tree", "aria-label": "States", on: { keydown: (event) => this.key(event) } });
        this.detail = element("div", { class: "detail" });
        this.undoButton = button("Undo", () => this.go("/undo"), { title: "Take the last execution back" });
        this.redoButton = button("Redo", () => this.go("/redo"), { title: "Take the undo back" });
        this.place = element(
            "section",
            { class: "states", "aria-label": "States", hidden: true },
            element("div", { class: "heading" }, element("h2", { text: "States" })),
            element("div", { class: "buttons" }, this.undoButton, this.redoButton, button("Checkpoint", () => this.checkpoint()), button("Fork", () => this.fork(null))),
            this.rows,
            this.detail,
        );
        place.append(this.place);
    }

    open(session) {
        this.session = session;
        this.selected = null;
        this.nodes = [];
        this.showsAll = false;
        this.place.hidden = session === null;
        this.rows.replaceChildren();
        this.detail.replaceChildren();
    }

    async refresh() {
        const session = this.session;
        if (!session) return;
        const tree = await get(`/sessions/${session}/tree`);
        if (session === this.session) this.take({ tree });
    }

    take({ tree }) {
        this.nodes = tree.nodes;
        this.forks = tree.forks;
        this.show();
    }

    /** The states that lead to the present one, by their numbers. */
    path() {
        const byId = new Map(this.nodes.map((node) => [node.id, node]));
        const found = new Set();
        for (let node = this.nodes.find((one) => one.current); node; node = byId.get(node.parent)) found.add(node.id);
        return found;
    }

    /** Whether an execution led to the present state. */
    has(count, code) {
        const path = this.path();
        return this.nodes.some((node) => node.execution === count && path.has(node.id) && node.code === code);
    }

    layout() {
        const path = this.path();
        const children = new Map();
        for (const node of this.nodes) {
            if (node.parent === null) continue;
            if (!children.has(node.parent)) children.set(node.parent, []);
            children.get(node.parent).push(node);
        }
        const root = this.nodes.find((node) => node.parent === null);
        if (!root) return [];
        const tree = hierarchy(root, (node) => children.get(node.id));
        // What leads to the present state goes straight down; other branches come first, beside it.
        const rows = [];
        const pending = [[tree, 0]];
        while (pending.length) {
            const [node, lane] = pending.pop();
            node.lane = Math.min(lane, MOST_LANES);
            rows.push(node);
            if (path.has(node.data.id)) {
                const forks = this.forks.filter((fork) => fork.parent.executions === node.data.execution);
                rows.push(...forks.map((fork) => ({ fork, lane: node.lane + 1, parent: node })));
            }
            const under = [...(node.children ?? [])].sort((one, other) => path.has(other.data.id) - path.has(one.data.id));
            under.forEach((child, index) => pending.push([child, index ? lane + 1 : lane]));
        }
        rows.forEach((row, index) => { row.index = index; });
        return rows;
    }

    show() {
        const rows = this.layout();
        const path = this.path();
        const hidden = this.showsAll ? 0 : Math.max(0, rows.length - MOST_ROWS);
        const shown = rows.slice(hidden);
        const selected = this.nodes.find((node) => node.id === this.selected);
        if (!selected) this.selected = null;
        const lines = this.lines(shown, path, hidden);
        const focused = this.rows.contains(document.activeElement);
        this.rows.replaceChildren(...shown.map((row) => (row.fork ? this.forkRow(row) : this.row(row, path))));
        this.rows.prepend(lines);
        const first = this.rows.querySelector('[aria-selected="true"]') ?? this.rows.querySelector('[aria-current="true"]') ?? this.rows.querySelector('[role="treeitem"]');
        if (first) { first.tabIndex = 0; if (focused) first.focus({ preventScroll: true }); }
        this.earlier?.remove();
        if (hidden) {
            this.earlier = button(`Show ${hidden} earlier states`, () => { this.showsAll = true; this.show(); }, { kind: "quiet" });
            this.rows.before(this.earlier);
        }
        this.undoButton.disabled = !this.nodes.some((node) => node.current && node.execution > 0);
        this.showDetail(selected);
    }

    lines(rows, path, hidden) {
        const x = (row) => 12 + LANE * row.lane;
        const y = (row) => ROW * (row.index - hidden) + ROW / 2;
        const drawing = svg("svg", { class: "lines", width: 12 + LANE * (MOST_LANES + 2), height: Math.max(1, ROW * rows.length), "aria-hidden": "true" });
        for (const row of rows) {
            const parent = row.parent;
            if (!parent) continue;
            const [x0, y0, x1, y1] = [x(parent), y(parent), x(row), y(row)];
            const d = x0 === x1 ? `M${x0} ${y0}V${y1}` : `M${x0} ${y0}V${y1 - ROW}C${x0} ${y1 - ROW / 2} ${x1} ${y1 - ROW / 2} ${x1} ${y1}`;
            drawing.append(svg("path", { d, class: row.fork ? "fork" : path.has(row.data.id) ? "on" : "off" }));
        }
        for (const row of rows) {
            if (row.fork) { drawing.append(svg("rect", { x: x(row) - 4, y: y(row) - 4, width: 8, height: 8, rx: 2, class: "fork" })); continue; }
            const { current, kept, error, labels } = row.data;
            const kind = [current ? "current" : path.has(row.data.id) ? "on" : "off", kept || current ? "kept" : "", error ? "error" : ""].join(" ");
            drawing.append(svg("circle", { cx: x(row), cy: y(row), r: current ? 6 : labels.length ? 5 : 4, class: kind }));
        }
        return drawing;
    }

    row(row, path) {
        const node = row.data;
        const said = [node.labels.length ? "checkpoint" : "", node.current ? "present state" : "", node.error ? `failed: ${node.error}` : "", node.kept || node.current ? "" : "not kept"];
        return element(
            "li",
            {
                role: "treeitem", class: `state ${path.has(node.id) ? "on" : "off"}`, tabindex: "-1", "data-node": node.id, "data-execution": node.execution,
                style: `padding-left:${26 + LANE * row.lane}px`, "aria-level": row.depth + 1,
                "aria-selected": String(node.id === this.selected), "aria-current": node.current ? "true" : null, on: { click: () => this.select(node) },
            },
            element("span", { class: "count", text: node.execution ? String(node.execution) : "" }),
            element("code", { text: node.execution ? firstLine(node.code) : "start" }),
            node.labels.map((label) => element("span", { class: "label", text: label })),
            element("span", { class: "said", text: said.filter(Boolean).join(", ") }),
        );
    }

    forkRow(row) {
        const choose = () => this.choose(row.fork.id);
        return element(
            "li",
            { role: "treeitem", class: "state forked", tabindex: "-1", "aria-level": row.parent.depth + 2, "aria-selected": "false", style: `padding-left:${26 + LANE * row.lane}px`, on: { click: choose } },
            element("span", { class: "label fork" }, icon("fork"), row.fork.id),
            element("span", { class: "said", text: "fork" }),
        );
    }

    key(event) {
        const rows = [...this.rows.querySelectorAll('[role="treeitem"]')];
        const index = rows.indexOf(document.activeElement);
        const to = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: rows.length - 1 }[event.key];
        if (to !== undefined) {
            event.preventDefault();
            const next = rows[Math.min(rows.length - 1, Math.max(0, to))];
            rows[index]?.setAttribute("tabindex", "-1");
            next.tabIndex = 0;
            next.focus();
        } else if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            document.activeElement.click();
        }
    }

    select(node) {
        this.selected = this.selected === node.id ? null : node.id;
        this.show();
    }

    showDetail(node) {
        if (!node) { this.detail.replaceChildren(); return; }
        const place = placeOf(node);
        const can = place !== null || node.current;
        const shown = [
            element("h3", { text: node.execution ? `After execution ${node.execution}` : "The beginning" }),
            node.code ? element("pre", { class: "text", tabindex: "0", text: node.code }) : null,
            node.error ? element("p", { class: "problem", text: node.error }) : null,
            can ? null : element("p", { class: "hint", text: "This state was not kept: it can be looked at, not gone to." }),
            element(
                "div",
                { class: "buttons" },
                button("Rewind to here", () => this.rewind(node), { kind: "primary", disabled: place === null || node.current }),
                button("Fork from here", () => this.fork(node), { disabled: !can }),
                button("Compare", () => this.compare(node), { disabled: !can }),
            ),
        ];
        this.detail.replaceChildren(...shown.filter(Boolean));
    }

    go(path, body = {}) {
        return attempt(() => post(`/sessions/${this.session}${path}`, body));
    }

    /** Go back; the state that is left keeps a name, so that its branch can be gone to again. */
    async rewind(node) {
        const present = this.nodes.find((one) => one.current);
        await attempt(async () => {
            if (present?.execution && !present.labels.length && !this.nodes.some((one) => one.parent === present.id)) {
                const taken = new Set(this.nodes.flatMap((one) => one.labels));
                let number = 1;
                while (taken.has(`left ${number}`)) number += 1;
                await post(`/sessions/${this.session}/checkpoint`, { label: `left ${number}` });
            }
            await post(`/sessions/${this.session}/rewind`, { to: placeOf(node) });
            notice(`went back to ${titleOf(node)}`, "info");
        });
    }

    compare(node) {
        return attempt(async () => (await import("./compare.js")).compareStates(this.session, this.nodes, this.forks, node));
    }

    async checkpoint() {
        const label = element("input", { id: "label", required: true, maxlength: "200", autocomplete: "off" });
        const form = element(
            "form",
            { class: "form", method: "dialog" },
            element("label", { for: "label", text: "Label" }),
            label,
            element("p", { class: "hint", text: "The present state stays, and can be gone back to by this name." }),
            element("button", { class: "button primary", type: "submit", text: "Keep" }),
        );
        const shown = dialog("Checkpoint", form, { kind: "narrow" });
        form.addEventListener("submit", (event) => { event.preventDefault(); shown.close(label.value.trim()); });
        const given = await shown.closed;
        if (given) await this.go("/checkpoint", { label: given });
    }

    /** A name for a fork: that of the session, and a number. */
    async freeName() {
        const { sessions } = await get("/sessions");
        const taken = new Set(sessions.map((one) => one.id));
        const stem = this.session.slice(0, 56);
        let number = 1;
        while (taken.has(`${stem}-fork-${number}`)) number += 1;
        return `${stem}-fork-${number}`.slice(0, 64);
    }

    async fork(node) {
        const at = node && !node.current ? placeOf(node) : null;
        await attempt(async () => {
            const made = await post(`/sessions/${this.session}/fork`, { ids: [await this.freeName()], ...(at === null ? {} : { at }) });
            const [copy] = made.sessions;
            await this.listed();
            await this.refresh();
            notice(`forked as ${copy.id}`, "info");
        });
    }
}
