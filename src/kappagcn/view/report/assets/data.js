// The data of the page: arrays from text, and small helpers.
const byId = (id) => document.getElementById(id);
const KINDS = { f8: Float64Array, f4: Float32Array, u2: Uint16Array, i4: Int32Array, i2: Int16Array };

// Arrays were written little-endian, as every browser of today reads them.
function decoded(value) {
  if (Array.isArray(value)) return value.map(decoded);
  if (!value || typeof value !== "object") return value;
  const [kind] = Object.keys(value);
  if (Object.keys(value).length === 1 && KINDS[kind] && typeof value[kind] === "string") {
    const text = atob(value[kind]), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new KINDS[kind](bytes.buffer);
  }
  return Object.fromEntries(Object.entries(value).map(([name, inside]) => [name, decoded(inside)]));
}

const data = decoded(JSON.parse(byId("data").textContent));

const written = (x) => {
  if (x === 0) return "0";
  if (!Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  const text = size >= 1e6 || size < 1e-3 ? x.toExponential(2) : Number(x.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 9 });
  return text.replace("-", "−");
};
const many = (x) => x.toLocaleString("en");
const share = (x) => `${(100 * x).toFixed(1)} %`;
const clipped = (name, most = 28) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

function element(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside); // strings become text, never markup
  return made;
}
