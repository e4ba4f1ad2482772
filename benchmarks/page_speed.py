"""Reports of large graphs in a real browser without a graphics card: frames of a drag, size, time until it is ready.

python benchmarks/page_speed.py
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import record
from kappagcn.run_folder import Embedded, SavedRun, save_embedded, save_json
from kappagcn.view.report import write_report

SIZES = [(5000, 7000), (20000, 30000)]
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking --window-size=1280,1000"
)
DRAG = """
const done = arguments[0], c = document.querySelector('.stage canvas'), b = c.getBoundingClientRect();
const send = (kind, x, y) => c.dispatchEvent(new PointerEvent(kind, {pointerId: 1, bubbles: true,
  clientX: b.left + b.width / 2 + x, clientY: b.top + b.height / 2 + y}));
let t = 0; const script = []; send('pointerdown', 0, 0);
const step = () => { t += 1; send('pointermove', 150 * Math.sin(t / 9), 120 * Math.sin(t / 7));
  script.push(kappagcnView.state().drawMilliseconds);
  t < 180 ? requestAnimationFrame(step) : (send('pointerup', 0, 0),
    done([kappagcnView.frameMilliseconds(), script, kappagcnView.state().budget])) };
step();
"""


def tree_with_chords(folder: Path, nodes: int, edges: int) -> SavedRun:
    """A ternary tree laid out in the hyperbolic plane, and random edges."""
    arcs, tangent = {0: (0.0, 2 * np.pi, 0)}, np.zeros((nodes, 2))
    for node in range(1, nodes):
        low, high, depth = arcs[(node - 1) // 3]
        width = (high - low) / 3
        start = low + (node - 1) % 3 * width
        arcs[node] = (start, start + width, depth + 1)
        tangent[node] = (depth + 1) / 2 * np.array([np.cos(start + width / 2), np.sin(start + width / 2)])
    children = np.arange(1, nodes)
    chords = np.random.default_rng(0).integers(0, nodes, (edges - nodes + 1, 2))
    both = np.vstack([np.column_stack([(children - 1) // 3, children]), chords])
    folder.mkdir()
    save_embedded(folder / "embedding.npz", Embedded(tangent, tangent, np.array([2]), -np.ones(1), both))
    save_json(folder / "config.json", {})
    save_json(folder / "summary.json", {"graph": "made", "distortion": 0.1})
    (folder / "metrics.jsonl").write_text("".join(json.dumps({"epoch": t, "distortion": 1 / t}) + "\n" for t in (1, 2)))
    return SavedRun(folder)


def measure(driver, page: Path) -> dict[str, float]:
    ready = []
    for _ in range(5):
        driver.get("about:blank")
        driver.get(page.as_uri())
        ready.append(float(driver.execute_script("return document.documentElement.dataset.ready")))
    time.sleep(1)
    driver.execute_async_script(DRAG)  # the first drag compiles the script
    frames, script, edges = driver.execute_async_script(DRAG)
    return {
        "bytes": page.stat().st_size,
        "ready_ms": round(statistics.median(ready)),
        "frame_ms_median": round(statistics.median(frames), 1),
        "frame_ms_p90": round(float(np.percentile(frames, 90)), 1),
        "script_ms_median": round(statistics.median(script), 1),
        "edges_while_moving": round(edges),
    }


def main() -> int:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in FLAGS.split():
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(60)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for nodes, edges in SIZES:
            run = tree_with_chords(Path(folder) / str(nodes), nodes, edges)
            page = write_report(run, Path(folder) / f"{nodes}.html")
            rows.append({"nodes": nodes, "edges": edges, **measure(driver, page)})
            print(rows[-1])
    driver.quit()
    record.save("pages", {"results": rows}, ("kappagcn",))
    return 0


if __name__ == "__main__":
    sys.exit(main())
