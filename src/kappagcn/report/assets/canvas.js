// Draws the embedding: edges as geodesics, nodes by colour, names where they are asked for.
const GEOMETRIES = { disk: Disk, sphere: Sphere, plane: Plane };
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const SLOW = 22, FEWEST = 800; // milliseconds of a frame; edges that are always drawn
const BATCH = 200; // edges of one path: rasterising takes longer for much larger and much smaller ones
const MANY = 1000; // edges from which shortcuts are taken while moving
const NAMED = 48; // nodes of a graph whose names are all written

class Picture {
  constructor(canvas, data) {
    Object.assign(this, { canvas, data, ctx: canvas.getContext("2d"), camera: new Camera() });
    this.spaces = data.factors.map((factor) => new GEOMETRIES[factor.kind](factor.points));
    this.count = data.shown;
    this.hidden = new Set();
    [this.selected, this.hovered, this.moving, this.budget, this.frames, this.drawn] = [-1, -1, false, Infinity, [], 0];
    this.group();
    this.choose(0);
    new ResizeObserver(() => this.resize()).observe(canvas);
    dark.addEventListener("change", () => this.later());
  }

  get space() {
    return this.spaces[this.factor];
  }

  choose(factor) {
    this.factor = factor;
    this.reset();
  }

  reset() {
    this.space.home();
    this.camera.home(this.space.reach());
    this.later();
  }

  // Nodes of equal colour and shape are drawn in one go.
  group() {
    const { labels, depths } = this.data;
    const most = depths ? Math.max(...depths) || 1 : 1;
    const kind = (i) => (labels ? labels[i] : Math.round((STEPS * depths[i]) / most));
    const groups = new Map();
    for (let i = 0; i < this.count; i++) {
      if (!groups.has(kind(i))) groups.set(kind(i), []);
      groups.get(kind(i)).push(i);
    }
    this.groups = [...groups].sort((a, b) => b[1].length - a[1].length); // rare ones on top
    this.colour = (key) => (labels ? classColour(key) : rampColour(key / STEPS));
    this.shape = (key) => (labels ? classShape(key) : "disc");
  }

  shows(i) {
    return !this.data.labels || !this.hidden.has(this.data.labels[i]);
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas, ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.ratio = ratio;
    this.camera.fit(clientWidth, clientHeight);
    this.draw();
  }

  later() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame((now) => {
      this.waiting = 0;
      if (this.moving && this.last) this.watch(now - this.last);
      this.last = this.moving ? now : 0;
      this.draw();
    });
  }

  // Fewer edges while frames are slow; all of them once the view rests.
  watch(milliseconds) {
    if (milliseconds > 250) return; // the hand rested, not the machine
    this.frames.push(milliseconds);
    if (this.frames.length > 240) this.frames.shift();
    const all = this.data.edges.length / 2;
    if (milliseconds > SLOW) this.budget = Math.max(FEWEST, 0.85 * Math.min(this.budget, all));
    else this.budget = Math.min(all, 1.02 * this.budget);
  }

  move(on) {
    if (this.moving === on) return;
    this.moving = on;
    this.last = 0;
    this.later();
  }

  // A step of the wheel or of a key: moving, until there was none for a while.
  nudged() {
    this.move(true);
    clearTimeout(this.calm);
    this.calm = setTimeout(() => this.move(false), 160);
    this.later();
  }

  nodeSize(i) {
    const base = this.count > 800 ? 2.9 : this.count > 200 ? 3.8 : 5.5;
    const zoomed = Math.min(2, Math.sqrt(Math.max(1, this.camera.zoom / this.camera.start)));
    return base * this.space.size(i) * zoomed;
  }

  draw() {
    const started = performance.now(), { ctx } = this;
    ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    ctx.clearRect(0, 0, this.camera.width, this.camera.height);
    ctx.lineJoin = "round";
    this.drawSpace();
    this.drawEdges();
    this.drawNodes();
    this.drawNear();
    this.drawNames();
    this.drawn += 1;
    this.drawMilliseconds = performance.now() - started;
  }

  drawSpace() {
    const { ctx } = this;
    [ctx.fillStyle, ctx.strokeStyle, ctx.lineWidth] = [themed("--space"), themed("--rim"), 1.25];
    this.space.outline(ctx, this.camera);
  }

  drawEdges() {
    const { ctx, space } = this, { edges } = this.data, fronts = [], backs = [];
    const count = edges.length / 2, step = this.moving ? Math.max(1, count / this.budget) : 1, many = count > MANY;
    space.hasty = this.moving && many;
    for (let at = 0, added = 0; at < count; at += step) {
      const e = 2 * Math.floor(at), i = edges[e], j = edges[e + 1];
      if (!this.shows(i) || !this.shows(j)) continue;
      if (added++ % BATCH === 0) [fronts, backs].forEach((paths) => paths.unshift(new Path2D()));
      space.addEdges(fronts[0], backs[0], this.camera, i, j);
    }
    space.hasty = false;
    const strength = Math.min(0.75, Math.max(0.1, 26 / Math.sqrt(count + 1)));
    ctx.strokeStyle = themed("--edge");
    ctx.lineWidth = count > 4000 ? 0.7 : count > 300 ? 0.9 : 1.2;
    if (many) ctx.lineWidth = Math.min(ctx.lineWidth, 1 / this.ratio); // wider lines take ten times as long
    const faded = this.selected >= 0 ? 0.6 : 1;
    ctx.globalAlpha = 0.28 * strength * faded;
    if (space.kind === "sphere") for (const path of backs) ctx.stroke(path);
    ctx.globalAlpha = strength * faded;
    for (const path of fronts) ctx.stroke(path);
    ctx.globalAlpha = 1;
  }

  drawNodes() {
    const { ctx, space, camera } = this, ring = this.count <= 60;
    [ctx.strokeStyle, ctx.lineWidth] = [themed("--space"), 1.2];
    for (const [near, strength] of space.kind === "sphere" ? [[false, 0.22], [true, 1]] : [[true, 1]]) {
      ctx.globalAlpha = strength;
      for (const [key, nodes] of this.groups) {
        if (this.hidden.has(key) && this.data.labels) continue;
        const path = new Path2D(), shape = this.shape(key);
        for (const i of nodes)
          if (space.visible(i) === near) addMark(path, shape, camera.toX(space.x[i]), camera.toY(space.y[i]), this.nodeSize(i));
        ctx.fillStyle = this.colour(key);
        ctx.fill(path);
        if (ring) ctx.stroke(path);
      }
    }
    ctx.globalAlpha = 1;
  }

  drawNear() {
    const { ctx, space, camera, selected } = this;
    if (selected < 0) return;
    const front = new Path2D(), back = new Path2D(), rings = new Path2D();
    const near = this.data.near[selected].filter((i) => i < this.count && this.shows(i));
    for (const i of near) {
      space.addEdges(front, back, camera, selected, i);
      if (space.visible(i)) addMark(rings, "disc", camera.toX(space.x[i]), camera.toY(space.y[i]), this.nodeSize(i) + 2);
    }
    [ctx.strokeStyle, ctx.lineWidth] = [themed("--accent"), 2];
    ctx.globalAlpha = 0.35;
    if (space.kind === "sphere") ctx.stroke(back);
    ctx.globalAlpha = 1;
    ctx.stroke(front);
    ctx.lineWidth = 1.5;
    ctx.stroke(rings);
    const own = new Path2D();
    addMark(own, "disc", camera.toX(space.x[selected]), camera.toY(space.y[selected]), this.nodeSize(selected) + 4);
    ctx.lineWidth = 2.5;
    ctx.globalAlpha = space.visible(selected) ? 1 : 0.35;
    ctx.stroke(own);
    ctx.globalAlpha = 1;
  }

  drawNames() {
    const { ctx, space, camera, data } = this, asked = new Set();
    if (this.count <= NAMED && !this.moving) for (let i = 0; i < this.count; i++) asked.add(i);
    if (this.selected >= 0) for (const i of [this.selected, ...data.near[this.selected]]) if (i < this.count) asked.add(i);
    ctx.font = FONT;
    [ctx.textBaseline, ctx.lineWidth, ctx.strokeStyle] = ["middle", 3, themed("--space")];
    const taken = [];
    const order = [...asked].sort((a, b) => (b === this.selected) - (a === this.selected));
    for (const i of order) {
      if (!this.shows(i) || !space.visible(i)) continue;
      const name = clipped(data.names[i]), x = camera.toX(space.x[i]) + this.nodeSize(i) + 4, y = camera.toY(space.y[i]);
      const box = [x - 3, y - 7, x + 3 + ctx.measureText(name).width, y + 7];
      if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
      taken.push(box);
      ctx.strokeText(name, x, y);
      ctx.fillStyle = i === this.selected ? themed("--ink") : themed("--quiet");
      ctx.fillText(name, x, y);
    }
  }

  // The node under a pixel, or −1.
  at(X, Y, within) {
    const { space, camera } = this;
    let found = -1, least = within * within;
    for (let i = 0; i < this.count; i++) {
      if (!this.shows(i) || !space.visible(i)) continue;
      const dx = camera.toX(space.x[i]) - X, dy = camera.toY(space.y[i]) - Y, gap = dx * dx + dy * dy;
      if (gap < least) [found, least] = [i, gap];
    }
    return found;
  }

  // Brings a node into the middle.
  centre(i, then = () => {}) {
    const ways = [this.space.way(i), this.camera.way()], space = this.space, begun = performance.now();
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : 450;
    const journey = (this.journey = {});
    const step = () => {
      if (this.journey !== journey || this.space !== space) return;
      const t = Math.min(1, (performance.now() - begun) / calm), eased = t * t * (3 - 2 * t);
      for (const way of ways) way(eased);
      this.later();
      if (t < 1) return requestAnimationFrame(step);
      this.journey = null;
      this.move(false);
      then();
    };
    this.move(true);
    step();
  }

  stop() {
    this.journey = null;
  }
}

const clipped = (name, most = 28) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
