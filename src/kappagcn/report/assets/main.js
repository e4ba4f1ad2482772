const data = JSON.parse(byId("data").textContent);
const picture = new Picture(byId("stage"), data.view);
const panel = new Panel(picture);
drawCharts(data);

// For tests: what is seen, and how long frames take.
window.kappagcnView = {
  positions: () =>
    Array.from({ length: picture.count }, (_, i) => ({
      at: picture.space.position(i),
      screen: [picture.camera.toX(picture.space.x[i]), picture.camera.toY(picture.space.y[i])],
      visible: picture.shows(i) && picture.space.visible(i),
    })),
  frameMilliseconds: () => [...picture.frames],
  state: () => ({
    kind: picture.space.kind,
    factor: picture.factor,
    selected: picture.selected,
    hidden: [...picture.hidden],
    zoom: picture.camera.zoom,
    moving: picture.moving,
    travelling: Boolean(picture.journey),
    drawn: picture.drawn,
    drawMilliseconds: picture.drawMilliseconds,
    budget: Math.min(picture.budget, picture.data.edges.length / 2),
  }),
};
