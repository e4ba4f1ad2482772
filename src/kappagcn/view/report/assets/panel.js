// The pictures and what stands beside them, together.
class Panel {
  constructor(state, factors) {
    Object.assign(this, { state, data: state.view, fingerMoves: false, pathNext: false });
    this.views = factors.map((each, place) => this.stage(each, place));
    this.active = this.views[0];
    byId("stages").dataset.count = String(this.views.length);
    this.search = new Search(state, (node) => this.visit(node));
    this.legend = new Legend(state);
    this.lists = new Lists(state, (node) => this.visit(node));
    this.buttons();
    state.onChange((what) => what === "selection" && this.pathReady());
    this.about();
  }

  stage({ factor, run, order, title }, place) {
    const canvas = element("canvas", { tabindex: "0", role: "application", "aria-label": `${title}: picture of the nodes`, "aria-describedby": "hint" });
    const tip = element("div", { class: "tip", hidden: "" }), figure = element("figure", { class: "stage", id: `stage-${place}` }, canvas, tip);
    const view = new View(canvas, this.state, factor, run);
    Object.assign(view, { title, order });
    view.words = element("figcaption");
    figure.append(view.words);
    this.caption(view);
    byId("stages").append(figure);
    view.hand = new Hand(view, tip, this);
    return view;
  }

  caption(view) {
    view.words.textContent = `${view.title} · ${KIND_WORDS[view.space.kind]}`;
  }

  buttons() {
    const click = (id, what) => byId(id).addEventListener("click", what);
    click("zoom-in", () => this.active.hand.zoom(1.4));
    click("zoom-out", () => this.active.hand.zoom(1 / 1.4));
    click("reset", () => this.reset());
    click("finger", () => this.toggleFinger());
    click("path", () => this.togglePath());
    click("unpick", () => this.pick(-1));
  }

  // One finger moves the picture instead of the page.
  toggleFinger() {
    this.fingerMoves = !this.fingerMoves;
    byId("finger").setAttribute("aria-pressed", String(this.fingerMoves));
    for (const view of this.views) view.canvas.classList.toggle("free", this.fingerMoves);
  }

  togglePath() {
    this.pathNext = !this.pathNext;
    this.pathReady();
  }

  pathReady() {
    if (this.state.selected < 0) this.pathNext = false;
    byId("path").disabled = this.state.selected < 0;
    byId("path").setAttribute("aria-pressed", String(this.pathNext));
    byId("path").textContent = this.pathNext ? "Now pick the other node" : "Path from here …";
  }

  touched(view) {
    this.active = view;
    this.state.useRun(view.run);
  }

  pick(node, end = false) {
    this.state.select(node, { end: end || (this.pathNext && node >= 0) });
    this.pathNext = false;
    this.pathReady();
  }

  // Selects a node and brings it into the middle of every picture.
  visit(node) {
    if (!this.state.shows(node)) this.state.hide(this.state.keys[node], false);
    this.pick(node);
    for (const view of this.views) view.centre(node);
  }

  reset() {
    this.search.clear();
    this.state.hidden.clear();
    this.state.changed("colours");
    this.pick(-1);
    for (const view of this.views) {
      view.stop();
      view.reset();
    }
  }

  // A node in a few lines: its name, class, prediction, role, and what it is coloured by.
  describe(node) {
    const { names, classes, labels, predicted, probabilities, parts, roles } = this.data, { colouring } = this.state;
    const lines = [clipped(names[node], 80)];
    if (labels) lines.push(labels[node] < 0 ? "no class" : `class: ${clipped(classes[labels[node]], 60)}`);
    if (predicted) {
      const verdict = !labels || labels[node] < 0 ? "" : predicted[node] === labels[node] ? ", right" : ", wrong";
      lines.push(`predicted: ${clipped(classes[predicted[node]], 60)} (${share(probabilities[node])}${verdict})`);
    }
    if (parts && roles[parts[node]]) lines.push(`${roles[parts[node]]} node`);
    if (!colouring.names) lines.push(`${colouring.title.toLowerCase()}: ${written(colouring.values[node])}`);
    return lines;
  }

  about() {
    const { data } = this, said = [], kinds = new Set(), hints = [];
    for (const { space } of this.views) if (!kinds.has(space.kind)) kinds.add(space.kind) && hints.push(space.hint());
    byId("hint").textContent = `${hints.join(" ")} Click a node for its neighbours, Shift-click another for the path. Keys: arrows go from node to node, Enter picks, Shift with arrows moves, + and − zoom. On a touch screen two fingers move and zoom.`;
    if (data.shown < data.nodes) said.push(`${many(data.shown)} of ${many(data.nodes)} nodes are shown: those that are the fewest steps from the most central node, ${clipped(data.central, 40)}. Counts in the legend are of all.`);
    if (2 * data.edgesAmong > data.edges.length) said.push(`${many(data.edges.length / 2)} of the ${many(data.edgesAmong)} edges among them are in this page.`);
    for (const { factor, space, title } of this.views) {
      if (factor.dim > 2) said.push(`${title} has ${factor.dim} dimensions: the picture keeps the two that show most, ${share(factor.share)} of the squared distances from the origin.`);
      const hidden = space.kind === "disk" ? [...space.gap].filter((gap) => gap < AT_THE_EDGE).length : 0;
      if (hidden) said.push(`${many(hidden)} of the ${many(data.shown)} nodes of ${title} lie within a pixel of the edge, over one another: find one by name, or drag the edge to the middle.`);
      if (space.kind === "plane" && factor.curvature !== "0") said.push(`At curvature ${factor.curvature} the nodes of ${title} lie so close together that it looks flat.`);
    }
    const full = data.runs.some(({ factors }) => factors.length > 1 || factors[0].dim > 2);
    if (full) said.push("Distances in the lists are those of the full space, so near nodes may look far apart here.");
    byId("about").textContent = said.join(" ");
  }
}

const AT_THE_EDGE = 0.008; // of 1 − |z|²: a pixel of a disk that is 500 pixels wide
const KIND_WORDS = { disk: "Poincaré disk", sphere: "sphere", plane: "plane" };
