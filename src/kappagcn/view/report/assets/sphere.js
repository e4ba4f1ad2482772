// The sphere seen from far away; z points to the reader.
const SEGMENT = 0.12; // radians of a great circle drawn straight

const ACROSS = 1.05; // radians between the reader and the axis of a ring

const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

// Rotation about a unit axis, then the rotation `before`; rows one after the other.
function turned(before, axis, angle) {
  const c = Math.cos(angle), s = Math.sin(angle), [x, y, z] = axis;
  const m = [
    c + x * x * (1 - c), x * y * (1 - c) - z * s, x * z * (1 - c) + y * s,
    y * x * (1 - c) + z * s, c + y * y * (1 - c), y * z * (1 - c) - x * s,
    z * x * (1 - c) - y * s, z * y * (1 - c) + x * s, c + z * z * (1 - c),
  ];
  const product = [];
  for (let i = 0; i < 9; i += 3)
    for (let j = 0; j < 3; j++) product.push(m[i] * before[j] + m[i + 1] * before[3 + j] + m[i + 2] * before[6 + j]);
  return orthonormal(product);
}

function orthonormal(m) {
  const unit = (a) => a.map((part) => part / Math.hypot(...a));
  const first = unit(m.slice(0, 3));
  const along = dot(first, m.slice(3, 6));
  const second = unit(m.slice(3, 6).map((part, i) => part - along * first[i]));
  return [...first, ...second, ...cross(first, second)];
}

// Meridians and parallels every 30 degrees about an axis that leans a little towards the reader.
const LEAN = 0.42;
const GLOBE = [];
{
  const turn = Array.from({ length: 73 }, (_, i) => (2 * Math.PI * i) / 72);
  const leaned = ([x, y, z]) => [x, y * Math.cos(LEAN) - z * Math.sin(LEAN), y * Math.sin(LEAN) + z * Math.cos(LEAN)];
  for (let step = 0; step < 6; step++) {
    const a = (Math.PI * step) / 6, b = (Math.PI * (step - 2)) / 6;
    GLOBE.push(turn.map((t) => leaned([Math.cos(t) * Math.cos(a), Math.sin(t), Math.cos(t) * Math.sin(a)])));
    if (step < 5) GLOBE.push(turn.map((t) => leaned([Math.cos(b) * Math.cos(t), Math.sin(b), Math.cos(b) * Math.sin(t)])));
  }
}

class Sphere {
  constructor(points) {
    keepPoints(this, "sphere", points, 3, ["x", "y", "z"]);
    this.home();
  }

  // The mean of the points towards the reader, unless they are all around.
  home() {
    const mean = [0, 1, 2].map((axis) => {
      let sum = 0;
      for (let i = axis; i < this.points.length; i += 3) sum += this.points[i];
      return sum / this.count;
    });
    const size = Math.hypot(...mean);
    this.centre();
    if (size > 0.1) this.turnTo(this.state, mean.map((part) => part / size), [0, 0, 1])(1);
    else this.face(this.thinnest());
  }

  // Of the four views in which an axis lies across, the one with most points towards the reader.
  face(axis) {
    const across = [0, Math.sin(ACROSS), Math.cos(ACROSS)];
    let best = this.state, most = -1;
    for (const sign of [1, -1])
      for (const angle of [0, Math.PI]) {
        this.centre();
        this.turnTo(this.state, axis.map((part) => sign * part), across)(1);
        this.turn(this.state, across, angle);
        const front = this.z.reduce((sum, z) => sum + (z > 0.5), 0);
        if (front > most) [best, most] = [this.state, front];
      }
    this.state = best;
    this.project();
  }

  // The direction in which points spread least: the axis of a ring, which is then seen from the side.
  thinnest() {
    const m = new Float64Array(9), p = this.points;
    for (let i = 0; i < p.length; i += 3)
      for (let a = 0; a < 9; a++) m[a] += ((a % 4 ? 0 : 1) - p[i + Math.floor(a / 3)] * p[i + (a % 3)]) / this.count;
    let axis = [0.3, 0.5, 0.8];
    for (let step = 0; step < 60; step++) {
      const next = [0, 3, 6].map((row) => m[row] * axis[0] + m[row + 1] * axis[1] + m[row + 2] * axis[2]), size = Math.hypot(...next);
      axis = next.map((part) => part / size);
    }
    return axis;
  }

  // The origin of the space towards the reader.
  centre() {
    this.state = [1, 0, 0, 0, 1, 0, 0, 0, 1];
    this.project();
  }

  extent() {
    let most = 0;
    for (let i = 0; i < this.count; i++) most = this.z[i] > 0 ? Math.max(most, Math.hypot(this.x[i], this.y[i])) : 1;
    return most;
  }

  project() {
    const m = this.state, p = this.points;
    for (let i = 0; i < this.count; i++) {
      const a = p[3 * i], b = p[3 * i + 1], c = p[3 * i + 2];
      this.x[i] = m[0] * a + m[1] * b + m[2] * c;
      this.y[i] = m[3] * a + m[4] * b + m[5] * c;
      this.z[i] = m[6] * a + m[7] * b + m[8] * c;
    }
  }

  turn(from, axis, angle) {
    this.state = turned(from, axis, angle);
    this.project();
  }

  drag(from, p, q) {
    const [a, b] = [p, q].map(([x, y]) => {
      const r = Math.hypot(x, y);
      return r >= 1 ? [x / r, y / r, 0] : [x, y, Math.sqrt(1 - r * r)];
    });
    this.turnTo(from, a, b)(1);
  }

  turnTo(from, a, b) {
    const axis = cross(a, b), size = Math.hypot(...axis), angle = Math.atan2(size, dot(a, b));
    const unit = size > 1e-12 ? axis.map((part) => part / size) : [1, 0, 0]; // opposite points: any axis will do
    return (t) => this.turn(from, unit, t * angle);
  }

  way(i) {
    return this.turnTo(this.state, [this.x[i], this.y[i], this.z[i]], [0, 0, 1]);
  }

  visible(i) {
    return this.z[i] >= 0;
  }

  size(i) {
    return 0.8 + 0.2 * this.z[i];
  }

  // The great circle between two nodes, in pieces; each goes to the side it is on, cut at the horizon.
  addEdges(front, back, camera, i, j) {
    const a = [this.x[i], this.y[i], this.z[i]], b = [this.x[j], this.y[j], this.z[j]];
    const angle = Math.atan2(Math.hypot(...cross(a, b)), dot(a, b)), sine = Math.sin(angle);
    const pieces = sine > 1e-9 ? Math.ceil(angle / SEGMENT) : 1;
    let last = a, path = null;
    for (let piece = 1; piece <= pieces; piece++) {
      const t = (piece / pieces) * angle, p = Math.sin(angle - t) / sine, q = Math.sin(t) / sine;
      const next = piece === pieces ? b : [p * a[0] + q * b[0], p * a[1] + q * b[1], p * a[2] + q * b[2]];
      if (last[2] < 0 !== next[2] < 0) {
        const cut = last[2] / (last[2] - next[2]);
        const middle = [last[0] + cut * (next[0] - last[0]), last[1] + cut * (next[1] - last[1]), 0];
        this.addPiece(last[2] < 0 ? back : front, path, camera, last, middle);
        path = next[2] < 0 ? back : front;
        this.addPiece(path, null, camera, middle, next);
      } else {
        const side = next[2] < 0 ? back : front;
        this.addPiece(side, path, camera, last, next);
        path = side;
      }
      last = next;
    }
  }

  addPiece(path, before, camera, from, to) {
    if (!path) return;
    if (path !== before) path.moveTo(camera.toX(from[0]), camera.toY(from[1]));
    path.lineTo(camera.toX(to[0]), camera.toY(to[1]));
  }

  // A shaded ball with meridians and parallels, those behind it fainter.
  drawSpace(ctx, camera, newPath) {
    const ball = newPath(), front = newPath(), back = newPath(), X = camera.toX(0), Y = camera.toY(0), r = camera.scale;
    ball.moveTo(X + r, Y);
    ball.arc(X, Y, r, 0, 2 * Math.PI);
    const light = ctx.createRadialGradient(X - 0.35 * r, Y - 0.4 * r, 0.05 * r, X, Y, r);
    ["--ball-light", "--ball", "--ball-dark"].forEach((name, i) => light.addColorStop([0, 0.6, 1][i], themed(name)));
    ctx.fillStyle = light;
    ctx.fill(ball);
    for (const line of GLOBE) this.addLine(front, back, camera, line);
    [ctx.strokeStyle, ctx.lineWidth] = [themed("--globe"), 1];
    ctx.globalAlpha = 0.25;
    ctx.stroke(back);
    ctx.globalAlpha = 0.8;
    ctx.stroke(front);
    ctx.globalAlpha = 1;
    [ctx.strokeStyle, ctx.lineWidth] = [themed("--rim"), 1.5];
    ctx.stroke(ball);
  }

  addLine(front, back, camera, line) {
    const m = this.state;
    let last = null, path = null;
    for (const [a, b, c] of line) {
      const next = [m[0] * a + m[1] * b + m[2] * c, m[3] * a + m[4] * b + m[5] * c, m[6] * a + m[7] * b + m[8] * c];
      const side = next[2] < 0 ? back : front;
      if (last) this.addPiece(side, path, camera, last, next);
      [last, path] = [next, last ? side : null];
    }
  }

  position(i) {
    return [this.x[i], this.y[i], this.z[i]];
  }

  hint() {
    return "Drag to turn the sphere; what is behind it is faded.";
  }
}
