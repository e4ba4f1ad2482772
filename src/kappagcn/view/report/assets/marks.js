// Colours and shapes of nodes. The eight colours stay apart for colour-blind readers; from the fifth class on the shape
// changes too, so that forty classes look different.
const RAMPS = {
  light: ["#0b1f5b", "#1d4a8a", "#24739b", "#2b9a96", "#58b97e", "#a6c852"],
  dark: ["#fde725", "#a5d938", "#4ac16d", "#21a585", "#2a889c", "#4b74b8"],
};
const UNKNOWN = { light: "#9a9a9a", dark: "#777777" };
const STEPS = 24;

const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = () => (dark.matches ? "dark" : "light");
let themedValues = {};
dark.addEventListener("change", () => (themedValues = {}));
const themed = (name) => (themedValues[name] ??= getComputedStyle(document.documentElement).getPropertyValue(name).trim());

function classColour(place) {
  const colours = data.palette.colours[theme()];
  return place < 0 ? UNKNOWN[theme()] : colours[place % colours.length];
}

function classShape(place) {
  const { shapes } = data.palette;
  return place < 0 ? "disc" : shapes[Math.floor(place / 4) % shapes.length];
}

function rampColour(t) {
  const ramp = RAMPS[theme()];
  const at = Math.min(Math.max(t, 0), 1) * (ramp.length - 1);
  const i = Math.min(Math.floor(at), ramp.length - 2);
  const mixed = [1, 3, 5].map((p) => {
    const [a, b] = [ramp[i], ramp[i + 1]].map((hex) => parseInt(hex.slice(p, p + 2), 16));
    return Math.round(a + (b - a) * (at - i));
  });
  return `#${mixed.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

const CORNERS = {
  triangle: [[0, -1.25], [1.1, 0.75], [-1.1, 0.75]],
  diamond: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
  square: [[-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]],
  cross: [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]],
};

function addMark(path, shape, x, y, r) {
  if (shape === "disc") {
    path.moveTo(x + r, y);
    path.arc(x, y, r, 0, 2 * Math.PI);
    return;
  }
  CORNERS[shape].forEach(([dx, dy], i) => path[i ? "lineTo" : "moveTo"](x + dx * r, y + dy * r));
  path.closePath();
}

function swatch(key) {
  const canvas = element("canvas", { width: 32, height: 32, class: "swatch", "aria-hidden": "true" });
  const ctx = canvas.getContext("2d"), path = new Path2D();
  addMark(path, classShape(key), 16, 16, 10);
  ctx.fillStyle = classColour(key);
  ctx.fill(path);
  return canvas;
}
