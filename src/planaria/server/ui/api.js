// Requests to the server. The token is kept for this tab only, and goes into a header, never into an address.

const KEY = "planaria-token";

export class ApiError extends Error {
    constructor(status, problem) {
        super(problem.detail || `the server answered ${status}`);
        this.status = status;
        this.code = problem.code;
    }
}

export function setToken(token) {
    if (token) sessionStorage.setItem(KEY, token);
    else sessionStorage.removeItem(KEY);
}

function headersOf(more = {}) {
    const token = sessionStorage.getItem(KEY);
    return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

async function send(method, path, { json, body, type, accept, signal } = {}) {
    const headers = headersOf();
    if (json !== undefined) headers["Content-Type"] = "application/json";
    else if (type) headers["Content-Type"] = type;
    if (accept) headers.Accept = accept;
    let response;
    try {
        response = await fetch(`/v1${path}`, { method, headers, body: json === undefined ? body : JSON.stringify(json), signal, cache: "no-store" });
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new ApiError(0, { detail: "the server cannot be reached" });
    }
    if (!response.ok) {
        let problem = {};
        try { problem = await response.json(); } catch { /* a proxy may answer with something else */ }
        throw new ApiError(response.status, problem);
    }
    return response;
}

async function asJson(method, path, json) {
    const response = await send(method, path, { json });
    return response.status === 204 ? null : response.json();
}

export const get = (path) => asJson("GET", path);
export const post = (path, json = {}) => asJson("POST", path, json);
export const put = (path, json) => asJson("PUT", path, json);
export const remove = (path) => asJson("DELETE", path);

const fileUrl = (session, path, rest = "") => `/sessions/${session}/files${rest}?path=${encodeURIComponent(path)}`;

export const files = {
    list: async (session, path) => (await get(fileUrl(session, path, "/list"))).entries,
    read: async (session, path) => (await send("GET", fileUrl(session, path))).blob(),
    write: (session, path, body) => send("PUT", fileUrl(session, path), { body, type: "application/octet-stream" }),
    remove: (session, path) => send("DELETE", `${fileUrl(session, path)}&recursive=true`),
    makeDirectory: (session, path) => send("POST", fileUrl(session, path, "/directory"), { json: {} }),
};

/** Ask the kernel something for which nothing is executed. */
export const query = async (session, name, ...given) =>
    (await post(`/sessions/${session}/query`, { name, arguments: given })).answer;

/** The events of a session, as [name, data], until the connection ends. */
export async function* events(session, signal) {
    const response = await send("GET", `/sessions/${session}/events`, { accept: "text/event-stream", signal });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        text += value;
        const blocks = text.split("\n\n");
        text = blocks.pop();
        for (const block of blocks) {
            const match = /^event: (.*)\ndata: (.*)$/.exec(block);
            if (match) yield [match[1], JSON.parse(match[2])];
        }
    }
}
