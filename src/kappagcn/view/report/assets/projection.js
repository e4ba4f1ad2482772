// A factor as a picture: of its dimensions the two that show most, as points of a disk, a sphere or a plane.
// The lift E(v) = (sin_κ(r) v/|v|, cos_κ(r)), r = 2|v|, keeps its last coordinate and two directions, and is brought back
// onto the hyperboloid or sphere. For κ < 0 that is done by half-angles, which do not cancel at any radius.
const FLAT = 1e-2; // √|κ|·radius below which the eye sees no curvature
const LARGEST_RADIUS = 345; // √|κ|·radius; beyond it a square overflows

// Coordinates in the two directions shown, and the squared length of the rest: (N, 3).
function shownParts(tangent, dim, axes) {
  const count = tangent.length / dim, parts = new Float64Array(3 * count);
  for (let i = 0; i < count; i++) {
    let whole = 0;
    for (let d = 0; d < dim; d++) {
      const value = tangent[i * dim + d];
      whole += value * value;
      for (let a = 0; a < axes.length; a++) parts[3 * i + a] += axes[a][d] * value;
    }
    const kept = parts[3 * i] ** 2 + parts[3 * i + 1] ** 2;
    parts[3 * i + 2] = dim > 2 ? Math.max(0, whole - kept) : 0;
  }
  return parts;
}

// The points of a disk are sinh(ρ/2)·(cos φ, sin φ), with ρ = √−κ times the radius; those of a sphere are unit vectors,
// the origin of the space at (0, 0, 1); those of a plane are coordinates.
function projected(parts, k) {
  const count = parts.length / 3, s = Math.sqrt(Math.abs(k));
  let most = 0;
  for (let i = 0; i < count; i++) most = Math.max(most, Math.hypot(parts[3 * i], parts[3 * i + 1], Math.sqrt(parts[3 * i + 2])));
  if (2 * s * most < FLAT) {
    const points = new Float64Array(2 * count);
    for (let i = 0; i < count; i++) for (const a of [0, 1]) points[2 * i + a] = 2 * parts[3 * i + a];
    return { kind: "plane", points };
  }
  return k < 0 ? { kind: "disk", points: halfAngles(parts, s) } : { kind: "sphere", points: unitVectors(parts, s) };
}

function halfAngles(parts, s) {
  const count = parts.length / 3, points = new Float64Array(2 * count);
  for (let i = 0; i < count; i++) {
    const x = parts[3 * i], y = parts[3 * i + 1], rest = parts[3 * i + 2], kept = x * x + y * y, whole = kept + rest;
    if (whole === 0 || kept === 0) continue;
    const radius = Math.min(2 * s * Math.sqrt(whole), LARGEST_RADIUS);
    // tanh ρ' = tanh ρ · c, with 1 − tanh² ρ' summed from what is small, not taken from 1.
    const left = rest / whole + ((kept / whole) / Math.cosh(radius)) / Math.cosh(radius), cosine = 1 / Math.sqrt(left);
    const half = (Math.tanh(radius) * Math.sqrt(kept / whole) * cosine) / Math.sqrt(2 * (cosine + 1));
    points[2 * i] = (x / Math.sqrt(kept)) * half;
    points[2 * i + 1] = (y / Math.sqrt(kept)) * half;
  }
  return points;
}

function unitVectors(parts, s) {
  const count = parts.length / 3, points = new Float64Array(3 * count);
  for (let i = 0; i < count; i++) {
    const x = parts[3 * i], y = parts[3 * i + 1], length = Math.sqrt(x * x + y * y + parts[3 * i + 2]);
    const angle = 2 * s * length, sine = length ? Math.sin(angle) / length : 0, lifted = [x * sine, y * sine, Math.cos(angle)];
    const size = Math.hypot(...lifted);
    for (const a of [0, 1, 2]) points[3 * i + a] = size < 1e-15 ? +(a === 2) : lifted[a] / size;
  }
  return points;
}

// The distance for κ = −s² in units of 1/s by logarithms, where squares would overflow: sinh x is e^x/2 there.
function farApart(s, p, q, apart) {
  const first = 2 * (s * Math.abs(p - q) - Math.log(2)), second = 2 * s * (p + q) - 2 * Math.log(2) + Math.log(apart / 4);
  const high = Math.max(first, second), sum = high + Math.log1p(Math.exp(-Math.abs(first - second)));
  return p && q && apart ? Math.max(0, sum + 2 * Math.log(2)) : 2 * s * Math.abs(p - q);
}

// Keeps the points of a disk, plane or sphere, and makes an array for each coordinate of their picture.
function keepPoints(shape, kind, points, size, parts) {
  Object.assign(shape, { kind, count: points.length / size, points: Float64Array.from(points) });
  for (const part of parts) shape[part] = new Float64Array(shape.count);
}

// Distances in the full space, all factors and dimensions together: d² = Σ d_f². With ρ = 2√|κ||v| and the angle θ
// between two tangent vectors, sn²(d/2) = sn²((ρ − ρ')/2) + sn ρ sn ρ' sin²(θ/2): a sum of squares, so nothing cancels.
class Distances {
  constructor(factors) {
    this.factors = factors.map(({ tangent, dim, k }) => {
      const count = tangent.length / dim, sizes = new Float64Array(count);
      for (let i = 0; i < count; i++) {
        let square = 0;
        for (let d = 0; d < dim; d++) square += tangent[i * dim + d] ** 2;
        sizes[i] = Math.sqrt(square);
      }
      return { tangent, dim, k, sizes };
    });
  }

  between(i, j) {
    let total = 0;
    for (const { tangent, dim, k, sizes } of this.factors) {
      const s = Math.sqrt(Math.abs(k)), p = sizes[i], q = sizes[j];
      let apart = 0;
      if (k === 0) for (let d = 0; d < dim; d++) apart += (tangent[i * dim + d] - tangent[j * dim + d]) ** 2;
      else if (p && q) for (let d = 0; d < dim; d++) apart += (tangent[i * dim + d] / p - tangent[j * dim + d] / q) ** 2;
      if (k === 0) {
        total += 4 * apart;
        continue;
      }
      if (k < 0 && s * (p + q) > 150) {
        total += (farApart(s, p, q, apart) / s) ** 2;
        continue;
      }
      const sn = k < 0 ? Math.sinh : Math.sin;
      const square = sn(s * (p - q)) ** 2 + sn(2 * s * p) * sn(2 * s * q) * (apart / 4);
      const half = k < 0 ? Math.asinh(Math.sqrt(Math.max(0, square))) : Math.asin(Math.sqrt(Math.min(1, Math.max(0, square))));
      total += ((2 * half) / s) ** 2;
    }
    return Math.sqrt(total);
  }

  // The nodes nearest to node i, as [node, distance].
  nearest(i, count) {
    const best = [];
    for (let j = 0; j < this.factors[0].sizes.length; j++) {
      if (j === i) continue;
      const distance = this.between(i, j);
      if (best.length === count && distance >= best[count - 1][1]) continue;
      best.push([j, distance]);
      best.sort((a, b) => a[1] - b[1]);
      if (best.length > count) best.pop();
    }
    return best;
  }
}
