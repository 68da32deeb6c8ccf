// Notebooks as files: .ipynb (nbformat 4).
import { put } from "./api.js";
import { attempt, element, notice } from "./dom.js";
import { download } from "./download.js";

const BASH = "%%bash\n";

export function exportNotebook(session, cells) {
    const made = cells.map((cell) => {
        const base = { id: cell.id, metadata: {}, source: cell.kind === "bash" ? BASH + cell.source : cell.source };
        if (cell.kind === "markdown") return { cell_type: "markdown", ...base };
        return { cell_type: "code", ...base, execution_count: cell.count, outputs: cell.outputs.list.map(({ transient, ...output }) => (output.output_type === "execute_result" ? { ...output, execution_count: cell.count } : output)) };
    });
    const kernel = { display_name: "Python (planaria)", language: "python", name: "planaria" };
    const notebook = { cells: made, metadata: { kernelspec: kernel, language_info: { name: "python" } }, nbformat: 4, nbformat_minor: 5 };
    download(`${session}.ipynb`, new Blob([JSON.stringify(notebook, null, 1)], { type: "application/x-ipynb+json" }));
}

const joined = (text) => (Array.isArray(text) ? text.join("") : (text ?? ""));

function outputOf(output) {
    if (output.output_type === "stream") return { output_type: "stream", name: output.name === "stderr" ? "stderr" : "stdout", text: joined(output.text) };
    if (output.output_type === "error") return { output_type: "error", ename: output.ename ?? "", evalue: output.evalue ?? "", traceback: output.traceback ?? [] };
    const data = Object.fromEntries(Object.entries(output.data ?? {}).map(([type, content]) => [type, /json/.test(type) ? content : joined(content)]));
    return { output_type: output.output_type === "execute_result" ? "execute_result" : "display_data", data, metadata: output.metadata ?? {} };
}

function cellOf(cell, index) {
    const source = joined(cell.source);
    const id = /^[A-Za-z0-9_-]{1,64}$/.test(cell.id ?? "") && cell.id !== "terminal" ? cell.id : `cell-${index}`;
    if (cell.cell_type !== "code") return { id, kind: "markdown", source };
    const isBash = /^%%(bash|sh)\s*\n/.test(source);
    return { id, kind: isBash ? "bash" : "code", source: isBash ? source.slice(source.indexOf("\n") + 1) : source, outputs: (cell.outputs ?? []).map(outputOf) };
}

/** Have the cells of a notebook that is chosen, in place of those that are there. */
export function importNotebook(session) {
    const field = element("input", { type: "file", accept: ".ipynb,application/json" });
    field.addEventListener("change", () => attempt(async () => {
        const text = await field.files[0].text();
        let notebook;
        try { notebook = JSON.parse(text); } catch { throw new Error("this is not a notebook: it is not JSON"); }
        if (!Array.isArray(notebook.cells)) throw new Error("this is not a notebook of nbformat 4: it has no cells");
        const cells = notebook.cells.map(cellOf);
        const seen = new Set();
        cells.forEach((cell, index) => { if (seen.has(cell.id)) cell.id = `cell-${index}-${Math.random().toString(36).slice(2, 8)}`; seen.add(cell.id); });
        await put(`/sessions/${session}/notebook`, { cells });
        notice(`${cells.length} cells were imported`, "info");
    }));
    field.click();
}
