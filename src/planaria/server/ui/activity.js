// What executions have done outside of the sandbox: requests and calls of tools.
import { bytes, duration, element } from "./dom.js";
import { panel } from "./panel.js";

const MOST = 100;

export class Activity {
    constructor(place) {
        ({ content: this.content } = panel(place, "Requests and tool calls", { open: false }));
        this.open(null);
    }

    open() {
        this.content.replaceChildren(element("p", { class: "hint", text: "There was none yet." }));
        this.list = null;
    }

    replace(list) {
        this.open();
        for (const one of list ?? []) this.add(one);
    }

    add({ requests = [], tools = [], execution_count }) {
        for (const one of requests) this.put(execution_count, one.allowed, `${one.method} ${one.url}`, one.allowed ? [one.status, bytes(one.bytes_received), duration(one.duration_ms)].filter(Boolean).join(" · ") : `refused: ${one.reason}`);
        for (const one of tools) this.put(execution_count, one.outcome === "ok", `${one.name} ${one.arguments}`, [one.outcome, duration(one.ms)].filter(Boolean).join(" · "));
    }

    put(count, isFine, what, how) {
        if (!this.list) {
            this.list = element("ol", { class: "activity" });
            this.content.replaceChildren(this.list);
        }
        this.list.prepend(element("li", { class: isFine ? "" : "refused" }, element("code", { text: what }), element("span", { class: "about", text: `[${count}] ${how}` })));
        while (this.list.children.length > MOST) this.list.lastChild.remove();
    }
}
