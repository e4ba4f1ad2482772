// What is picked or pointed at, over a picture that fades behind it. Edges of the graph are solid, nodes that are merely
// near in the space have dashed lines and rings, and a path has both: the graph's in full, the geodesic dashed.
const VEIL = 0.72;

function drawOverlay(view, ctx, newPath) {
  const { state } = view, focus = view.moving && state.selected < 0 ? -1 : state.hovered >= 0 ? state.hovered : state.selected;
  if (focus >= 0 && state.shows(focus)) {
    ctx.globalAlpha = VEIL;
    ctx.fillStyle = themed("--card");
    ctx.fillRect(0, 0, view.camera.width, view.camera.height);
    ctx.globalAlpha = 1;
    if (state.end >= 0 && focus === state.selected) drawPath(view, ctx, newPath);
    else {
      if (focus === state.selected) drawNear(view, ctx, newPath);
      drawNeighbours(view, ctx, newPath, focus);
    }
    ringed(view, ctx, newPath, [focus], themed("--accent"), 4, 2.5);
  }
  drawNames(view, ctx, focus);
}

function strokeEdges(view, ctx, newPath, pairs, colour, width, dash = []) {
  const front = newPath(), back = newPath();
  for (const [i, j] of pairs) if (view.state.shows(i) && view.state.shows(j)) view.space.addEdges(front, back, view.camera, i, j);
  [ctx.strokeStyle, ctx.lineWidth] = [colour, width];
  ctx.setLineDash(dash);
  ctx.globalAlpha = 0.35;
  if (view.space.kind === "sphere") ctx.stroke(back);
  ctx.globalAlpha = 1;
  ctx.stroke(front);
  ctx.setLineDash([]);
}

// Nodes in their own colours, over the veil.
function refill(view, ctx, newPath, nodes) {
  const { state, space, camera } = view;
  [ctx.strokeStyle, ctx.lineWidth] = [themed("--card"), 1.2];
  for (const i of nodes) {
    if (!state.shows(i)) continue;
    const path = newPath(), key = state.keys[i];
    addMark(path, state.shape(key), camera.toX(space.x[i]), camera.toY(space.y[i]), 1.15 * view.nodeSize(i) + 0.6);
    ctx.globalAlpha = space.visible(i) ? 1 : 0.3;
    ctx.fillStyle = state.colour(key);
    ctx.fill(path);
    ctx.stroke(path);
  }
  ctx.globalAlpha = 1;
}

function ringed(view, ctx, newPath, nodes, colour, gap, width) {
  const rings = newPath();
  for (const i of nodes)
    if (view.state.shows(i) && view.space.visible(i)) addMark(rings, "disc", view.camera.toX(view.space.x[i]), view.camera.toY(view.space.y[i]), view.nodeSize(i) + gap);
  [ctx.strokeStyle, ctx.lineWidth] = [colour, width];
  ctx.stroke(rings);
}

function drawNeighbours(view, ctx, newPath, focus) {
  const neighbours = view.state.graph.neighbours(focus).map(([other]) => other);
  strokeEdges(view, ctx, newPath, neighbours.map((other) => [focus, other]), themed("--strong"), neighbours.length > 60 ? 1.2 : 2);
  refill(view, ctx, newPath, [...neighbours, focus]);
}

function drawNear(view, ctx, newPath) {
  const { selected } = view.state, near = view.state.near.map(([other]) => other);
  strokeEdges(view, ctx, newPath, near.map((other) => [selected, other]), themed("--accent"), 1.5, [5, 5]);
  refill(view, ctx, newPath, near);
  ringed(view, ctx, newPath, near, themed("--accent"), 3, 1.5);
}

function drawPath(view, ctx, newPath) {
  const { selected, end, path } = view.state;
  strokeEdges(view, ctx, newPath, path.slice(1).map((node, i) => [path[i], node]), themed("--strong"), 3);
  strokeEdges(view, ctx, newPath, [[selected, end]], themed("--accent"), 2, [7, 5]);
  refill(view, ctx, newPath, [...path, selected, end]);
  ringed(view, ctx, newPath, [end], themed("--accent"), 4, 2.5);
}

function drawNames(view, ctx, focus) {
  const { state, space, camera, data } = view, asked = new Set();
  if (focus >= 0) asked.add(focus);
  if (state.selected >= 0 && focus === state.selected) {
    const more = state.end >= 0 ? [state.end, ...state.path] : [...state.near.map(([i]) => i), ...state.graph.neighbours(focus).slice(0, 40).map(([i]) => i)];
    for (const i of more) asked.add(i);
  } else if (focus >= 0) for (const [i] of state.graph.neighbours(focus).slice(0, 40)) asked.add(i);
  if (focus < 0 && view.count <= NAMED && !view.moving) for (let i = 0; i < view.count; i++) asked.add(i);
  ctx.font = FONT;
  [ctx.textBaseline, ctx.lineWidth, ctx.strokeStyle] = ["middle", 3, themed("--card")];
  const taken = [];
  for (const i of asked) {
    if (!state.shows(i) || !space.visible(i)) continue;
    const name = clipped(data.names[i]), y = camera.toY(space.y[i]), wide = ctx.measureText(name).width, gap = view.nodeSize(i) + 4;
    let x = camera.toX(space.x[i]) + gap;
    if (x + wide > camera.width - 2) x = camera.toX(space.x[i]) - gap - wide;
    const box = [x - 3, y - 7, x + 3 + wide, y + 7];
    if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
    taken.push(box);
    ctx.strokeText(name, x, y);
    ctx.fillStyle = i === focus ? themed("--ink") : themed("--quiet");
    ctx.fillText(name, x, y);
  }
}
