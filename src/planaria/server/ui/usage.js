// What a session may use, and what it uses.
import { bytes, element } from "./dom.js";
import { panel } from "./panel.js";

export class Usage {
    constructor(place) {
        ({ content: this.content } = panel(place, "Limits and usage", { open: false }));
    }

    open() {
        this.content.replaceChildren();
    }

    take({ usage: found }) {
        const { limits } = found;
        const seconds = (value) => (value === null ? "no limit" : `${value} s`);
        const facts = [
            ["Memory", `${bytes(found.memory_bytes)} of ${bytes(limits.memory)}`],
            ["Files", `${found.files}, ${bytes(found.file_bytes)}`],
            ["Executions", String(found.executions)],
            ["States kept", String(found.checkpoints)],
            ["Time of an execution", seconds(limits.timeout)],
            ["Output", bytes(limits.output)],
            ["Calls of functions", limits.callbacks === null ? "no limit" : String(limits.callbacks)],
            ["Network", found.network.length ? found.network.join(", ") : "none"],
        ];
        const meter = limits.memory === null ? null : element("progress", { max: String(limits.memory), value: String(found.memory_bytes), "aria-label": "Memory used" });
        this.content.replaceChildren(
            element("dl", { class: "facts" }, facts.flatMap(([name, value]) => [element("dt", { text: name }), element("dd", { text: value })])),
        );
        if (meter) this.content.prepend(meter);
    }
}
