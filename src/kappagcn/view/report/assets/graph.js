// The graph among the nodes of the page: neighbours and shortest paths.
class Graph {
  constructor({ edges, lengths, shown, edgesAll }) {
    const starts = new Int32Array(shown + 1);
    for (const node of edges) starts[node + 1] += 1;
    for (let i = 0; i < shown; i++) starts[i + 1] += starts[i];
    const next = starts.slice(), others = new Int32Array(edges.length), sizes = new Float64Array(edges.length);
    for (let e = 0; e < edges.length; e += 2)
      for (const side of [0, 1]) {
        const at = next[edges[e + side]]++;
        others[at] = edges[e + 1 - side];
        sizes[at] = lengths ? lengths[e / 2] : 1;
      }
    Object.assign(this, { starts, others, sizes, count: shown, weighted: Boolean(lengths) });
    this.whole = 2 * edgesAll === edges.length; // otherwise a path may be shorter than it looks here
  }

  // Neighbours of node i, as [node, length of the edge].
  neighbours(i) {
    const found = [];
    for (let at = this.starts[i]; at < this.starts[i + 1]; at++) found.push([this.others[at], this.sizes[at]]);
    return found;
  }

  // Lengths of shortest paths from node i to all, with the node before each on its path.
  paths(i) {
    if (this.known?.from === i) return this.known;
    const lengths = new Float64Array(this.count).fill(Infinity), before = new Int32Array(this.count).fill(-1);
    lengths[i] = 0;
    if (this.weighted) this.dijkstra(i, lengths, before);
    else {
      const queue = new Int32Array(this.count);
      queue[0] = i;
      for (let head = 0, tail = 1; head < tail; head++)
        for (let at = this.starts[queue[head]]; at < this.starts[queue[head] + 1]; at++) {
          const other = this.others[at];
          if (lengths[other] !== Infinity) continue;
          [lengths[other], before[other]] = [lengths[queue[head]] + 1, queue[head]];
          queue[tail++] = other;
        }
    }
    return (this.known = { from: i, lengths, before });
  }

  dijkstra(i, lengths, before) {
    const heap = [[0, i]];
    while (heap.length) {
      const [length, node] = heap[0], last = heap.pop();
      if (heap.length) sink(heap, last);
      if (length > lengths[node]) continue;
      for (let at = this.starts[node]; at < this.starts[node + 1]; at++) {
        const other = this.others[at], longer = length + this.sizes[at];
        if (longer >= lengths[other]) continue;
        [lengths[other], before[other]] = [longer, node];
        rise(heap, [longer, other]);
      }
    }
  }

  // The nodes on a shortest path from i to j; empty where there is none.
  path(i, j) {
    const { lengths, before } = this.paths(i), nodes = [];
    if (lengths[j] === Infinity) return nodes;
    for (let at = j; at >= 0; at = before[at]) nodes.unshift(at);
    return nodes;
  }

  // A length of a path in words.
  words(length) {
    if (length === Infinity) return this.whole ? "no path" : "–";
    return `${this.whole ? "" : "≤ "}${written(length)}`;
  }
}

function sink(heap, entry) {
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && heap[child + 1][0] < heap[child][0]) child += 1;
    if (heap[child][0] >= entry[0]) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = entry;
}

function rise(heap, entry) {
  let at = heap.push(entry) - 1;
  while (at && heap[(at - 1) >> 1][0] > entry[0]) {
    heap[at] = heap[(at - 1) >> 1];
    at = (at - 1) >> 1;
  }
  heap[at] = entry;
}
