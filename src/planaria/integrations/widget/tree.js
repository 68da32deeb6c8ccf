// The tree of a session's states. All that comes from the sandbox is set as text, never as HTML.

function element(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function button(text, title, action) {
  const made = element("button", "planaria-button", text);
  made.type = "button";
  made.title = title;
  made.addEventListener("click", action);
  return made;
}

function render({ model, el }) {
  const marked = [];

  function ask(action, nodes, session = 0) {
    model.send({ action, nodes, session });
  }

  function mark(identifier, isMarked) {
    if (isMarked) marked.push(identifier);
    else marked.splice(marked.indexOf(identifier), 1);
    if (marked.length > 2) marked.shift();
    if (marked.length === 2) ask("compare", [...marked]);
    draw();
  }

  function row(node) {
    const made = element("div", "planaria-row");
    const box = element("input", "planaria-mark");
    box.type = "checkbox";
    box.checked = marked.includes(node.identifier);
    box.title = "compare";
    box.addEventListener("change", () => mark(node.identifier, box.checked));
    made.append(box);
    for (const session of node.present) {
      made.append(element("span", "planaria-present", `session ${session}`));
    }
    for (const label of node.labels) made.append(element("span", "planaria-label", label));
    const title = element("span", "planaria-title", node.count ? `[${node.count}] ${node.code}` : "start");
    if (node.error) {
      title.classList.add("planaria-failed");
      title.title = node.error;
    }
    made.append(title);
    for (const session of Object.keys(node.places)) {
      if (node.present.includes(Number(session))) continue;
      made.append(
        button(`rewind ${session}`, `session ${session} goes back to this state`, () =>
          ask("rewind", [node.identifier], Number(session)),
        ),
      );
    }
    made.append(button("fork", "a new session goes on from this state", () => ask("fork", [node.identifier])));
    return made;
  }

  // A state with one successor has that below it; only where ways part they are indented.
  function list(nodes, children) {
    const made = element("ul", "planaria-nodes");
    for (const first of nodes) {
      const item = element("li", "planaria-node");
      let node = first;
      let following = [node];
      while (following.length === 1) {
        node = following[0];
        item.append(row(node));
        following = children.get(node.identifier) ?? [];
      }
      if (following.length) item.append(list(following, children));
      made.append(item);
    }
    return made;
  }

  function draw() {
    const nodes = model.get("nodes");
    const known = new Set(nodes.map((node) => node.identifier));
    const children = new Map();
    for (const node of nodes) {
      const parent = known.has(node.parent) ? node.parent : null;
      children.set(parent, [...(children.get(parent) ?? []), node]);
    }
    for (const identifier of [...marked]) {
      if (!known.has(identifier)) marked.splice(marked.indexOf(identifier), 1);
    }
    el.replaceChildren(list(children.get(null) ?? [], children));
    if (model.get("message")) el.append(element("div", "planaria-failed", model.get("message")));
    if (model.get("comparison")) el.append(element("pre", "planaria-comparison", model.get("comparison")));
  }

  el.classList.add("planaria-tree");
  const changes = "change:nodes change:message change:comparison";
  model.on(changes, draw);
  draw();
  return () => model.off(changes, draw);
}

export default { render };
