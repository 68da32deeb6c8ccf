// Cells of Markdown: it lets no HTML and no dangerous address through.
export { micromark } from "micromark";
export { gfmTable, gfmTableHtml } from "micromark-extension-gfm-table";
