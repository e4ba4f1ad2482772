// Curves and bars, as SVG.
const SVG = "http://www.w3.org/2000/svg"; // a name, not an address: nothing is fetched
const EDGES = { left: 52, right: 16, top: 22, bottom: 38 };
const HEIGHT = 250;
const DASHES = ["", "7 4", "2 3", "9 3 2 3"];

function shape(tag, attributes, ...inside) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

function linear(low, high, from, to) {
  return (value) => from + ((value - low) / (high - low || 1)) * (to - from);
}

function ticks(low, high, count = 5) {
  const rough = (high - low || 1) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((m) => m >= rough);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + 1e-9 * step; at += step) found.push(Math.abs(at) < 1e-9 * step ? 0 : Number(at.toPrecision(10)));
  return found;
}

function logTicks(low, high, steps = [1, 2, 5]) {
  const found = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++)
    for (const m of steps) if (m * 10 ** p >= low * 0.999 && m * 10 ** p <= high * 1.001) found.push(Number((m * 10 ** p).toPrecision(6)));
  if (found.length < 3 && steps.length < 7) return logTicks(low, high, [1, 1.5, 2, 3, 4, 6, 8]);
  if (found.length <= 7) return found;
  const powers = found.filter((at) => Math.abs(Math.log10(at) - Math.round(Math.log10(at))) < 1e-9);
  return powers.length > 1 ? powers : found;
}

// A frame with axes; `y` takes values to pixels.
function frame(width, title, xTicks, yTicks, x, y, xLabel, label = written) {
  const svg = shape("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": title });
  for (const at of yTicks) {
    svg.append(shape("line", { class: "grid", x1: EDGES.left, x2: width - EDGES.right, y1: y(at), y2: y(at) }));
    svg.append(shape("text", { class: "tick", x: EDGES.left - 8, y: y(at) + 4, "text-anchor": "end" }, label(at)));
  }
  for (const at of xTicks) {
    const text = written(at), half = 3.4 * text.length; // a tick at the edge stays inside
    const place = Math.min(Math.max(x(at), half), width - half);
    svg.append(shape("text", { class: "tick", x: place, y: HEIGHT - EDGES.bottom + 18, "text-anchor": "middle" }, text));
  }
  svg.append(shape("text", { class: "axis", x: (EDGES.left + width - EDGES.right) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, xLabel));
  return svg;
}

function range(chart) {
  const values = chart.series.flatMap((series) => series.values).filter((value) => value !== null);
  let low = Math.min(...values), high = Math.max(...values);
  if (chart.zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  if (chart.cut) [low, high] = chart.cut;
  if (chart.log) return [low * 0.95, high * 1.05];
  const pad = (high - low || Math.abs(high) || 1) * 0.06;
  return chart.share ? [Math.max(0, low - pad), Math.min(1, high + pad)] : [low - pad, high + pad];
}

// Where the first epochs reach more than six times as far as the rest: the reach of the rest, somewhat widened.
function lateReach(chart) {
  const reach = (from) => {
    const values = chart.series.flatMap((series) => series.values.slice(from)).filter((value) => value !== null);
    return [Math.min(0, ...values), Math.max(0, ...values)];
  };
  const all = reach(0), [low, high] = reach(Math.floor(chart.epochs.length / 4));
  return high > low && all[1] - all[0] > 6 * (high - low) ? [Math.max(1.5 * low, all[0]), Math.min(1.5 * high, all[1])] : null;
}

function lineChart(box, chart) {
  if (chart.zero) chart.cut = lateReach(chart);
  const width = Math.max(240, Math.floor(box.clientWidth)), { epochs, series } = chart, [low, high] = range(chart);
  const first = epochs[0], last = epochs[epochs.length - 1];
  const x = linear(first, last, EDGES.left, width - EDGES.right);
  const straight = linear(chart.log ? Math.log(low) : low, chart.log ? Math.log(high) : high, HEIGHT - EDGES.bottom, EDGES.top);
  const y = (value) => straight(chart.log ? Math.log(value) : value);
  const label = chart.share ? (at) => `${Math.round(100 * at)} %` : written;
  const marks = chart.log ? logTicks(low, high) : ticks(low, high);
  const svg = frame(width, chart.title, ticks(first, last, width < 400 ? 4 : 6), marks, x, y, `epoch${chart.best ? ", dotted: the best" : ""}${chart.log ? "; logarithmic scale" : ""}${chart.cut ? "; early extremes are cut off" : ""}`, label);
  const inside = `inside-${chart.title.replace(/\W+/g, "-")}`; // lines end at the frame
  svg.append(shape("clipPath", { id: inside }, shape("rect", { x: 0, y: EDGES.top - 4, width, height: HEIGHT - EDGES.top - EDGES.bottom + 8 })));
  if (chart.zero) svg.append(shape("line", { class: "zero", x1: EDGES.left, x2: width - EDGES.right, y1: y(0), y2: y(0) }));
  if (chart.best) svg.append(shape("line", { class: "best", x1: x(chart.best), x2: x(chart.best), y1: EDGES.top, y2: HEIGHT - EDGES.bottom }));
  series.forEach((each, place) => {
    let path = "", pen = "M";
    each.values.forEach((value, i) => {
      if (value === null) return; // not every measure is taken at every epoch: a line joins those that are
      path += `${pen}${x(epochs[i]).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = "L";
    });
    svg.append(shape("path", { class: `line line${place % 4}`, d: path, "stroke-dasharray": DASHES[Math.floor(place / 4) % 4], "clip-path": `url(#${inside})` }));
  });
  box.replaceChildren(svg);
  followPointer(box, svg, (at) => {
    const i = nearestPlace(epochs, at, x);
    const lines = series.filter((each) => each.values[i] !== null).map((each) => `${each.name}: ${chart.share ? share(each.values[i]) : written(each.values[i])}`);
    return { at: x(epochs[i]), lines: [`epoch ${written(epochs[i])}${chart.best === epochs[i] ? " (best)" : ""}`, ...lines] };
  });
}

function nearestPlace(epochs, at, x) {
  let nearest = 0;
  epochs.forEach((epoch, i) => {
    if (Math.abs(x(epoch) - at) < Math.abs(x(epochs[nearest]) - at)) nearest = i;
  });
  return nearest;
}

// A line under the pointer and what it meets.
function followPointer(box, svg, read) {
  const line = shape("line", { class: "cursor", y1: EDGES.top, y2: HEIGHT - EDGES.bottom, visibility: "hidden" });
  const tip = element("div", { class: "chart-tip", hidden: "" });
  svg.append(line);
  box.append(tip);
  svg.addEventListener("pointermove", (event) => {
    const { at, lines } = read(event.clientX - svg.getBoundingClientRect().left);
    for (const end of ["x1", "x2"]) line.setAttribute(end, at);
    line.setAttribute("visibility", "visible");
    tip.replaceChildren(...lines.map((text, i) => element(i ? "span" : "b", {}, text)));
    tip.hidden = false;
    const left = at + 12 + tip.offsetWidth > svg.clientWidth ? at - 12 - tip.offsetWidth : at + 12;
    tip.style.transform = `translate(${Math.max(0, left)}px, 14px)`;
  });
  svg.addEventListener("pointerleave", () => {
    line.setAttribute("visibility", "hidden");
    tip.hidden = true;
  });
}

// Bars of one or more series of shares; a line where both distances agree.
function histogramChart(box, { title, xLabel, borders, series, counts, perfect }) {
  const width = Math.max(240, Math.floor(box.clientWidth)), low = borders[0], high = borders[borders.length - 1];
  const most = Math.max(...series.flatMap(({ shares }) => shares));
  const x = linear(low, high, EDGES.left, width - EDGES.right), y = linear(0, most, HEIGHT - EDGES.bottom, EDGES.top);
  const percent = (at) => `${Number((100 * at).toPrecision(2))} %`;
  const svg = frame(width, title, ticks(low, high, width < 400 ? 4 : 8), ticks(0, most, 4), x, y, xLabel, percent);
  series.forEach(({ shares }, place) =>
    shares.forEach((height, i) => {
      const top = y(height), left = x(borders[i]) + 0.5;
      svg.append(shape("rect", { class: `bar bar${place}`, x: left, y: top, width: Math.max(0.5, x(borders[i + 1]) - left - 0.5), height: HEIGHT - EDGES.bottom - top }));
    }),
  );
  if (perfect) {
    svg.append(shape("line", { class: "perfect", x1: x(perfect), x2: x(perfect), y1: EDGES.top - 14, y2: HEIGHT - EDGES.bottom }));
    const right = x(perfect) > width - 90; // above the bars, on the side that has room
    svg.append(shape("text", { class: "axis", x: x(perfect) + (right ? -6 : 6), y: EDGES.top - 8, "text-anchor": right ? "end" : "start" }, `${perfect}: perfect`));
  }
  box.replaceChildren(svg);
  followPointer(box, svg, (at) => {
    const value = low + ((at - EDGES.left) / (width - EDGES.left - EDGES.right)) * (high - low), last = borders.length - 2;
    const i = Math.min(last, Math.max(0, borders.findIndex((border, place) => place && value < border) - 1)), bin = value >= high ? last : i;
    const end = counts && bin === last ? " and more" : ` to ${written(borders[bin + 1])}`;
    const lines = counts ? [`${counts[bin].toLocaleString("en")} pairs, ${share(series[0].shares[bin])}`] : series.map(({ name, shares }) => `${name}: ${share(shares[bin])}`);
    return { at: (x(borders[bin]) + x(borders[bin + 1])) / 2, lines: [`${written(borders[bin])}${end}`, ...lines] };
  });
}

// A value in [0, 1] by another one, with the line of chance where there is one.
function curveChart(box, { title, x: xs, xLabel, series, diagonal, bounds }) {
  const width = Math.max(240, Math.floor(box.clientWidth)), [low, high] = bounds;
  const x = linear(low, high, EDGES.left, width - EDGES.right), y = linear(low, high, HEIGHT - EDGES.bottom, EDGES.top);
  const svg = frame(width, title, ticks(low, high), ticks(low, high), x, y, xLabel);
  if (diagonal) svg.append(shape("line", { class: "best", x1: x(low), y1: y(low), x2: x(high), y2: y(high) }));
  series.forEach(({ values }, place) => svg.append(shape("path", { class: `line line${place}`, d: joined(xs.map(x), values.map(y)) })));
  box.replaceChildren(svg);
  followPointer(box, svg, (at) => {
    const i = nearestPlace(xs, at, x);
    return { at: x(xs[i]), lines: [`${xLabel}: ${share(xs[i])}`, ...series.map(({ name, values }) => `${name}: ${share(values[i])}`)] };
  });
}

const joined = (xs, ys) => xs.map((x, i) => `${i ? "L" : "M"}${x.toFixed(1)} ${ys[i].toFixed(1)}`).join("");

// The rise of an objective by a curvature, linear in κ near 0 and logarithmic far from it; the range is shaded.
const MOST_RISE = 0.03;
function profileChart(box, { title, x: kappas, rises, range, limit, learned }) {
  const width = Math.max(240, Math.floor(box.clientWidth)), unit = Math.abs(learned) || 1e-300, last = kappas.length - 1;
  const [left, right, top, base] = [EDGES.left, width - EDGES.right, EDGES.top, HEIGHT - EDGES.bottom];
  const straight = linear(Math.asinh(kappas[0] / unit), Math.asinh(kappas[last] / unit), left, right), x = (kappa) => straight(Math.asinh(kappa / unit));
  const bottom = Math.min(0, ...rises), y = linear(bottom, MOST_RISE, base, top); // below 0 where training stopped before the least value
  const svg = frame(width, title, [kappas[0], kappas[last]], [0, limit, MOST_RISE], x, y, "κ", (at) => `${at ? "+" : ""}${Math.round(100 * at)} %`);
  const inside = `profile-${document.querySelectorAll(".range").length}`; // the curve ends at the frame
  svg.append(shape("clipPath", { id: inside }, shape("rect", { x: left, y: top, width: right - left, height: base - top + 2 })));
  const low = range[0] === null ? left : x(range[0]), high = range[1] === null ? right : x(range[1]);
  svg.prepend(shape("rect", { class: "range", x: low, y: top, width: Math.max(high - low, 1), height: base - top }));
  svg.append(shape("line", { class: "limit", x1: left, x2: right, y1: y(limit), y2: y(limit) }));
  svg.append(shape("line", { class: "learned", x1: x(learned), x2: x(learned), y1: top, y2: base }));
  svg.append(shape("path", { class: "line line0", d: joined(kappas.map(x), rises.map(y)), "clip-path": `url(#${inside})` }));
  box.replaceChildren(svg);
  followPointer(box, svg, (at) => {
    const i = nearestPlace(kappas, at, x);
    return { at: x(kappas[i]), lines: [`κ = ${written(kappas[i])}`, `objective ${rises[i] < 0 ? "" : "+"}${share(rises[i])}`] };
  });
}

const DRAWN = { curve: curveChart, histogram: histogramChart, profile: profileChart };

function agreement({ borders, counts }) {
  const total = counts.reduce((a, b) => a + b, 0);
  const close = counts.reduce((sum, count, i) => (borders[i] > 0.7999 && borders[i + 1] < 1.2001 ? sum + count : sum), 0);
  return `For every pair of nodes, its distance in the space over that in the graph: 1 is perfect. ${share(close / total)} of the pairs are within 20 %. The last bar holds all beyond it.`;
}

function keys(series) {
  return element("p", { class: "keys" }, ...series.map((each, i) => element("span", { class: `key key${i % 4}` }, each.name)));
}

function chartCard(chart) {
  const card = element("section", { class: "card" }, element("h2", {}, chart.title)), box = element("div", { class: "chart" });
  if (chart.series.length > 1) card.append(keys(chart.series));
  card.append(box);
  byId("curves").append(card);
  return () => lineChart(box, chart);
}

function chartFigure(list, chart) {
  const box = element("div", { class: "chart" }), figure = element("figure", {}, element("figcaption", {}, chart.title));
  if (chart.series) figure.append(keys(chart.series));
  figure.append(box);
  list.append(figure);
  return () => DRAWN[chart.kind](box, chart);
}

function drawCharts(data) {
  const drawn = data.curves.map(chartCard);
  if (data.histogram) {
    const { counts } = data.histogram, total = counts.reduce((a, b) => a + b, 0);
    const words = { title: "Distances in the space over distances in the graph", xLabel: "distance in the space ÷ distance in the graph", perfect: 1 };
    const chart = { ...words, ...data.histogram, series: [{ shares: counts.map((count) => count / total) }] };
    byId("histogram").hidden = false;
    byId("histogram-about").textContent = agreement(data.histogram);
    drawn.push(() => histogramChart(byId("histogram").querySelector(".chart"), chart));
  }
  for (const list of document.querySelectorAll("[data-charts]")) for (const chart of data.charts[list.dataset.charts]) drawn.push(chartFigure(list, chart));
  let width = 0;
  new ResizeObserver(() => {
    if (document.body.clientWidth === width) return;
    width = document.body.clientWidth;
    for (const draw of drawn) draw();
  }).observe(document.body);
}
