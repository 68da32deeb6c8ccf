// States as the tree of a session has them.

export const firstLine = (code) => code.trim().split("\n")[0] || "(empty)";

/** How `rewind` finds a state; null for one that is not kept. */
export const placeOf = (node) => (node.kept ? (node.labels[0] ?? node.execution) : null);

export const titleOf = (node) => (node.execution ? `[${node.execution}] ${firstLine(node.code)}` : "the beginning");
