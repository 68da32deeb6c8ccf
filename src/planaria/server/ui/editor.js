// Editors of code: CodeMirror with the languages and the keys that the page has.
import {
    Compartment, EditorState, EditorView, HighlightStyle, Prec, StreamLanguage, autocompletion, bracketMatching, closeBrackets,
    closeBracketsKeymap, completionKeymap, defaultKeymap, drawSelection, highlightSelectionMatches, highlightSpecialChars, history,
    historyKeymap, indentOnInput, indentUnit, indentWithTab, jsonLanguage, keymap, lineNumbers, markdownLanguage,
    placeholder, pythonLanguage, searchKeymap, shell, syntaxHighlighting, tags,
} from "./vendor/codemirror.js";

const shellLanguage = StreamLanguage.define(shell);
const LANGUAGES = { code: pythonLanguage, python: pythonLanguage, bash: shellLanguage, markdown: markdownLanguage, json: jsonLanguage };

const highlighting = HighlightStyle.define([
    { tag: [tags.keyword, tags.controlKeyword, tags.operatorKeyword, tags.definitionKeyword, tags.moduleKeyword], color: "var(--code-keyword)" },
    { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
    { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
    { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
    { tag: [tags.function(tags.variableName), tags.function(tags.definition(tags.variableName))], color: "var(--code-function)" },
    { tag: [tags.className, tags.definition(tags.className)], color: "var(--code-class)" },
    { tag: [tags.heading], fontWeight: "600" },
    { tag: tags.emphasis, fontStyle: "italic" },
    { tag: tags.strong, fontWeight: "600" },
    { tag: [tags.link, tags.url], color: "var(--accent)" },
]);

const theme = EditorView.theme({
    "&": { fontSize: "var(--code-size)", backgroundColor: "transparent" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
    ".cm-content": { padding: "8px 0", caretColor: "var(--ink)" },
    ".cm-line": { padding: "0 12px" },
    ".cm-cursor": { borderLeftColor: "var(--ink)" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
    ".cm-matchingBracket": { backgroundColor: "var(--selection)", outline: "none" },
    ".cm-selectionMatch": { backgroundColor: "var(--selection)" },
    ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none" },
    ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "6px", boxShadow: "var(--shadow)" },
    ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
    ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)" },
    ".cm-placeholder": { color: "var(--faint)" },
});

const kernelOffset = (text, units) => [...text.slice(0, units)].length;
const unitsOf = (text, offset) => [...text].slice(0, offset).join("").length;

/** Completions of the kernel as CodeMirror wants them. */
function source(complete) {
    return async (context) => {
        const text = context.state.doc.toString();
        if (!context.explicit && !/[\w.]$/.test(text.slice(0, context.pos))) return null;
        const found = await complete(text, kernelOffset(text, context.pos));
        if (!found?.matches?.length) return null;
        return { from: unitsOf(text, found.start), to: unitsOf(text, found.end), options: found.matches.map((label) => ({ label })), validFor: /^[\w]*$/ };
    };
}

/** An editor of one text. */
export class Editor {
    /**
     * @param settings `text`, `language`, `label`; `keys`, a list of `{key, run}`; `complete(text, cursor)`;
     *     `changed(text)`; `focused()`; `numbers`, whether lines have numbers.
     */
    constructor({ text = "", language = "code", label, keys = [], complete, changed, focused, numbers = false, hint = "" }) {
        this.language = new Compartment();
        this.attributes = new Compartment();
        this.numbers = new Compartment();
        this.hasNumbers = numbers;
        this.isSetting = false;
        this.view = new EditorView({
            state: EditorState.create({
                doc: text,
                extensions: [
                    Prec.highest(keymap.of(keys)),
                    history(), drawSelection(), highlightSpecialChars(), indentOnInput(), bracketMatching(), closeBrackets(), highlightSelectionMatches(),
                    indentUnit.of("    "),
                    this.numbers.of(numbers ? lineNumbers() : []),
                    hint ? placeholder(hint) : [],
                    autocompletion({ override: complete ? [source(complete)] : [], activateOnTypingDelay: 150 }),
                    keymap.of([...closeBracketsKeymap, ...completionKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
                    this.language.of(this.languageOf(language)),
                    this.attributes.of(EditorView.contentAttributes.of({ "aria-label": label })),
                    syntaxHighlighting(highlighting), theme, EditorView.lineWrapping,
                    EditorView.updateListener.of((update) => {
                        if (update.docChanged && !this.isSetting) changed?.(this.text);
                        if (update.focusChanged && this.view.hasFocus) focused?.();
                    }),
                ],
            }),
        });
        this.element = this.view.dom;
    }

    languageOf(name) {
        return LANGUAGES[name] ?? [];
    }

    get text() {
        return this.view.state.doc.toString();
    }

    set text(text) {
        if (text === this.text) return;
        this.isSetting = true;
        this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
        this.isSetting = false;
    }

    set label(label) {
        this.view.dispatch({ effects: this.attributes.reconfigure(EditorView.contentAttributes.of({ "aria-label": label })) });
    }

    setLanguage(name) {
        this.view.dispatch({ effects: this.language.reconfigure(this.languageOf(name)) });
    }

    /** Show or hide the numbers of lines. */
    toggleNumbers() {
        this.hasNumbers = !this.hasNumbers;
        this.view.dispatch({ effects: this.numbers.reconfigure(this.hasNumbers ? lineNumbers() : []) });
    }

    /** Where the cursor is in the text. */
    get cursor() {
        return this.view.state.selection.main.head;
    }

    moveTo(place) {
        this.view.dispatch({ selection: { anchor: place } });
    }

    get hasFocus() {
        return this.view.hasFocus;
    }

    focus() {
        this.view.focus();
    }

    destroy() {
        this.view.destroy();
    }
}
