// One factor on one canvas: its nodes and edges below, what is picked or pointed at above them.
const GEOMETRIES = { disk: Disk, sphere: Sphere, plane: Plane };
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const SLOW = 36, FEWEST = 2000; // milliseconds of a frame; edges that are always drawn
const FINE = 1500; // nodes and edges that are drawn as paths while the picture rests
const NAMED = 48; // nodes of a graph whose names are all written

class View {
  constructor(canvas, state, factor, run) {
    Object.assign(this, { canvas, state, factor, run, data: state.view, ctx: canvas.getContext("2d"), camera: new Camera() });
    this.base = document.createElement("canvas");
    this.raster = new Raster();
    this.count = this.data.shown;
    this.parts = shownParts(factor.tangent, factor.dim, factor.axes);
    [this.moving, this.budget, this.frames, this.drawn, this.stale] = [false, Infinity, [], 0, true];
    this.show(this.parts, factor.k);
    this.reset();
    new ResizeObserver(() => this.resize()).observe(canvas);
    dark.addEventListener("change", () => this.later(true));
    state.onChange((what) => this.later(what === "colours"));
  }

  // Takes points from their coordinates in the picture's plane and a curvature.
  show(parts, k) {
    const { kind, points } = projected(parts, k);
    this.space = new GEOMETRIES[kind](points);
  }

  reset() {
    this.space.home();
    if (this.space.extent() < this.data.closeUp) this.camera.home(...surroundings(this.space));
    else this.camera.home(1);
    this.later(true);
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas, ratio = window.devicePixelRatio || 1;
    if (!clientWidth || !clientHeight) return;
    for (const canvas of [this.canvas, this.base]) {
      canvas.width = Math.round(clientWidth * ratio);
      canvas.height = Math.round(clientHeight * ratio);
    }
    this.ratio = ratio;
    this.raster.resize(this.canvas.width, this.canvas.height, ratio);
    this.camera.fit(clientWidth, clientHeight);
    this.stale = true;
    this.draw();
  }

  // Draws in the next frame; all of it, or only what is picked or pointed at.
  later(all = true) {
    this.stale ||= all;
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
    const base = this.count > 5000 ? 2 : this.count > 800 ? 2.9 : this.count > 200 ? 3.8 : 5.5;
    const zoomed = Math.min(2, Math.sqrt(Math.max(1, this.camera.zoom / this.camera.start)));
    return base * this.space.size(i) * zoomed;
  }

  draw() {
    if (!this.ratio) return;
    const started = performance.now(), { ctx, camera } = this;
    if (this.stale) this.drawBase();
    this.stale = false;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, this.canvas.width, this.canvas.height);
    ctx.drawImage(this.base, 0, 0);
    ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    drawOverlay(this, ctx, () => new Path2D());
    this.drawn += 1;
    this.drawMilliseconds = performance.now() - started;
  }

  drawBase() {
    const ctx = this.base.getContext("2d"), newPath = () => new Path2D();
    ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    ctx.clearRect(0, 0, this.camera.width, this.camera.height);
    ctx.lineJoin = "round";
    this.space.drawSpace(ctx, this.camera, newPath);
    if (this.count + this.data.edges.length / 2 > FINE) this.drawPixels(ctx);
    else this.drawPaths(ctx, newPath);
  }

  get strength() {
    return Math.min(0.75, Math.max(0.1, 26 / Math.sqrt(this.data.edges.length / 2 + 1)));
  }

  addEdges(front, back) {
    const { edges } = this.data, { state, space, camera } = this, count = edges.length / 2;
    const step = this.moving ? Math.max(1, count / this.budget) : 1;
    for (let at = 0; at < count; at += step) {
      const e = 2 * Math.floor(at), i = edges[e], j = edges[e + 1];
      if (state.hidden.size && !(state.shows(i) && state.shows(j))) continue;
      space.addEdges(front, back, camera, i, j);
    }
  }

  drawPixels(ctx) {
    const { raster, state, space, camera } = this;
    raster.clear();
    this.addEdges(raster.pen(this.strength), raster.pen(0.28 * this.strength));
    raster.ink(themed("--edge"));
    for (const near of space.kind === "sphere" ? [false, true] : [true])
      for (const [key, nodes] of state.groups) {
        if (state.hidden.has(key)) continue;
        const rgb = littleEndian(state.colour(key)), shape = state.shape(key);
        for (const i of nodes)
          if (space.visible(i) === near) raster.mark(shape, camera.toX(space.x[i]), camera.toY(space.y[i]), this.nodeSize(i), rgb, near ? 1 : 0.22);
      }
    raster.paint(ctx);
  }

  drawPaths(ctx, newPath) {
    const { state, space, camera } = this, front = newPath(), back = newPath(), count = this.data.edges.length / 2;
    this.addEdges(front, back);
    [ctx.strokeStyle, ctx.lineWidth] = [themed("--edge"), count > 300 ? 0.9 : 1.2];
    ctx.globalAlpha = 0.28 * this.strength;
    if (space.kind === "sphere") ctx.stroke(back);
    ctx.globalAlpha = this.strength;
    ctx.stroke(front);
    [ctx.strokeStyle, ctx.lineWidth] = [themed("--space"), 1.2];
    for (const near of space.kind === "sphere" ? [false, true] : [true]) {
      ctx.globalAlpha = near ? 1 : 0.22;
      for (const [key, nodes] of state.groups) {
        if (state.hidden.has(key)) continue;
        const path = newPath(), shape = state.shape(key);
        for (const i of nodes)
          if (space.visible(i) === near) addMark(path, shape, camera.toX(space.x[i]), camera.toY(space.y[i]), this.nodeSize(i));
        ctx.fillStyle = state.colour(key);
        ctx.fill(path);
        if (this.count <= 150 && near) ctx.stroke(path);
      }
    }
    ctx.globalAlpha = 1;
  }

  // The whole picture, as it is now, in SVG.
  svg() {
    const { width, height } = this.camera, ctx = new SvgContext(width, height, themed("--card")), newPath = () => new SvgPath();
    this.space.drawSpace(ctx, this.camera, newPath);
    this.drawPaths(ctx, newPath);
    drawOverlay(this, ctx, newPath);
    return String(ctx);
  }

  // The node under a pixel, or −1.
  at(X, Y, within) {
    const { space, camera, state } = this;
    let found = -1, least = within * within;
    for (let i = 0; i < this.count; i++) {
      if (!state.shows(i) || !space.visible(i)) continue;
      const dx = camera.toX(space.x[i]) - X, dy = camera.toY(space.y[i]) - Y, gap = dx * dx + dy * dy;
      if (gap < least) [found, least] = [i, gap];
    }
    return found;
  }

  // The nearest visible node from node i in a direction on the canvas, or −1.
  towards(i, dx, dy) {
    const { space, camera, state } = this;
    let found = -1, least = Infinity;
    const x = i < 0 ? camera.width / 2 : camera.toX(space.x[i]), y = i < 0 ? camera.height / 2 : camera.toY(space.y[i]);
    for (let j = 0; j < this.count; j++) {
      if (j === i || !state.shows(j) || !space.visible(j)) continue;
      const ax = camera.toX(space.x[j]) - x, ay = camera.toY(space.y[j]) - y;
      const along = ax * dx + ay * dy, across = Math.abs(ax * dy - ay * dx);
      if (i >= 0 && (along < 0.5 || across > 1.2 * along)) continue;
      const cost = i < 0 ? Math.hypot(ax, ay) : along + 2 * across;
      if (cost < least) [found, least] = [j, cost];
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
