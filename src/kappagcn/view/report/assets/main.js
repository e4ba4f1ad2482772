const state = new State(data.view);
const MOST_STAGES = 8;
const several = data.view.runs.length > 1;
const factors = data.view.runs.flatMap(({ factors, name }, run) =>
  factors.map((factor, order) => ({ factor, run, order, title: `${several ? `${name}: ` : ""}${factor.name}, κ = ${factor.curvature}` })),
);
const panel = new Panel(state, factors.slice(0, MOST_STAGES));
const saving = new Saving(panel);
const address = new Address(panel);
const films = data.view.runs.map(({ film, name }) => film && { ...film, name: several ? `${name}: ` : "" });
const film = films.every(Boolean) ? new FilmPlayer(panel, films) : null;
drawCharts(data);

// For tests: what is seen, and how long frames take.
const look = (place) => panel.views[place];
window.kappagcnView = {
  positions: (place = 0) =>
    Array.from({ length: state.view.shown }, (_, i) => ({
      at: look(place).space.position(i),
      screen: [look(place).camera.toX(look(place).space.x[i]), look(place).camera.toY(look(place).space.y[i])],
      visible: state.shows(i) && look(place).space.visible(i),
    })),
  frameMilliseconds: (place = 0) => [...look(place).frames],
  svg: (place = 0) => look(place).svg(),
  address: () => address.write(),
  pick: (node, end) => panel.pick(node, end),
  visit: (node) => panel.visit(node),
  distance: (i, j) => state.distance(i, j),
  state: (place = 0) => ({
    kind: look(place).space.kind,
    views: panel.views.length,
    selected: state.selected,
    hovered: state.hovered,
    end: state.end,
    path: state.path || [],
    near: state.near || [],
    hidden: [...state.hidden],
    colouring: state.colouring.key,
    zoom: look(place).camera.zoom,
    moving: look(place).moving,
    travelling: panel.views.some((view) => view.journey),
    drawn: look(place).drawn,
    drawMilliseconds: look(place).drawMilliseconds,
    budget: Math.min(look(place).budget, state.view.edges.length / 2),
  }),
};
document.documentElement.dataset.ready = String(Math.round(performance.now()));
