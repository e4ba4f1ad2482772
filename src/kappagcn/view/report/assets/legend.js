// What nodes are coloured by, and what the colours mean.
class Legend {
  constructor(state) {
    this.state = state;
    const choice = byId("colour-by");
    choice.append(...state.view.colourings.map((each, i) => element("option", { value: i }, each.title)));
    choice.addEventListener("change", () => state.colourBy(Number(choice.value)));
    state.onChange((what) => what === "colours" && this.draw());
    dark.addEventListener("change", () => this.draw());
    this.draw();
  }

  draw() {
    const { colouring, place } = this.state;
    byId("colour-by").value = place;
    byId("legend").className = colouring.names ? "classes" : "";
    byId("legend").replaceChildren(...(colouring.names ? this.groups() : this.ramp()));
  }

  groups() {
    const { names, short, counts, none } = this.state.colouring;
    const keys = [...names.keys(), -1].filter((key) => counts.at(key) > 0);
    return keys.map((key) => {
      const shown = !this.state.hidden.has(key), name = key < 0 ? none : names[key];
      const button = element("button", { type: "button", "aria-pressed": String(shown), title: `Show or hide ${name}` });
      button.append(swatch(key), element("span", {}, key < 0 ? none : short[key]), element("em", {}, many(counts.at(key))));
      button.addEventListener("click", () => {
        this.state.hide(key, shown);
        byId("legend").children[keys.indexOf(key)].focus();
      });
      return button;
    });
  }

  ramp() {
    const { ends, low, scale, values } = this.state.colouring, stops = [0, 0.2, 0.4, 0.6, 0.8, 1].map(rampColour);
    const bar = element("div", { class: "ramp" });
    bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    const words = [low || written(ends[0]), written(ends[1])].map((text) => element("span", {}, text));
    const lines = [bar, element("div", { class: "ends" }, ...words)];
    if (scale === "log") lines.push(element("p", { class: "note" }, "logarithmic scale"));
    if (values.some(Number.isNaN)) lines.push(element("p", { class: "note" }, "grey: no path, or not known"));
    return lines;
  }
}
