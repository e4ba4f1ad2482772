// Mouse, touch and keys on the canvas.
const STILL = 4; // pixels that a click may move
const ARROWS = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

class Hand {
  constructor(picture, tip, onSelect) {
    Object.assign(this, { picture, tip, onSelect, canvas: picture.canvas, held: new Map() });
    const on = (name, what, options) => this.canvas.addEventListener(name, what.bind(this), options);
    on("pointerdown", this.down);
    on("pointermove", this.move);
    on("pointerup", this.up);
    on("pointercancel", this.up);
    on("pointerleave", () => this.hover(-1));
    on("wheel", this.wheel, { passive: false });
    on("keydown", this.key);
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  down(event) {
    this.picture.stop();
    clearTimeout(this.picture.calm);
    this.canvas.setPointerCapture(event.pointerId);
    this.held.set(event.pointerId, this.place(event));
    this.begin(event);
    this.clicking = this.held.size === 1;
  }

  begin() {
    const [first] = this.held.values();
    this.start = first;
    this.from = this.picture.camera.from(...first);
    this.state = this.picture.space.state;
  }

  move(event) {
    const at = this.place(event);
    if (!this.held.has(event.pointerId)) return this.hover(this.picture.at(...at, 12), at);
    if (this.held.size === 2) this.pinch(event.pointerId, at);
    this.held.set(event.pointerId, at);
    if (this.held.size !== 1) return;
    if (this.clicking && Math.hypot(at[0] - this.start[0], at[1] - this.start[1]) < STILL) return;
    this.clicking = false;
    this.hover(-1);
    this.canvas.classList.add("held");
    this.picture.move(true);
    this.picture.space.drag(this.state, this.from, this.picture.camera.from(...at));
    this.picture.later();
  }

  pinch(id, at) {
    const other = [...this.held].find(([held]) => held !== id)[1], before = this.held.get(id);
    const apart = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]) || 1;
    this.picture.camera.magnify(apart(at) / apart(before), (at[0] + other[0]) / 2, (at[1] + other[1]) / 2);
    this.clicking = false;
    this.picture.later();
  }

  up(event) {
    if (!this.held.delete(event.pointerId)) return;
    if (this.held.size) return this.begin();
    this.canvas.classList.remove("held");
    this.picture.move(false);
    if (this.clicking && event.type === "pointerup")
      this.onSelect(this.picture.at(...this.place(event), event.pointerType === "touch" ? 20 : 12));
  }

  // A page that scrolls is not caught: the wheel zooms once the picture was clicked, or with Ctrl.
  wheel(event) {
    if (document.activeElement !== this.canvas && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.picture.camera.magnify(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 250), ...this.place(event));
    this.picture.nudged();
  }

  key(event) {
    const { camera, space } = this.picture, step = 24 / camera.scale;
    if (ARROWS[event.key]) {
      const [dx, dy] = ARROWS[event.key], at = [camera.x, camera.y];
      this.picture.stop();
      space.drag(space.state, at, [at[0] + dx * step, at[1] + dy * step]);
    } else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "Home" || event.key === "0") this.picture.reset();
    else if (event.key === "Escape") this.onSelect(-1);
    else return;
    event.preventDefault();
    this.picture.nudged();
  }

  zoom(factor) {
    const { camera } = this.picture;
    camera.magnify(factor, camera.width / 2, camera.height / 2);
    this.picture.later();
  }

  hover(node, at) {
    this.picture.hovered = node;
    this.canvas.classList.toggle("over", node >= 0);
    this.tip.hidden = node < 0;
    if (node < 0) return;
    this.tip.replaceChildren(...this.describe(node));
    const { camera } = this.picture;
    const left = Math.min(at[0] + 14, camera.width - this.tip.offsetWidth - 4);
    const top = at[1] + 16 + this.tip.offsetHeight > camera.height ? at[1] - this.tip.offsetHeight - 8 : at[1] + 16;
    this.tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }

  describe(node) {
    const { data } = this.picture, lines = [element("b", {}, clipped(data.names[node], 80))];
    const add = (text, kind = "") => lines.push(element("span", { class: kind }, text));
    if (data.classes) {
      const label = data.labels[node];
      add(label < 0 ? "no class" : `class: ${clipped(data.classes[label], 60)}`);
    } else add(`${written(data.depths[node])} from ${clipped(data.names[data.central], 30)}`);
    if (data.predicted) {
      const guess = data.predicted[node], right = guess === data.labels[node];
      const verdict = data.labels[node] < 0 ? "" : right ? ", right" : ", wrong";
      add(`predicted: ${clipped(data.classes[guess], 60)} (${share(data.probabilities[node])}${verdict})`);
    }
    if (data.parts && data.purposes[data.parts[node]]) add(`${data.purposes[data.parts[node]]} node`);
    return lines;
  }
}
