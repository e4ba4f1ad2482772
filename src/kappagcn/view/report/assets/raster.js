// Many edges and nodes drawn pixel by pixel: without a graphics card far faster than paths, and smooth enough to stay.
// Edges share a colour, so that their coverage is all that is kept; marks are stamped from masks.
class Raster {
  resize(width, height, ratio) {
    Object.assign(this, { width, height, ratio });
    this.canvas = this.canvas || document.createElement("canvas");
    [this.canvas.width, this.canvas.height] = [width, height];
    this.ctx = this.canvas.getContext("2d");
    this.image = this.ctx.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.cover = new Uint8Array(width * height);
    this.masks = new Map();
  }

  clear() {
    this.cover.fill(0);
    this.pixels.fill(0);
  }

  // A path whose lines are drawn at once; strength from 0 to 1.
  pen(strength) {
    return new Pen(this, 255 * strength);
  }

  // Lines drawn so far become pixels of a colour; where many pile up, nodes can still be told from them.
  ink(colour) {
    const rgb = littleEndian(colour), { pixels, cover } = this;
    for (let at = 0; at < cover.length; at++) if (cover[at]) pixels[at] = rgb | (INK[cover[at]] << 24);
  }

  mask(shape, radius) {
    const quarter = Math.max(4, Math.round(4 * radius)), key = shape + quarter;
    if (!this.masks.has(key)) this.masks.set(key, stamped(shape, quarter / 4));
    return this.masks.get(key);
  }

  mark(shape, x, y, radius, rgb, strength) {
    const { alpha, side } = this.mask(shape, radius * this.ratio), { width, height, pixels } = this;
    const left = Math.round(x * this.ratio - side / 2), top = Math.round(y * this.ratio - side / 2);
    if (left + side < 0 || top + side < 0 || left >= width || top >= height) return;
    for (let row = Math.max(0, -top); row < side && top + row < height; row++)
      for (let column = Math.max(0, -left); column < side && left + column < width; column++) {
        const a = alpha[row * side + column] * strength;
        if (a < 2) continue;
        const at = (top + row) * width + left + column;
        pixels[at] = a > 250 ? rgb | 0xff000000 : over(pixels[at], rgb, a);
      }
  }

  paint(ctx) {
    this.ctx.putImageData(this.image, 0, 0);
    ctx.drawImage(this.canvas, 0, 0, this.width / this.ratio, this.height / this.ratio);
  }
}

const DARKEST = 0.5; // opacity of a place that edges cover completely
const INK = Uint8Array.from({ length: 256 }, (_, c) => 255 * DARKEST * (1 - Math.exp(-c / 255 / DARKEST)) / (1 - Math.exp(-1 / DARKEST)));

const littleEndian = (hex) => parseInt(hex.slice(1, 3), 16) | (parseInt(hex.slice(3, 5), 16) << 8) | (parseInt(hex.slice(5, 7), 16) << 16);

// A colour of strength a, 0 to 255, over a pixel that is not premultiplied.
function over(below, rgb, a) {
  const under = ((below >>> 24) * (255 - a)) / 255, whole = a + under, own = a / whole, old = under / whole;
  const red = (rgb & 255) * own + (below & 255) * old;
  const green = ((rgb >> 8) & 255) * own + ((below >> 8) & 255) * old;
  const blue = ((rgb >> 16) & 255) * own + ((below >> 16) & 255) * old;
  return (whole << 24) | (blue << 16) | (green << 8) | red;
}

function stamped(shape, radius) {
  const side = 2 * Math.ceil(1.35 * radius) + 1, canvas = element("canvas", { width: side, height: side });
  const ctx = canvas.getContext("2d"), path = new Path2D();
  addMark(path, shape, side / 2, side / 2, radius);
  ctx.fill(path);
  return { side, alpha: ctx.getImageData(0, 0, side, side).data.filter((_, i) => i % 4 === 3) };
}

// The part of a canvas path that edges need.
class Pen {
  constructor(raster, strength) {
    [this.raster, this.strength, this.ratio] = [raster, strength, raster.ratio];
  }

  moveTo(x, y) {
    [this.x, this.y] = [x * this.ratio, y * this.ratio];
  }

  lineTo(x, y) {
    const X = x * this.ratio, Y = y * this.ratio;
    this.line(this.x, this.y, X, Y);
    [this.x, this.y] = [X, Y];
  }

  quadraticCurveTo(a, b, x, y) {
    const x0 = this.x / this.ratio, y0 = this.y / this.ratio;
    const bulge = Math.hypot(a - (x0 + x) / 2, b - (y0 + y) / 2), pieces = Math.min(24, 1 + Math.ceil(Math.sqrt(2 * bulge)));
    for (let piece = 1; piece <= pieces; piece++) {
      const t = piece / pieces, s = 1 - t;
      this.lineTo(s * s * x0 + 2 * s * t * a + t * t * x, s * s * y0 + 2 * s * t * b + t * t * y);
    }
  }

  arc(x, y, radius, start, end, back) {
    const whole = 2 * Math.PI, turn = back ? -(((start - end) % whole) + whole) % whole : (((end - start) % whole) + whole) % whole;
    const pieces = Math.min(60, 1 + Math.ceil(Math.abs(turn) * Math.sqrt(radius) * 0.8));
    for (let piece = 1; piece <= pieces; piece++) {
      const angle = start + (turn * piece) / pieces;
      this.lineTo(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
    }
  }

  // A smooth line one pixel wide: at each step along it, its strength is shared by two pixels across it.
  line(x0, y0, x1, y1) {
    const { cover, width, height } = this.raster, { strength } = this;
    const steep = Math.abs(y1 - y0) > Math.abs(x1 - x0);
    let [a0, b0, a1, b1] = steep ? [y0, x0, y1, x1] : [x0, y0, x1, y1];
    if (a0 > a1) [a0, b0, a1, b1] = [a1, b1, a0, b0];
    const slope = a1 > a0 ? (b1 - b0) / (a1 - a0) : 0, long = steep ? height : width, wide = steep ? width : height;
    const first = Math.max(0, Math.round(a0)), last = Math.min(long - 1, Math.round(a1));
    const along = steep ? width : 1, across = steep ? 1 : width;
    for (let a = first, b = b0 + slope * (first - a0); a <= last; a++, b += slope) {
      const low = Math.floor(b);
      if (low < 0 || low + 1 >= wide) continue;
      const part = (b - low) * strength, at = a * along + low * across;
      const one = cover[at] + strength - part, two = cover[at + across] + part;
      cover[at] = one > 255 ? 255 : one;
      cover[at + across] = two > 255 ? 255 : two;
    }
  }
}
