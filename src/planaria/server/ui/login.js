// Asking for the token, where the server wants one.
import { get, setToken } from "./api.js";
import { element } from "./dom.js";

/** Ask until the server takes the token. */
export async function login() {
    const field = element("input", { id: "token", type: "password", autocomplete: "current-password", required: true });
    const problem = element("p", { class: "problem", role: "alert" });
    const form = element(
        "form",
        { class: "form", method: "dialog" },
        element("label", { for: "token", text: "Token" }),
        field,
        element("p", { class: "hint", text: "What the server was started with. It is kept until this tab is closed." }),
        problem,
        element("button", { class: "button primary", type: "submit", text: "Sign in" }),
    );
    const shown = element("dialog", { class: "dialog narrow", "aria-labelledby": "login-title" }, element("header", {}, element("h2", { id: "login-title", text: "planaria" })), form);
    shown.addEventListener("cancel", (event) => event.preventDefault());
    document.body.append(shown);
    shown.showModal();
    await new Promise((resolve) => {
        form.addEventListener("submit", async (event) => {
            event.preventDefault();
            problem.textContent = "";
            setToken(field.value);
            try {
                await get("/sessions?limit=0");
                resolve();
            } catch (error) {
                setToken("");
                problem.textContent = error.message;
                field.select();
            }
        });
    });
    shown.close();
    shown.remove();
}
