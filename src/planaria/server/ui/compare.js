// Comparing two states: what became of variables, files and memory.
import { post } from "./api.js";
import { bytes, dialog, element } from "./dom.js";
import { placeOf, titleOf } from "./states.js";

function list(title, rows) {
    return rows.length ? element("section", {}, element("h3", { text: title }), element("ul", { class: "changes" }, rows)) : null;
}

const value = ({ type, repr }) => [element("span", { class: "type", text: type }), " ", element("code", { text: repr })];

function row(kind, name, ...rest) {
    const said = { added: "+", removed: "−", changed: "~" }[kind];
    return element("li", { class: kind }, element("span", { class: "sign", role: "img", "aria-label": kind, text: said }), element("b", { text: name }), " ", ...rest);
}

function difference(found) {
    const variables = [
        ...Object.entries(found.changed).map(([name, [old, now]]) => row("changed", name, element("span", { class: "from" }, value(old)), " → ", element("span", { class: "to" }, value(now)))),
        ...Object.entries(found.added).map(([name, one]) => row("added", name, value(one))),
        ...Object.entries(found.removed).map(([name, one]) => row("removed", name, value(one))),
    ];
    const files = ["changed", "added", "removed"].flatMap((kind) => found[`files_${kind}`].map((path) => row(kind, path)));
    const [before, after] = found.memory_bytes;
    const [small, large] = found.size;
    const more = (one, other) => `${bytes(one)} → ${bytes(other)}${one === other ? ", no change" : ` (${other > one ? "+" : "−"}${bytes(Math.abs(other - one))})`}`;
    return [
        list("Variables", variables),
        list("Files", files),
        variables.length + files.length ? null : element("p", { class: "hint", text: "Neither variables nor files differ." }),
        element("section", {}, element("h3", { text: "Memory" }), element("dl", { class: "facts" }, element("dt", { text: "Sandbox" }), element("dd", { text: more(before, after) }), element("dt", { text: "Snapshot" }), element("dd", { text: more(small, large) }))),
    ];
}

/** Show a dialog that compares a state with another one, at first with the present one. */
export function compareStates(session, nodes, forks, node) {
    const choices = [
        { title: "the present state", body: {} },
        ...nodes.filter((one) => one.kept && !one.current).map((one) => ({ title: titleOf(one), node: one, place: placeOf(one) })),
    ];
    const others = [...choices, ...forks.map((fork) => ({ title: `the session ${fork.id}`, session: fork.id }))];
    const select = (id, list) => element("select", { id }, list.map((one, index) => element("option", { value: String(index), text: one.title })));
    const first = select("compare-before", choices);
    const second = select("compare-after", others);
    first.value = String(Math.max(0, choices.findIndex((one) => one.node?.id === node.id)));
    if (node.current) {
        const parent = choices.findIndex((one) => one.node?.id === node.parent);
        first.value = String(Math.max(0, parent));
    }
    const result = element("div", { class: "difference", "aria-live": "polite" });
    const compare = async () => {
        result.replaceChildren(element("p", { class: "hint", text: "Comparing…" }));
        const [before, after] = [choices[Number(first.value)], others[Number(second.value)]];
        try {
            const found = await post(`/sessions/${session}/compare`, { before: before.place ?? null, after: after.place ?? null, ...(after.session ? { session: after.session } : {}) });
            result.replaceChildren(...difference(found).filter(Boolean));
        } catch (error) {
            result.replaceChildren(element("p", { class: "problem", text: error.message }));
        }
    };
    first.addEventListener("change", compare);
    second.addEventListener("change", compare);
    const shown = dialog(
        "Compare states",
        element("div", { class: "compare" }, element("div", { class: "pair" }, element("label", { for: "compare-before", text: "From" }), first, element("label", { for: "compare-after", text: "to" }), second), result),
        { kind: "wide" },
    );
    compare();
    return shown.closed;
}
