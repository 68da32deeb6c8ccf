// The files of a session: looking, uploading, and what can be done with one.
import { files } from "./api.js";
import { attempt, button, bytes, dialog, element, notice } from "./dom.js";
import { download } from "./download.js";
import { icon } from "./icons.js";
import { panel } from "./panel.js";

const HOME = "/home/user";

export class Files {
    constructor(place) {
        this.field = element("input", { type: "file", multiple: true, hidden: true, "aria-hidden": "true", tabindex: "-1", id: "upload", on: { change: () => { this.upload([...this.field.files]); this.field.value = ""; } } });
        const made = panel(place, "Files", {
            actions: [
                button("Upload files", () => this.field.click(), { icon: "upload", kind: "quiet" }),
                button("New file", () => this.create("file"), { icon: "add", kind: "quiet" }),
                button("New directory", () => this.create("directory"), { icon: "folder", kind: "quiet" }),
                this.field,
            ],
        });
        this.content = made.content;
        this.path = HOME;
        this.where = element("p", { class: "where" });
        this.list = element("ul", { class: "files" });
        this.content.append(this.where, this.list);
        made.element.addEventListener("dragover", (event) => { event.preventDefault(); made.element.classList.add("dropping"); });
        made.element.addEventListener("dragleave", () => made.element.classList.remove("dropping"));
        made.element.addEventListener("drop", (event) => {
            event.preventDefault();
            made.element.classList.remove("dropping");
            this.upload([...event.dataTransfer.files]);
        });
    }

    open(session) {
        this.session = session;
        this.path = HOME;
        this.list.replaceChildren();
    }

    async refresh() {
        const { session, path } = this;
        let entries;
        try {
            entries = await files.list(session, path);
        } catch (error) {
            if (error.status !== 404 || path === HOME) throw error;
            this.path = HOME; // it was removed
            return this.refresh();
        }
        if (session === this.session && path === this.path) this.show(entries);
        return undefined;
    }

    take({ files: found }) {
        if (found === null) this.go(HOME); // the directory was removed
        else if (found.path === this.path) this.show(found.entries);
    }

    show(entries) {
        entries.sort((one, other) => (other.type === "directory") - (one.type === "directory") || one.name.localeCompare(other.name));
        this.showPath();
        const shown = entries.filter((one) => !one.name.startsWith("."));
        this.list.replaceChildren(...shown.map((one) => this.item(one)));
        if (!shown.length) this.list.append(element("li", { class: "hint", text: "Nothing is here. Drop files to upload them." }));
    }

    go(path) {
        this.path = path;
        return attempt(() => this.refresh());
    }

    showPath() {
        const below = this.path.slice(HOME.length).split("/").filter(Boolean);
        const parts = [button("home", () => this.go(HOME), { kind: "link" })];
        below.forEach((name, index) => parts.push(" / ", button(name, () => this.go(`${HOME}/${below.slice(0, index + 1).join("/")}`), { kind: "link" })));
        this.where.replaceChildren(...parts);
    }

    item(entry) {
        const path = `${this.path}/${entry.name}`;
        const isFolder = entry.type === "directory";
        const open = () => (isFolder ? this.go(path) : attempt(() => this.preview(path, entry)));
        return element(
            "li",
            { class: "file" },
            element(
                "button",
                { type: "button", class: "file-name", on: { click: open } },
                icon(isFolder ? "folder" : "file"),
                element("span", { class: "name", text: entry.name + (isFolder ? "/" : "") }),
                element("span", { class: "about", text: isFolder ? "" : bytes(entry.size) }),
            ),
            isFolder ? null : button(`Download ${entry.name}`, () => attempt(async () => download(entry.name, await files.read(this.session, path))), { icon: "download", kind: "quiet" }),
            button(`Delete ${entry.name}`, () => this.remove(path, entry), { icon: "close", kind: "quiet" }),
        );
    }

    async preview(path, entry) {
        const { preview } = await import("./preview.js");
        return preview(this.session, path, entry, () => this.refresh());
    }

    async upload(chosen) {
        for (const one of chosen) {
            await attempt(async () => {
                await files.write(this.session, `${this.path}/${one.name}`, one);
                notice(`${one.name} is there`, "info");
            });
        }
        await attempt(() => this.refresh());
    }

    async create(kind) {
        const name = element("input", { id: "file-name", required: true, autocomplete: "off" });
        const form = element(
            "form",
            { class: "form", method: "dialog" },
            element("label", { for: "file-name", text: "Name" }),
            name,
            element("button", { class: "button primary", type: "submit", text: "Create" }),
        );
        const shown = dialog(kind === "file" ? "New file" : "New directory", form, { kind: "narrow" });
        form.addEventListener("submit", (event) => { event.preventDefault(); shown.close(name.value); });
        const given = await shown.closed;
        if (!given) return;
        const path = `${this.path}/${given}`;
        await attempt(async () => {
            if (kind === "file") await files.write(this.session, path, "");
            else await files.makeDirectory(this.session, path);
            await this.refresh();
            if (kind === "file") await this.preview(path, { name: given, size: 0 });
        });
    }

    async remove(path, entry) {
        const form = element("form", { class: "form", method: "dialog" }, element("p", { text: `${path}${entry.type === "directory" ? " and all that is in it" : ""} will be gone.` }), element("button", { class: "button danger", type: "submit", text: "Delete" }));
        const shown = dialog("Delete?", form, { kind: "narrow" });
        form.addEventListener("submit", (event) => { event.preventDefault(); shown.close(true); });
        if (await shown.closed) await attempt(async () => { await files.remove(this.session, path); await this.refresh(); });
    }
}
