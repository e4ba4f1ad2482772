// What all pictures of the page share: nodes picked and pointed at, colours, what is hidden.
class State {
  constructor(view) {
    this.view = view;
    this.graph = new Graph(view);
    this.runs = view.runs.map((run) => ({ name: run.name, distances: new Distances(run.factors) }));
    [this.run, this.selected, this.end, this.hovered, this.listeners] = [0, -1, -1, -1, []];
    this.colourBy(0);
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  changed(what) {
    for (const listener of this.listeners) listener(what);
  }

  colourBy(place) {
    this.colouring = this.view.colourings[place];
    this.place = place;
    this.hidden = new Set();
    const { values, names, ends, scale } = this.colouring, groups = new Map();
    const size = scale === "log" ? (x) => Math.log1p(x - ends[0]) : (x) => x - (ends ? ends[0] : 0);
    const key = names ? (x) => x : (x) => (Number.isNaN(x) ? -1 : Math.round((STEPS * size(x)) / (size(ends?.[1] ?? 1) || 1)));
    this.keys = Int32Array.from(values, key);
    this.keys.forEach((each, i) => {
      if (!groups.has(each)) groups.set(each, []);
      groups.get(each).push(i);
    });
    this.groups = [...groups].sort((a, b) => b[1].length - a[1].length); // rare ones on top
    this.changed("colours");
  }

  colour(key) {
    if (this.colouring.names || key < 0) return classColour(key);
    return rampColour(key / STEPS);
  }

  shape(key) {
    return this.colouring.names ? classShape(key) : "disc";
  }

  shows(i) {
    return !this.hidden.has(this.keys[i]);
  }

  hide(key, hidden) {
    this.hidden[hidden ? "add" : "delete"](key);
    this.changed("colours");
  }

  // A second node ends the path from the first.
  select(node, { end = false } = {}) {
    if (end && this.selected >= 0 && node >= 0 && node !== this.selected) this.end = node;
    else [this.selected, this.end] = [node, -1];
    this.near = this.selected < 0 ? [] : this.runs[this.run].distances.nearest(this.selected, NEAREST_NODES);
    this.path = this.end < 0 ? [] : this.graph.path(this.selected, this.end);
    this.changed("selection");
  }

  // The run whose distances are listed: the one that was touched last.
  useRun(run) {
    if (run === this.run) return;
    this.run = run;
    this.select(this.selected, { end: false });
  }

  hover(node) {
    if (node === this.hovered) return;
    this.hovered = node;
    this.changed("hover");
  }

  distance(i, j) {
    return this.runs[this.run].distances.between(i, j);
  }
}

const NEAREST_NODES = 8;
