// The picture as SVG: a path and a context that write what a canvas would draw.
class SvgPath {
  constructor() {
    [this.d, this.exact] = [[], true];
  }

  add(letter, ...numbers) {
    this.d.push(letter + numbers.map((n) => Math.round(100 * n) / 100).join(" "));
  }

  moveTo(x, y) {
    this.add("M", x, y);
  }

  lineTo(x, y) {
    this.add("L", x, y);
  }

  quadraticCurveTo(a, b, x, y) {
    this.add("Q", a, b, x, y);
  }

  closePath() {
    this.add("Z");
  }

  arc(x, y, r, start, end, back) {
    const at = (angle) => [x + r * Math.cos(angle), y + r * Math.sin(angle)];
    if (Math.abs(end - start) > 2 * Math.PI - 1e-9) {
      this.add("A", r, r, 0, 0, 1, ...at(start + Math.PI));
      return this.add("A", r, r, 0, 0, 1, ...at(start + 2 * Math.PI));
    }
    this.add("A", r, r, 0, 0, back ? 0 : 1, ...at(end)); // geodesics turn by less than half a circle
  }
}

class SvgContext {
  constructor(width, height, background) {
    Object.assign(this, { width, height, globalAlpha: 1, lineWidth: 1, font: FONT, dash: [] });
    this.parts = [`<rect width="${width}" height="${height}" fill="${background}"/>`];
    this.defs = [];
  }

  setLineDash(dash) {
    this.dash = dash;
  }

  createRadialGradient(x0, y0, r0, x1, y1, r1) {
    const id = `g${this.defs.length}`, stops = [];
    this.defs.push({ id, stops, x0, y0, r0, x1, y1, r1 });
    return { addColorStop: (at, colour) => stops.push([at, colour]), toString: () => `url(#${id})` };
  }

  fill(path) {
    this.parts.push(`<path d="${path.d.join("")}" fill="${this.fillStyle}"${this.opacity()}/>`);
  }

  stroke(path) {
    if (!path.d.length) return;
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    this.parts.push(`<path d="${path.d.join("")}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${dash}${this.opacity()}/>`);
  }

  fillRect(x, y, width, height) {
    this.parts.push(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${this.fillStyle}"${this.opacity()}/>`);
  }

  measureText(text) {
    return { width: 6.6 * text.length };
  }

  strokeText(text, x, y) {
    this.text(text, x, y, `fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" aria-hidden="true"`);
  }

  fillText(text, x, y) {
    this.text(text, x, y, `fill="${this.fillStyle}"`);
  }

  text(text, x, y, look) {
    const safe = text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`).replace(/[\u0000-\u001f]/g, " ");
    this.parts.push(`<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" font-family="system-ui, sans-serif" font-size="12" dominant-baseline="central" ${look}>${safe}</text>`);
  }

  opacity() {
    return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha.toFixed(3)}"` : "";
  }

  toString() {
    const gradients = this.defs.map(
      ({ id, stops, x0, y0, r0, x1, y1, r1 }) =>
        `<radialGradient id="${id}" gradientUnits="userSpaceOnUse" fx="${x0}" fy="${y0}" fr="${r0}" cx="${x1}" cy="${y1}" r="${r1}">${stops.map(([at, colour]) => `<stop offset="${at}" stop-color="${colour}"/>`).join("")}</radialGradient>`,
    );
    return `<svg xmlns="${SVG}" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"><defs>${gradients.join("")}</defs>${this.parts.join("\n")}</svg>\n`;
  }
}
