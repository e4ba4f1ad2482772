// The Poincaré disk. A point is a pair (u, w), z = u/w, |w|² − |u|² = 1, with u = sinh(ρ/2) e^{iφ} and w = cosh(ρ/2) at
// first; an isometry is (α, β), |α|² − |β|² = 1: u' = αu + βw, w' = β̄u + ᾱw. Nothing cancels towards the boundary, and
// 1 − |z|² is 1/|w|².
const RIM = 0.995;
const RINGS = 8, RAYS = 6; // of the grid

class Disk {
  constructor(points) {
    keepPoints(this, "disk", points, 2, ["x", "y", "gap"]);
    this.home();
  }

  // The gyromidpoint in the middle: a network's points often lie to one side of the origin.
  home() {
    let nx = 0, ny = 0, d = 0;
    for (let i = 0; i < this.points.length; i += 2) {
      const p = this.points[i], q = this.points[i + 1], r = p * p + q * q, w = Math.sqrt(1 + r);
      nx += 2 * p * w;
      ny += 2 * q * w;
      d += 1 + 2 * r;
    }
    const n = Math.hypot(nx, ny) || 1;
    this.translate([1, 0, 0, 0], -Math.min(Math.atanh(Math.min(n / d, 1 - 1e-12)) / 2, 3), nx / n, ny / n);
  }

  // The origin of the space in the middle.
  centre() {
    this.state = [1, 0, 0, 0];
    this.project();
  }

  // Radius of view, from the middle, that holds all points.
  extent() {
    let most = 0;
    for (let i = 0; i < this.count; i++) most = Math.max(most, Math.hypot(this.x[i], this.y[i]));
    return most;
  }

  project() {
    const [ar, ai, br, bi] = this.state;
    for (let i = 0; i < this.count; i++) {
      const p = this.points[2 * i], q = this.points[2 * i + 1], w = Math.sqrt(1 + p * p + q * q);
      const ur = ar * p - ai * q + br * w, ui = ar * q + ai * p + bi * w;
      const wr = br * p + bi * q + ar * w, wi = br * q - bi * p - ai * w;
      const size = wr * wr + wi * wi;
      this.x[i] = (ur * wr + ui * wi) / size;
      this.y[i] = (ui * wr - ur * wi) / size;
      this.gap[i] = 1 / size;
    }
  }

  // After the isometry `from`, the translation z ↦ (z + c)/(1 + c̄z), c = tanh(half) e^{iφ}.
  translate(from, half, cos, sin) {
    const a = Math.cosh(half), br = Math.sinh(half) * cos, bi = Math.sinh(half) * sin;
    const [fr, fi, gr, gi] = from;
    let ar = a * fr + br * gr + bi * gi, ai = a * fi + bi * gr - br * gi;
    const cr = a * gr + br * fr + bi * fi, ci = a * gi + bi * fr - br * fi;
    const grow = Math.sqrt(1 + cr * cr + ci * ci) / Math.hypot(ar, ai); // rounding does not add up
    this.state = [ar * grow, ai * grow, cr, ci];
    this.project();
  }

  // The translation through the middle that takes p to q: c − pq c̄ = q − p.
  drag(from, p, q) {
    [p, q] = [p, q].map(([x, y]) => {
      const r = Math.hypot(x, y);
      return r > RIM ? [(x * RIM) / r, (y * RIM) / r] : [x, y];
    });
    const dr = q[0] - p[0], di = q[1] - p[1];
    const sr = p[0] * q[0] - p[1] * q[1], si = p[0] * q[1] + p[1] * q[0];
    const under = 1 - (sr * sr + si * si);
    const cr = (dr + sr * dr + si * di) / under, ci = (di + si * dr - sr * di) / under;
    const c = Math.hypot(cr, ci);
    if (c > 0) this.translate(from, Math.atanh(Math.min(c, 1 - 1e-15)), cr / c, ci / c);
    else this.translate(from, 0, 1, 0);
  }

  // For t from 0 to 1 the view on its way to node i.
  way(i) {
    const from = this.state, r = Math.hypot(this.x[i], this.y[i]) || 1;
    const half = Math.asinh(Math.sqrt(Math.max(1 / this.gap[i] - 1, 0)));
    const cos = this.x[i] / r, sin = this.y[i] / r;
    return (t) => this.translate(from, -t * half, cos, sin);
  }

  visible() {
    return true;
  }

  size(i) {
    return 0.5 + 0.5 * this.gap[i];
  }

  addEdge(path, camera, i, j) {
    this.arc(path, camera, this.x[i], this.y[i], this.gap[i], this.x[j], this.y[j], this.gap[j]);
  }

  // The arc of the circle through both points that meets the boundary at right angles; gaps are 1 − |z|².
  arc(path, camera, x1, y1, gap1, x2, y2, gap2) {
    const k = camera.scale, X1 = camera.toX(x1), Y1 = camera.toY(y1), X2 = camera.toX(x2), Y2 = camera.toY(y2);
    const chord = (X2 - X1) * (X2 - X1) + (Y2 - Y1) * (Y2 - Y1);
    if (chord < 0.25) return;
    path.moveTo(X1, Y1);
    const det = 2 * (x1 * y2 - x2 * y1), s1 = 2 - gap1, s2 = 2 - gap2;
    const cx = (y2 * s1 - y1 * s2) / det, cy = (x1 * s2 - x2 * s1) / det;
    const radius = k * Math.sqrt(Math.max(cx * cx + cy * cy - 1, 0));
    if (!(chord > 2 * radius) || radius > 1e6) return path.lineTo(X2, Y2); // bulges by less than a quarter of a pixel
    const X = camera.toX(cx), Y = camera.toY(cy);
    if (chord < radius * radius && !path.exact) {
      // Less than a sixth of a turn: a parabola through its middle is as good.
      const mx = (X1 + X2) / 2 - X, my = (Y1 + Y2) / 2 - Y, out = (2 * radius) / Math.hypot(mx, my) - 1;
      return path.quadraticCurveTo(X + out * mx, Y + out * my, X2, Y2);
    }
    const start = Math.atan2(Y1 - Y, X1 - X), end = Math.atan2(Y2 - Y, X2 - X);
    const turn = end - start - 2 * Math.PI * Math.round((end - start) / (2 * Math.PI));
    path.arc(X, Y, radius, start, end, turn < 0);
  }

  addEdges(front, back, camera, i, j) {
    this.addEdge(front, camera, i, j);
  }

  // The disk, its rim, and a grid that moves along: geodesics through the origin of the space, and circles about it
  // whose radii are whole multiples of the radius of curvature.
  drawSpace(ctx, camera, newPath) {
    const rim = newPath(), grid = newPath();
    rim.moveTo(camera.toX(1), camera.toY(0));
    rim.arc(camera.toX(0), camera.toY(0), camera.scale, 0, 2 * Math.PI);
    ctx.fillStyle = themed("--space");
    ctx.fill(rim);
    const [ar, ai, br, bi] = this.state, size = ar * ar + ai * ai;
    const ox = (br * ar - bi * ai) / size, oy = (bi * ar + br * ai) / size, r2 = ox * ox + oy * oy; // β/ᾱ
    for (let radius = 1; radius <= RINGS; radius++) {
      const t2 = Math.tanh(radius / 2) ** 2, under = 1 - t2 * r2, R = (Math.sqrt(t2) * (1 - r2)) / under;
      if (R * camera.scale < 3) continue;
      const X = camera.toX((ox * (1 - t2)) / under), Y = camera.toY((oy * (1 - t2)) / under);
      grid.moveTo(X + R * camera.scale, Y);
      grid.arc(X, Y, R * camera.scale, 0, 2 * Math.PI);
    }
    for (let ray = 0; ray < RAYS; ray++) {
      const angle = (Math.PI * ray) / RAYS, ends = [0, Math.PI].map((more) => this.ideal(angle + more));
      this.arc(grid, camera, ...ends[0], 0, ...ends[1], 0);
    }
    [ctx.strokeStyle, ctx.lineWidth] = [themed("--grid"), 1];
    ctx.stroke(grid);
    [ctx.strokeStyle, ctx.lineWidth] = [themed("--rim"), 1.5];
    ctx.stroke(rim);
  }

  // Where the isometry takes a point of the boundary.
  ideal(angle) {
    const [ar, ai, br, bi] = this.state, c = Math.cos(angle), s = Math.sin(angle);
    const ur = ar * c - ai * s + br, ui = ar * s + ai * c + bi, wr = br * c + bi * s + ar, wi = br * s - bi * c - ai;
    const size = wr * wr + wi * wi;
    return [(ur * wr + ui * wi) / size, (ui * wr - ur * wi) / size];
  }

  position(i) {
    return [this.x[i], this.y[i]];
  }

  hint() {
    return "The disk is a whole hyperbolic plane, its edge infinitely far away: drag to move through it, which keeps all distances. Circles of the grid are one radius of curvature apart.";
  }
}
