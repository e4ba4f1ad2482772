// Find a node by its name; the list is walked by arrow keys.
const MATCHES = 8;

class Search {
  constructor(state, visit) {
    Object.assign(this, { state, visit, box: byId("search"), list: byId("matches") });
    this.lowered = state.view.names.map((name) => name.toLowerCase());
    this.box.addEventListener("input", () => this.update());
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("keydown", (event) => this.walk(event));
  }

  matches() {
    const asked = this.box.value.trim().toLowerCase(), ranks = [[], [], []];
    if (!asked) return [];
    this.lowered.forEach((name, i) => {
      const at = name.indexOf(asked);
      if (at >= 0) ranks[name === asked ? 0 : at === 0 ? 1 : 2].push(i);
    });
    return ranks.flat();
  }

  update() {
    const found = this.matches(), { nodes, shown, names } = this.state.view;
    this.list.hidden = !found.length;
    this.list.replaceChildren(
      ...found.slice(0, MATCHES).map((i) => {
        const button = element("button", { type: "button", title: names[i] }, element("span", {}, clipped(names[i], 60)));
        button.addEventListener("click", () => this.go(i));
        return element("li", {}, button);
      }),
    );
    const more = found.length > MATCHES ? `${many(found.length)} nodes; the first ${MATCHES} are listed.` : "";
    const few = shown < nodes ? "No such node among those shown." : "No such node.";
    byId("search-says").textContent = this.box.value.trim() && !found.length ? few : more;
  }

  go(node) {
    this.list.hidden = true;
    byId("search-says").textContent = "";
    this.visit(node);
  }

  key(event) {
    if (event.key === "Escape") this.clear();
    else if (event.key === "ArrowDown") this.list.querySelector("button")?.focus();
    else if (event.key === "Enter") {
      const [first] = this.matches();
      this.update();
      if (first !== undefined) this.go(first);
    } else return;
    event.preventDefault();
  }

  walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], buttons = [...this.list.querySelectorAll("button")];
    if (event.key === "Escape") this.clear();
    else if (!step) return;
    event.preventDefault();
    const next = buttons.indexOf(document.activeElement) + (step || -buttons.length);
    if (next < 0) this.box.focus();
    else buttons[Math.min(next, buttons.length - 1)]?.focus();
  }

  clear() {
    this.box.value = "";
    this.update();
  }
}
