// Beside the picture: neighbours in the graph, nodes near in the space, and the path between two nodes.
const MOST_LISTED = 30;

class Lists {
  constructor(state, visit) {
    Object.assign(this, { state, visit });
    state.onChange((what) => what === "selection" && this.draw());
    this.draw();
  }

  draw() {
    const { state } = this, { selected, end, view } = state, picked = selected >= 0;
    const name = picked ? clipped(view.names[selected], 40) : "";
    byId("picked").hidden = !picked;
    byId("picked-none").hidden = picked;
    byId("picked-title").textContent = name;
    byId("path-box").hidden = end < 0;
    byId("lists").hidden = end >= 0;
    if (!picked) return;
    if (end >= 0) return this.drawPath(name);
    byId("near-title").textContent = `Nearest in the space${state.runs.length > 1 ? ` of ${clipped(state.runs[state.run].name, 24)}` : ""}`;
    const { lengths } = state.graph.paths(selected), neighbours = state.graph.neighbours(selected);
    const among = new Set(neighbours.map(([other]) => other));
    byId("neighbours-title").textContent = `Neighbours in the graph (${many(neighbours.length)}${state.graph.whole ? "" : " shown"})`;
    this.fill("neighbours", neighbours.slice(0, MOST_LISTED).map(([other, length]) => [other, written(length), written(state.distance(selected, other))]));
    byId("neighbours-more").textContent = neighbours.length > MOST_LISTED ? `and ${many(neighbours.length - MOST_LISTED)} more` : "";
    this.fill("near", state.near.map(([other, length]) => [other, state.graph.words(lengths[other]), written(length), among.has(other)]));
  }

  fill(id, rows) {
    byId(id).replaceChildren(
      ...rows.map(([node, first, second, edge]) => {
        const button = element("button", { type: "button", title: this.state.view.names[node] });
        button.append(element("span", {}, clipped(this.state.view.names[node], 60)), element("em", {}, first), element("em", {}, second));
        if (edge) button.classList.add("edge");
        button.addEventListener("click", () => this.visit(node));
        return element("li", {}, button);
      }),
    );
  }

  drawPath(name) {
    const { state } = this, { selected, end, path, view, graph } = state, other = clipped(view.names[end], 40);
    const length = graph.paths(selected).lengths[end], direct = state.distance(selected, end);
    byId("picked-title").textContent = `${name} to ${other}`;
    byId("path-graph").textContent = length === Infinity ? "no path" : graph.words(length);
    byId("path-space").textContent = written(direct);
    byId("path-ratio").textContent = length === Infinity ? "–" : written(direct / length);
    this.fill("path-nodes", path.map((node) => [node, written(graph.paths(selected).lengths[node]), written(state.distance(selected, node))]));
  }
}
