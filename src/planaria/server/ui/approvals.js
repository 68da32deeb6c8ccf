// Calls that wait for somebody: approvals, answers, and lines of input.
import { get, post } from "./api.js";
import { attempt, button, element } from "./dom.js";
import { panel } from "./panel.js";

// What the reasons of calls of tools begin with for which a decision is asked.
const APPROVAL = "approval: ";

export class Approvals {
    constructor(place) {
        ({ element: this.element, content: this.content } = panel(place, "Waiting for you"));
        this.element.hidden = true;
        this.content.setAttribute("aria-live", "polite");
        this.session = null;
        this.known = "";
    }

    open(session) {
        this.session = session;
        this.show([]);
    }

    async refresh() {
        const session = this.session;
        if (!session) return;
        const found = await get(`/sessions/${session}/calls`);
        if (session === this.session) this.show(found.calls);
    }

    take({ calls }) {
        this.show(calls);
    }

    show(calls) {
        const known = JSON.stringify(calls);
        if (known === this.known) return; // what is being typed stays
        this.known = known;
        this.element.hidden = !calls.length;
        if (calls.length) this.element.open = true;
        this.content.replaceChildren(...calls.map((call) => this.card(call)));
    }

    answer(call, body) {
        return attempt(async () => {
            await post(`/sessions/${this.session}/calls/${call.id}`, body);
            await this.refresh();
        });
    }

    card(call) {
        if (call.name === "input" && call.blocking) return this.line(call);
        const isDecision = call.reason.startsWith(APPROVAL);
        const reason = isDecision ? call.reason.slice(APPROVAL.length) : call.reason;
        const given = [...call.args.map((value, index) => [String(index + 1), value]), ...Object.entries(call.kwargs)];
        const field = element("input", { id: `answer-${call.id}`, placeholder: "JSON, or text", autocomplete: "off" });
        const value = () => { try { return JSON.parse(field.value); } catch { return field.value; } };
        return element(
            "div",
            { class: "call", role: "group", "aria-label": `Call of ${call.name}` },
            element("p", { class: "call-name" }, element("code", { text: call.name }), reason ? element("span", { class: "reason", text: reason }) : null),
            given.length ? element("dl", { class: "facts" }, given.flatMap(([name, one]) => [element("dt", { text: name }), element("dd", {}, element("code", { text: typeof one === "string" ? one : JSON.stringify(one) }))])) : null,
            element(
                "div",
                { class: "buttons" },
                button("Approve", () => this.answer(call, { value: true }), { kind: "primary" }),
                button("Refuse", () => this.answer(call, isDecision ? { value: false } : { error: "refused", error_type: "PermissionError" }), { kind: "danger" }),
            ),
            element(
                "form",
                { class: "inline", on: { submit: (event) => { event.preventDefault(); this.answer(call, { value: value() }); } } },
                element("label", { for: field.id, text: "Or answer" }),
                field,
                element("button", { class: "button", type: "submit", text: "Send" }),
            ),
        );
    }

    line(call) {
        const field = element("input", { id: `answer-${call.id}`, autocomplete: "off" });
        return element(
            "form",
            { class: "call inline", on: { submit: (event) => { event.preventDefault(); this.answer(call, { value: field.value }); } } },
            element("label", { for: field.id, text: String(call.args[0] ?? "") || "input" }),
            field,
            element("button", { class: "button primary", type: "submit", text: "Send" }),
        );
    }
}
