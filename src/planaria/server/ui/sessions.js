// The list of sessions, and what can be done with them as a whole.
import { get, post, remove } from "./api.js";
import { attempt, button, dialog, element } from "./dom.js";

export class Sessions {
    /** @param choose is called with the name of a session to show, or null. */
    constructor(place, choose) {
        Object.assign(this, { choose, list: [], current: null });
        this.items = element("ul", { class: "sessions" });
        place.append(
            element("div", { class: "heading" }, element("h2", { text: "Sessions" }), button("New session", () => this.create(), { icon: "add", kind: "quiet" })),
            this.items,
        );
    }

    async refresh() {
        const found = await get("/sessions");
        this.list = found.sessions;
        this.show();
        return this.list;
    }

    take({ session }) {
        const index = this.list.findIndex((one) => one.id === session.id);
        if (index >= 0) this.list[index] = session;
        this.show();
    }

    show() {
        this.items.replaceChildren(...this.list.map((one) => this.item(one)));
        if (!this.list.length) this.items.append(element("li", { class: "hint", text: "There is none yet." }));
    }

    item(session) {
        const isCurrent = session.id === this.current;
        const about = [`${session.executions} ${session.executions === 1 ? "execution" : "executions"}`];
        if (session.parent) about.push(`from ${session.parent.session}`);
        if (!session.live) about.push("parked");
        return element(
            "li",
            { class: isCurrent ? "session current" : "session" },
            element(
                "button",
                { type: "button", class: "session-name", "aria-current": isCurrent ? "true" : null, on: { click: () => this.choose(session.id) } },
                element("span", { class: session.live ? "dot live" : "dot", "aria-hidden": "true" }),
                element("span", { class: "name", text: session.id }),
                element("span", { class: "about", text: about.join(" · ") }),
            ),
            button(`Delete the session ${session.id}`, () => this.remove(session), { icon: "close", kind: "quiet" }),
        );
    }

    async create() {
        const name = element("input", { id: "new-name", pattern: "[A-Za-z0-9][A-Za-z0-9_-]{0,63}", placeholder: this.freeName(), autocomplete: "off" });
        const form = element(
            "form",
            { class: "form", method: "dialog" },
            element("label", { for: "new-name", text: "Name" }),
            name,
            element("button", { class: "button primary", type: "submit", text: "Create" }),
        );
        const shown = dialog("New session", form, { kind: "narrow" });
        form.addEventListener("submit", (event) => { event.preventDefault(); shown.close({ name: name.value.trim() }); });
        const given = await shown.closed;
        if (given) await this.add(given.name);
    }

    add(name) {
        return attempt(async () => {
            const made = await post("/sessions", { id: name || this.freeName(), input: true });
            await this.refresh();
            await this.choose(made.id, { edits: true });
        });
    }

    freeName() {
        const taken = new Set(this.list.map((one) => one.id));
        let number = 1;
        while (taken.has(`notebook-${number}`)) number += 1;
        return `notebook-${number}`;
    }

    async remove(session) {
        const form = element(
            "form",
            { class: "form", method: "dialog" },
            element("p", { text: `${session.id} and all that it has, its files too, will be gone.` }),
            element("button", { class: "button danger", type: "submit", text: "Delete" }),
        );
        const shown = dialog("Delete this session?", form, { kind: "narrow" });
        form.addEventListener("submit", (event) => { event.preventDefault(); shown.close(true); });
        if (!(await shown.closed)) return;
        await attempt(async () => {
            await remove(`/sessions/${session.id}`);
            await this.refresh();
            if (session.id === this.current) this.choose(this.list[0]?.id ?? null);
        });
    }
}
