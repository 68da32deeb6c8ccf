// What the page uses of CodeMirror.
export { EditorState, Compartment, Prec } from "@codemirror/state";
export { EditorView, keymap, drawSelection, placeholder, highlightSpecialChars, lineNumbers } from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab, toggleComment } from "@codemirror/commands";
export {
    StreamLanguage, HighlightStyle, syntaxHighlighting, bracketMatching, indentOnInput, indentUnit,
} from "@codemirror/language";
export { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
export { searchKeymap, highlightSelectionMatches } from "@codemirror/search";
export { pythonLanguage } from "@codemirror/lang-python";
export { markdownLanguage } from "@codemirror/lang-markdown";
export { jsonLanguage } from "@codemirror/lang-json";
export { shell } from "@codemirror/legacy-modes/mode/shell";
export { tags } from "@lezer/highlight";
