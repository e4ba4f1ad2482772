// The plane, at a size that fits the view.
class Plane {
  constructor(points) {
    const middle = [0, 1].map((axis) => this.span(points, axis));
    const half = Math.max(middle[0][1] - middle[0][0], middle[1][1] - middle[1][0]) / 2 || 1;
    const centred = points.map((value, i) => (value - (middle[i % 2][0] + middle[i % 2][1]) / 2) / half);
    keepPoints(this, "plane", centred, 2, ["x", "y"]);
    this.home();
  }

  span(points, axis) {
    let low = Infinity, high = -Infinity;
    for (let i = axis; i < points.length; i += 2) [low, high] = [Math.min(low, points[i]), Math.max(high, points[i])];
    return [low, high];
  }

  home() {
    this.state = [0, 0];
    this.project();
  }

  centre() {
    this.home();
  }

  extent() {
    return 1;
  }

  project() {
    for (let i = 0; i < this.count; i++) {
      this.x[i] = this.points[2 * i] + this.state[0];
      this.y[i] = this.points[2 * i + 1] + this.state[1];
    }
  }

  drag(from, p, q) {
    this.state = [from[0] + q[0] - p[0], from[1] + q[1] - p[1]];
    this.project();
  }

  way(i) {
    const from = this.state, at = [this.x[i], this.y[i]];
    return (t) => this.drag(from, at, [at[0] * (1 - t), at[1] * (1 - t)]);
  }

  visible() {
    return true;
  }

  size() {
    return 1;
  }

  addEdges(front, back, camera, i, j) {
    front.moveTo(camera.toX(this.x[i]), camera.toY(this.y[i]));
    front.lineTo(camera.toX(this.x[j]), camera.toY(this.y[j]));
  }

  // A grid of squares that moves along.
  drawSpace(ctx, camera, newPath) {
    const grid = newPath(), [left, top] = camera.from(0, 0), [right, bottom] = camera.from(camera.width, camera.height);
    const step = 0.25 * 2 ** -Math.floor(Math.log2(camera.zoom)), [dx, dy] = this.state;
    for (let x = Math.ceil((left - dx) / step) * step + dx; x < right; x += step) {
      grid.moveTo(camera.toX(x), 0);
      grid.lineTo(camera.toX(x), camera.height);
    }
    for (let y = Math.ceil((bottom - dy) / step) * step + dy; y < top; y += step) {
      grid.moveTo(0, camera.toY(y));
      grid.lineTo(camera.width, camera.toY(y));
    }
    [ctx.strokeStyle, ctx.lineWidth] = [themed("--grid"), 1];
    ctx.stroke(grid);
  }

  position(i) {
    return [this.x[i], this.y[i]];
  }

  hint() {
    return "The plane: distances are as they look. Drag to move.";
  }
}
