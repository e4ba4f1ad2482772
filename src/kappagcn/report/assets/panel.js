// Beside the picture: search, legend, nearest nodes, factors.
const MATCHES = 8;
const byId = (id) => document.getElementById(id);

class Panel {
  constructor(picture) {
    Object.assign(this, { picture, data: picture.data });
    this.hand = new Hand(picture, byId("tip"), (node) => this.select(node));
    this.lowered = this.data.names.slice(0, this.data.shown).map((name) => name.toLowerCase());
    byId("search").addEventListener("input", () => this.search());
    byId("search").addEventListener("keydown", (event) => this.enter(event));
    byId("reset").addEventListener("click", () => this.reset());
    byId("zoom-in").addEventListener("click", () => this.hand.zoom(1.4));
    byId("zoom-out").addEventListener("click", () => this.hand.zoom(1 / 1.4));
    this.tabs();
    this.legend();
    dark.addEventListener("change", () => this.legend());
    this.about();
  }

  reset() {
    this.picture.stop();
    this.picture.hidden.clear();
    this.picture.reset();
    byId("search").value = "";
    this.search();
    this.select(-1);
    this.legend();
  }

  // Search ------------------------------------------------------------------------------------------------------------

  matches() {
    const asked = byId("search").value.trim().toLowerCase(), ranks = [[], [], []];
    if (!asked) return [];
    this.lowered.forEach((name, i) => {
      const at = name.indexOf(asked);
      if (at >= 0) ranks[name === asked ? 0 : at === 0 ? 1 : 2].push(i);
    });
    return ranks.flat();
  }

  search() {
    const found = this.matches(), asked = byId("search").value.trim();
    byId("matches").hidden = !found.length;
    byId("matches").replaceChildren(...found.slice(0, MATCHES).map((i) => this.line(i)));
    const more = found.length > MATCHES ? `${written(found.length)} nodes; the first ${MATCHES} are listed.` : "";
    const few = this.data.shown < this.data.nodes ? "No such node among those shown." : "No such node.";
    byId("search-says").textContent = asked && !found.length ? few : more;
  }

  enter(event) {
    if (event.key === "Escape") event.target.value = "";
    else if (event.key !== "Enter") return;
    event.preventDefault();
    const [first] = this.matches();
    this.search();
    if (event.key === "Enter" && first !== undefined) this.visit(first);
  }

  line(node, length) {
    const name = clipped(this.data.names[node], 60), inside = [element("span", {}, name)];
    if (length !== undefined) inside.push(element("em", {}, written(length)));
    if (node >= this.data.shown) return element("li", { class: "absent", title: "not drawn" }, ...inside);
    const button = element("button", { type: "button", title: this.data.names[node] }, ...inside);
    button.addEventListener("click", () => this.visit(node));
    return element("li", {}, button);
  }

  // Nearest nodes -----------------------------------------------------------------------------------------------------

  visit(node) {
    if (!this.picture.shows(node)) {
      this.picture.hidden.delete(this.data.labels[node]);
      this.legend();
    }
    this.select(node);
    byId("matches").hidden = true;
    this.picture.centre(node);
  }

  select(node) {
    this.picture.selected = node;
    const lines = node < 0 ? [] : this.data.near[node].map((other, i) => this.line(other, this.data.lengths[node][i]));
    byId("near").replaceChildren(...lines);
    byId("near-title").textContent = node < 0 ? "Nearest nodes" : `Nearest to ${clipped(this.data.names[node], 40)}`;
    byId("near-about").textContent =
      node < 0 ? "Click a node to see the nodes nearest to it." : "Distances in the whole space. Click a name to go there.";
    this.picture.later();
  }

  // Legend ------------------------------------------------------------------------------------------------------------

  legend() {
    const { classes, labels } = this.data;
    if (!classes) return this.ramp();
    const counts = new Map();
    labels.forEach((label) => counts.set(label, (counts.get(label) || 0) + 1));
    const keys = [...counts.keys()].sort((a, b) => (a < 0) - (b < 0) || a - b);
    byId("legend").className = "classes";
    byId("legend").replaceChildren(...keys.map((key) => this.classButton(key, counts.get(key))));
  }

  classButton(key, count) {
    const name = key < 0 ? "no class" : this.data.classes[key];
    const shown = !this.picture.hidden.has(key);
    const button = element("button", { type: "button", "aria-pressed": String(shown), title: `Show or hide ${name}` });
    button.append(swatch(key), element("span", {}, clipped(name, 60)), element("em", {}, count.toLocaleString("en")));
    button.addEventListener("click", () => {
      const now = !this.picture.hidden.delete(key);
      if (now) this.picture.hidden.add(key);
      button.setAttribute("aria-pressed", String(!now));
      this.picture.later();
    });
    return button;
  }

  ramp() {
    const { depths, names, central } = this.data, stops = [0, 0.2, 0.4, 0.6, 0.8, 1].map(rampColour);
    byId("legend-title").textContent = "Distance from the most central node";
    const bar = element("div", { class: "ramp" });
    bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    const ends = element("div", { class: "ends" });
    ends.append(element("span", {}, `0 (${clipped(names[central], 24)})`), element("span", {}, written(Math.max(...depths))));
    byId("legend").replaceChildren(bar, ends);
  }

  // Factors -----------------------------------------------------------------------------------------------------------

  tabs() {
    const { factors } = this.data, bar = byId("tabs");
    bar.hidden = factors.length < 2;
    const tabs = factors.map((factor, i) => {
      const tab = element("button", { type: "button", role: "tab", "aria-controls": "stage" }, factor.label);
      tab.addEventListener("click", () => this.choose(i));
      return tab;
    });
    bar.replaceChildren(...tabs);
    bar.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      this.choose((this.picture.factor + step + factors.length) % factors.length);
      tabs[this.picture.factor].focus();
    });
    this.choose(0);
  }

  choose(i) {
    this.picture.stop();
    this.picture.choose(i);
    [...byId("tabs").children].forEach((tab, place) => {
      tab.setAttribute("aria-selected", String(place === i));
      tab.tabIndex = place === i ? 0 : -1;
    });
    byId("stage").setAttribute("aria-label", `${this.data.factors[i].label}: picture of the nodes`);
    this.about();
  }

  about() {
    const { data, picture } = this, factor = data.factors[picture.factor], said = [];
    const many = (x) => x.toLocaleString("en");
    byId("hint").textContent = `${picture.space.hint()} Click the picture, then use the wheel or + and − to zoom and the arrow keys to move.`;
    if (data.shown < data.nodes) said.push(`${many(data.shown)} of ${many(data.nodes)} nodes are shown, chosen at random (the same ones every time), with the edges among them; nearest nodes are of all.`);
    if (2 * data.edgesAmong > data.edges.length) said.push(`${many(data.edges.length / 2)} of the ${many(data.edgesAmong)} edges among them are drawn.`);
    if (factor.dim > 2) said.push(`${factor.name} has ${factor.dim} dimensions: the picture keeps the two that show most, ${share(factor.share)} of the squared distances from the origin.`);
    if (factor.dim > 2 || data.factors.length > 1) said.push("Nearest nodes are those of the full space, so they may look far apart here.");
    if (factor.kind === "plane" && factor.curvature !== "0") said.push(`At curvature ${factor.curvature} the nodes lie so close together that the space looks flat.`);
    byId("about").textContent = said.join(" ");
  }
}

function swatch(key) {
  const canvas = element("canvas", { width: 32, height: 32, class: "swatch", "aria-hidden": "true" });
  const ctx = canvas.getContext("2d"), path = new Path2D();
  addMark(path, classShape(key), 16, 16, 10);
  ctx.fillStyle = classColour(key);
  ctx.fill(path);
  return canvas;
}
