// From the unit disk, sphere or plane to pixels: a magnification and the place in the middle of the canvas.
const NEAREST = 200, FARTHEST = 0.5;

// Radius and middle of the smallest upright square that holds all points.
function surroundings({ x, y }) {
  const [left, right, low, high] = [x, y].flatMap((part) => part.reduce(([a, b], at) => [Math.min(a, at), Math.max(b, at)], [Infinity, -Infinity]));
  return [Math.max(right - left, high - low) / 2, [(left + right) / 2, (low + high) / 2]];
}

class Camera {
  constructor() {
    this.fit(1, 1, 1);
    this.home(1);
  }

  fit(width, height) {
    [this.width, this.height] = [width, height];
    this.unit = 0.47 * Math.min(width, height);
  }

  // Points that reach only this far from a middle fill the picture.
  home(extent, middle = [0, 0]) {
    this.start = extent < 1 && extent > 0 ? 0.95 / extent : 1;
    this.middle = middle;
    [this.zoom, this.x, this.y] = [this.start, ...middle];
  }

  get scale() {
    return this.unit * this.zoom;
  }

  toX(x) {
    return this.width / 2 + this.scale * (x - this.x);
  }

  toY(y) {
    return this.height / 2 - this.scale * (y - this.y);
  }

  from(X, Y) {
    return [(X - this.width / 2) / this.scale + this.x, (this.height / 2 - Y) / this.scale + this.y];
  }

  // What is under (X, Y) stays there.
  magnify(factor, X, Y) {
    const [x, y] = this.from(X, Y);
    this.zoom = Math.min(Math.max(this.zoom * factor, FARTHEST * this.start), NEAREST * this.start);
    const [nowX, nowY] = this.from(X, Y);
    this.x += x - nowX;
    this.y += y - nowY;
    if (this.zoom <= this.start) [this.x, this.y] = this.middle;
  }

  // For t from 0 to 1 the way back to the middle.
  way() {
    const { x, y } = this;
    return (t) => {
      this.x = x * (1 - t);
      this.y = y * (1 - t);
    };
  }
}
