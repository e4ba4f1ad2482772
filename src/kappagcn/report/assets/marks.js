// Colours and shapes of nodes: Okabe and Ito's colours, which colour-blind readers tell apart; their yellow, too pale
// on white, gives way to a purple. From the ninth class on the shape changes.
const COLOURS = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b87a00", "#3fa0d8", "#5b3a8c", "#4a4a4a"],
  dark: ["#4aa3df", "#f0803c", "#2cc295", "#e29bc2", "#e6b03c", "#8fd0f5", "#a78bda", "#c8c8c8"],
};
const RAMPS = {
  light: ["#0b1f5b", "#1d4a8a", "#24739b", "#2b9a96", "#58b97e", "#a6c852"],
  dark: ["#fde725", "#a5d938", "#4ac16d", "#21a585", "#2a889c", "#4b74b8"],
};
const NO_CLASS = { light: "#9a9a9a", dark: "#777777" };
const SHAPES = ["disc", "square", "triangle", "diamond", "cross"];
const STEPS = 24;

const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = () => (dark.matches ? "dark" : "light");
const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function classColour(place) {
  return place < 0 ? NO_CLASS[theme()] : COLOURS[theme()][place % 8];
}

function classShape(place) {
  return place < 0 ? "disc" : SHAPES[Math.floor(place / 8) % SHAPES.length];
}

function rampColour(t) {
  const ramp = RAMPS[theme()];
  const at = Math.min(Math.max(t, 0), 1) * (ramp.length - 1);
  const i = Math.min(Math.floor(at), ramp.length - 2);
  const mixed = [1, 3, 5].map((p) => {
    const [a, b] = [ramp[i], ramp[i + 1]].map((hex) => parseInt(hex.slice(p, p + 2), 16));
    return Math.round(a + (b - a) * (at - i));
  });
  return `rgb(${mixed.join(",")})`;
}

function addMark(path, shape, x, y, r) {
  if (shape === "disc") {
    path.moveTo(x + r, y);
    path.arc(x, y, r, 0, 2 * Math.PI);
  } else if (shape === "square") {
    path.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r);
  } else if (shape === "cross") {
    path.rect(x - 1.2 * r, y - 0.4 * r, 2.4 * r, 0.8 * r);
    path.rect(x - 0.4 * r, y - 1.2 * r, 0.8 * r, 0.8 * r);
    path.rect(x - 0.4 * r, y + 0.4 * r, 0.8 * r, 0.8 * r);
  } else {
    const corners = shape === "triangle" ? [[0, -1.25], [1.1, 0.75], [-1.1, 0.75]] : [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]];
    corners.forEach(([dx, dy], i) => path[i ? "lineTo" : "moveTo"](x + dx * r, y + dy * r));
    path.closePath();
  }
}

const written = (x) => {
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e6 || size < 1e-3 ? x.toExponential(2) : Number(x.toPrecision(4)).toLocaleString("en");
  return text.replace("-", "−");
};
const share = (x) => `${(100 * x).toFixed(1)} %`;

function element(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside); // strings become text, never markup
  return made;
}
