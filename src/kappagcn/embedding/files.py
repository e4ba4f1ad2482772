"""An embedding in files: its run folder, vectors for other tools, and a fitted embedder to load again."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kappagcn.embedding.quality import RATIO_EDGES, Distortion
from kappagcn.embedding.run import EmbeddingRun
from kappagcn.embedding.space_choice import SpaceChoice
from kappagcn.errors import CheckpointError, ConfigError, GraphError
from kappagcn.geometry.signature import parse_signature
from kappagcn.io_atomic import save_arrays
from kappagcn.run_folder import Embedded, SavedRun, save_embedded, save_json, writing
from kappagcn.training.checkpoint import loading, save_tensors
from kappagcn.training.curvature_interval import CurvatureInterval
from kappagcn.training.node_arrays import as_text, graph_arrays, node_columns
from kappagcn.training.provenance import provenance
from kappagcn.training.run import TrainingResult

Array = NDArray[Any]
ENDINGS = (".csv", ".npy", ".npz", ".parquet", ".vec", ".w2v", ".txt")
MEASURES = ("distortion", "d_avg", "worst_distortion", "distortion_std_error", "map", "unreachable_pairs")


def export_vectors(path: str | Path, names: Sequence[str], vectors: Array, ending: str | None = None) -> Path:
    """Write the vector of each node in the format that the ending names; the file is written completely or not at all.

    | ending | content |
    |---|---|
    | .vec .w2v .txt | word2vec's text format, as gensim and node2vec write it: blanks in names become underscores |
    | .csv | a table: node, x1, x2, … |
    | .npy | the vectors alone, (N, D) |
    | .npz | ``names`` and ``vectors`` |
    | .parquet | a table: node, x1, x2, … |

    Args:
        path: Path of the file.
        names: Name of each node.
        vectors: (N, D).
        ending: Ending that determines the format; that of the path by default.
    """
    path = Path(path)
    ending = check_ending(path) if ending is None else ending
    headings = [f"x{k + 1}" for k in range(vectors.shape[1])]
    content = io.BytesIO()
    if ending == ".csv":
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["node", *headings])
        table.writerows([name, *_digits(row)] for name, row in zip(names, vectors, strict=True))
        content.write(text.getvalue().encode())
    elif ending == ".npy":
        np.save(content, vectors, allow_pickle=False)
    elif ending == ".npz":
        save_arrays(content, names=np.array(names, dtype=np.str_), vectors=vectors)
    elif ending == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        columns = {"node": pa.array(names), **{h: vectors[:, k] for k, h in enumerate(headings)}}
        parquet.write_table(pa.table(columns), content)
    else:
        words = _word2vec_names(names)
        lines = (" ".join([word, *_digits(row)]) for word, row in zip(words, vectors, strict=True))
        content.write("\n".join([f"{len(words)} {vectors.shape[1]}", *lines, ""]).encode())
    with writing(path) as file:
        file.write(content.getvalue())
    return path


def check_ending(path: Path) -> str:
    """The ending of an export file; an unknown one is refused."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ConfigError(f"{path}: expected a file ending in {', '.join(ENDINGS)}, found {ending or 'no ending'!r}.")
    return ending


def _digits(row: Array) -> list[str]:
    return [f"{x:.17g}" for x in row.tolist()]


def _word2vec_names(names: Sequence[str]) -> list[str]:
    """Names as word2vec's format can hold them: without blanks."""
    words = ["_".join(name.split()) for name in names]
    if len(set(words)) < len(words) or not all(words):
        raise GraphError("expected names that differ without their blanks, for word2vec's format. Export as .parquet.")
    return words


def summary_of(embedder: Any) -> dict[str, Any]:
    """Results of a fitted embedder as plain values; None for those that are not finite or were not measured."""
    result, intervals = embedder.result_, embedder.curvature_intervals_
    values = {
        "space": embedder.space,
        "learned_space": embedder.space_,
        "curvatures": embedder.curvatures_,
        "curvature_intervals": None if intervals is None else [each and each.as_dict() for each in intervals],
        "objective": embedder.objective,
        **{name: getattr(embedder, f"{name}_") for name in MEASURES},
        "coincident_nodes": len(embedder.coincident_nodes_),
        "epochs": result.epochs,
        "best_epoch": result.best_epoch,
        "stopped_by": result.stopped_by,
        "seconds": round(result.seconds, 2),
    }
    if embedder.choice_ is not None:
        values |= {"chosen_space": embedder.choice_.space, "choice": embedder.choice_.as_dict()}
    return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in values.items()}


def write_run(embedder: Any, folder: Path, run: EmbeddingRun, quality: Distortion) -> None:
    """Write the points and the summary of a run."""
    data = run.data
    labels, names, weights = data.get("y"), data.get("class_names"), data.get("edge_weight")
    if labels is not None and names is None:
        names = range(int(labels.max()) + 1)
    graph = graph_arrays(data)
    first, second = data.edge_index
    lengths = None if weights is None else run.unit * weights.double()[first < second].numpy()
    if lengths is None and run.unit != 1:
        lengths = np.full(len(graph["edges"]), run.unit)
    embedded = Embedded(
        tangent=embedder.tangent_,
        points=embedder.embedding_,
        dims=np.array(embedder.manifold_.dims),
        curvatures=np.array(embedder.curvatures_),
        lengths=lengths,
        labels=None if labels is None else labels.numpy(),
        class_names=as_text(names),
        ratio_counts=quality.ratio_counts,
        ratio_edges=RATIO_EDGES,
        **graph,
        **node_columns(data),
    )
    save_embedded(folder / "embedding.npz", embedded)
    name = str(data.get("name") or "graph")
    summary = {"graph": name, "edge_unit": run.unit, **summary_of(embedder), **provenance(embedder)}
    save_json(folder / "summary.json", summary)


def save_embedder(embedder: Any, path: Path) -> Path:
    """Write a fitted embedder, without its graph, to a safetensors file."""
    about = {
        "embedder": embedder.get_params(),
        "dims": list(embedder.manifold_.dims),
        "curvatures": embedder.curvatures_,
        "names": embedder.node_names_,
        "summary": embedder.summary(),
    }
    return save_tensors(path, {"tangent": torch.from_numpy(embedder.tangent_)}, about)


def restore(kind: Any, path: Path) -> Any:
    """The embedder of a run folder or of a file that `save_embedder` wrote."""
    if path.is_file():
        with loading(path, "an embedder") as (tensors, about):
            embedder = kind(**about["embedder"])
            embedder._place(about["dims"], about["curvatures"], tensors["tangent"].double())
            return _measured(embedder, about["names"], about["summary"], [])
    run = SavedRun(path)
    if run.kind != "embedding":
        raise CheckpointError(f"{path}: expected the run of an embedding, found a {run.kind}.")
    embedded, known = run.embedded, kind().get_params()
    embedder = kind(**{name: value for name, value in run.config["options"].items() if name in known})
    embedder._place(embedded.dims.tolist(), embedded.curvatures.tolist(), torch.from_numpy(embedded.tangent).double())
    names = None if embedded.names is None else embedded.names.tolist()
    return _measured(embedder, names, run.summary, run.metrics)


def _measured(embedder: Any, names: list[str] | None, summary: dict[str, Any], history: list[Any]) -> Any:
    """The embedder with the results of its fit."""
    for name in MEASURES:
        value = summary[name]
        setattr(embedder, f"{name}_", math.nan if value is None else value)
    embedder.node_names_ = names
    embedder.choice_ = SpaceChoice.from_dict(summary["choice"]) if "choice" in summary else None
    embedder._asked = parse_signature(summary.get("chosen_space") or embedder.space)
    intervals = summary["curvature_intervals"]
    embedder.curvature_intervals_ = intervals and [CurvatureInterval.from_dict(each) for each in intervals]
    embedder.coincident_nodes_ = np.arange(0)
    embedder.history_ = history
    embedder.result_ = TrainingResult(
        summary["epochs"], summary["best_epoch"], summary["stopped_by"], summary["seconds"] or 0.0, history
    )
    return embedder
