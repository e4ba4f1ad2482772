// The state of the page in its address, so that a link shows the same picture.
class Address {
  constructor(panel) {
    Object.assign(this, { panel, state: panel.state });
    byId("link").addEventListener("click", () => this.copy());
    window.addEventListener("hashchange", () => this.read());
    this.read();
  }

  write() {
    const { state, panel } = this, { names, colourings } = state.view, parts = new URLSearchParams();
    if (state.selected >= 0) parts.set("node", names[state.selected]);
    if (state.end >= 0) parts.set("to", names[state.end]);
    parts.set("by", colourings[state.place].key);
    if (state.hidden.size) parts.set("hide", [...state.hidden].join(" "));
    panel.views.forEach(({ space, camera }, i) => {
      const numbers = [camera.zoom, camera.x, camera.y, ...space.state];
      parts.set(`v${i}`, numbers.map((n) => Number(n.toPrecision(7))).join(" "));
    });
    return `#${parts}`;
  }

  read() {
    const { state, panel } = this, parts = new URLSearchParams(location.hash.slice(1)), { names, colourings } = state.view;
    const by = colourings.findIndex(({ key }) => key === parts.get("by"));
    if (by >= 0) state.colourBy(by);
    for (const key of (parts.get("hide") || "").split(" ").filter(Boolean)) state.hide(Number(key), true);
    panel.views.forEach((view, i) => {
      const [zoom, x, y, ...rest] = (parts.get(`v${i}`) || "").split(" ").map(Number);
      if (rest.length !== view.space.state.length || ![zoom, x, y, ...rest].every(Number.isFinite) || zoom <= 0) return;
      Object.assign(view.camera, { zoom, x, y });
      view.space.state = rest;
      view.space.project();
      view.later();
    });
    const [node, end] = ["node", "to"].map((part) => (parts.has(part) ? names.indexOf(parts.get(part)) : -1));
    if (node >= 0) state.select(node);
    if (node >= 0 && end >= 0) state.select(end, { end: true });
  }

  copy() {
    history.replaceState(null, "", this.write());
    const said = (text) => (byId("saved").textContent = text);
    said("The link is in the address bar.");
    navigator.clipboard?.writeText(location.href).then(() => said("The link is in the address bar and copied."), () => {});
  }
}
