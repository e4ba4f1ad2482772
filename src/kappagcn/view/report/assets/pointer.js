// Mouse, touch and keys on a canvas.
const STILL = 4; // pixels that a click may move
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

class Hand {
  constructor(view, tip, panel) {
    Object.assign(this, { view, tip, panel, state: view.state, canvas: view.canvas, held: new Map() });
    const on = (name, what, options) => this.canvas.addEventListener(name, what.bind(this), options);
    on("pointerdown", this.down);
    on("pointermove", this.move);
    on("pointerup", this.up);
    on("pointercancel", this.up);
    on("pointerleave", () => this.hover(-1));
    on("wheel", this.wheel, { passive: false });
    on("keydown", this.key);
    on("blur", () => this.hover(-1));
    // One finger scrolls the page, two move the picture.
    for (const name of ["touchstart", "touchmove"]) on(name, (event) => event.touches.length > 1 && event.cancelable && event.preventDefault(), { passive: false });
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  down(event) {
    this.view.stop();
    this.panel.touched(this.view);
    clearTimeout(this.view.calm);
    if (event.isTrusted) this.canvas.setPointerCapture(event.pointerId);
    this.held.set(event.pointerId, this.place(event));
    this.begin();
    this.clicking = this.held.size === 1;
    this.free = event.pointerType !== "touch" || this.panel.fingerMoves; // to move the picture with one finger
  }

  // The middle of all fingers.
  middle() {
    const places = [...this.held.values()];
    return [0, 1].map((axis) => places.reduce((sum, place) => sum + place[axis], 0) / places.length);
  }

  begin() {
    this.start = this.middle();
    this.from = this.view.camera.from(...this.start);
    this.before = this.view.space.state;
  }

  move(event) {
    const at = this.place(event);
    if (!this.held.has(event.pointerId)) return this.hover(this.view.at(...at, 12), at);
    const spread = this.held.size === 2 ? this.spread() : 0, middle = this.middle();
    this.held.set(event.pointerId, at);
    if (this.held.size === 1 && !this.free) return;
    if (this.clicking && Math.hypot(at[0] - this.start[0], at[1] - this.start[1]) < STILL) return;
    this.clicking = false;
    this.hover(-1);
    this.canvas.classList.add("held");
    this.view.move(true);
    if (spread) this.pinch(this.spread() / spread, middle);
    this.view.space.drag(this.before, this.from, this.view.camera.from(...this.middle()));
    this.view.later();
  }

  spread() {
    const [a, b] = [...this.held.values()];
    return Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
  }

  // Zooms about the middle of the fingers, from which the drag goes on.
  pinch(factor, middle) {
    this.view.camera.magnify(factor, ...middle);
    this.from = this.view.camera.from(...middle);
    this.before = this.view.space.state;
  }

  up(event) {
    if (!this.held.delete(event.pointerId)) return;
    if (this.held.size) return this.begin();
    this.canvas.classList.remove("held");
    this.view.move(false);
    if (!this.clicking || event.type !== "pointerup") return;
    const node = this.view.at(...this.place(event), event.pointerType === "touch" ? 22 : 12);
    this.panel.pick(node, event.shiftKey);
  }

  // A page that scrolls is not caught: the wheel zooms once the picture was clicked, or with Ctrl.
  wheel(event) {
    if (document.activeElement !== this.canvas && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.view.camera.magnify(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 250), ...this.place(event));
    this.view.nudged();
  }

  key(event) {
    const { camera, space } = this.view, step = 24 / camera.scale;
    if (ARROWS[event.key] && event.shiftKey) {
      const [dx, dy] = ARROWS[event.key], at = [camera.x, camera.y];
      this.view.stop();
      space.drag(space.state, at, [at[0] - dx * step, at[1] + dy * step]);
    } else if (ARROWS[event.key]) this.walk(...ARROWS[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "Home" || event.key === "0") this.view.reset();
    else if ((event.key === "Enter" || event.key === " ") && this.state.hovered >= 0) this.panel.pick(this.state.hovered, event.shiftKey);
    else if (event.key === "Escape") this.panel.pick(-1);
    else return;
    event.preventDefault();
    if (!ARROWS[event.key] || event.shiftKey) this.view.nudged();
  }

  // From node to node by arrow keys.
  walk(dx, dy) {
    const { view, state } = this, here = state.hovered >= 0 ? state.hovered : state.selected;
    const node = view.towards(here, dx, dy);
    if (node < 0) return;
    this.hover(node, [view.camera.toX(view.space.x[node]), view.camera.toY(view.space.y[node])]);
    byId("spoken").textContent = this.panel.describe(node).join(", ");
  }

  zoom(factor) {
    const { camera } = this.view;
    camera.magnify(factor, camera.width / 2, camera.height / 2);
    this.view.later();
  }

  hover(node, at) {
    this.state.hover(node);
    this.canvas.classList.toggle("over", node >= 0);
    this.tip.hidden = node < 0;
    if (node < 0) return;
    this.tip.replaceChildren(...this.panel.describe(node).map((text, i) => element(i ? "span" : "b", {}, text)));
    const { camera } = this.view;
    const left = Math.min(at[0] + 14, camera.width - this.tip.offsetWidth - 4);
    const top = at[1] + 16 + this.tip.offsetHeight > camera.height ? at[1] - this.tip.offsetHeight - 8 : at[1] + 16;
    this.tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }
}
