"""Choice of an embedding's space by successive halving: short runs of candidates, the better half continues."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from kappagcn.embedding.quality import mean_average_precision, measure
from kappagcn.embedding.run import AUTO, TRIAL, EmbeddingRun
from kappagcn.embedding.trials import Trial, halving
from kappagcn.errors import GeometryError
from kappagcn.geometry.signature import parse_signature
from kappagcn.progress import line
from kappagcn.run_folder import read_json, save_json
from kappagcn.training.trainer import Trainer

ROUNDS = (30, 80, 160)  # epochs after which candidates are compared
FINALISTS = 2
CLOSE = 1.02  # of candidates within this factor of the best D_avg, the one with the fewest factors is chosen
PERFECT = 1e-4  # D_avg below which all candidates fit equally well, and flat space is chosen


@dataclass
class Candidate:
    """A signature that was tried, and its results.

    Args:
        space: Signature.
        epochs: Number of training epochs.
        d_avg: Mean of abs(d/d_G − 1) after these epochs.
        distortion: The paper's average distortion after these epochs.
        map: Mean average precision after these epochs; None where the graph has no edges.
        learned_space: Signature with the learned curvatures.
    """

    space: str
    epochs: int = 0
    d_avg: float = math.inf
    distortion: float = math.inf
    map: float | None = None
    learned_space: str = ""


@dataclass(frozen=True)
class SpaceChoice:
    """The chosen signature, the candidates from the best to the worst, and the reason in one sentence."""

    space: str
    candidates: list[Candidate]
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SpaceChoice:
        """The choice from a dictionary that `as_dict` returned."""
        return cls(values["space"], [Candidate(**each) for each in values["candidates"]], values["reason"])


def candidate_spaces(dim: int) -> list[str]:
    """Signatures of one total dimension: one space of each kind, two factors, and hyperbolic planes.

    >>> candidate_spaces(10)
    ['E10', 'H10', 'S10', 'H5xS5', 'H5^2', 'S5^2', 'H5xE5', 'H2^5']
    >>> candidate_spaces(3)
    ['E3', 'H3', 'S3', 'H2xS1', 'H2xH1', 'S2xS1', 'H2xE1']
    """
    if dim < 1:
        raise GeometryError(f"dim: expected a dimension of at least 1, found {dim}.")
    single = [f"{letter}{dim}" for letter in "EHS"]
    if dim == 1:
        return single
    more, less = dim - dim // 2, dim // 2
    twice = [f"{letter}{more}^2" if more == less else f"{letter}{more}x{letter}{less}" for letter in "HS"]
    pairs = [f"H{more}xS{less}", *twice, f"H{more}xE{less}"]
    planes = [f"H2^{dim // 2}" + ("xH1" if dim % 2 else "")] if dim > 5 else []
    return [*single, *pairs, *planes]


def choose_space(run: EmbeddingRun, dim: int, report: Any = None) -> tuple[SpaceChoice, Trial | None]:
    """Try all candidates for 30 epochs, the best of each shape for 80, and the two best of these for 160.

    A shape is the dimensions of the factors, and which of them are flat: signs are learned.

    Args:
        run: The graph and the settings of the embedding.
        dim: Total dimension of the candidates.
        report: Function that is called with a line of text after each candidate.

    Returns:
        The choice, and the training of the chosen candidate, which continues from there; None where a run of these
        settings compares more starts, or for longer.
    """
    candidates = {space: Candidate(space) for space in candidate_spaces(dim)}
    rounds = sorted({min(epochs, run.epochs) for epochs in ROUNDS})

    def train(trial: Trial, epochs: int) -> None:
        trial.run(epochs)
        candidate = candidates[trial.space]
        _measure(candidate, trial.trainer, run.in_space(trial.space))
        if report is not None:
            report(f"{trial.space}: D_avg {candidate.d_avg:.4f} after {candidate.epochs} epochs")

    def ranked(trials: list[Trial], epochs: int) -> list[Trial]:
        return sorted(trials, key=lambda trial: candidates[trial.space].d_avg)

    def remaining(trials: list[Trial], epochs: int) -> list[Trial]:
        run.trials[:] = _best_of_each_shape(trials) if epochs == rounds[0] else trials[:FINALISTS]
        return list(run.trials)

    trials = halving(
        (run.in_space(s, candidate=True).short_trial() for s in candidates), rounds, train, ranked, remaining
    )
    left = [candidates[trial.space] for trial in trials]
    flat = next(iter(candidates.values()))
    close = [each for each in left if each.d_avg <= CLOSE * left[0].d_avg]
    best = min(close, key=lambda each: (each.space.count("x") + each.space.count("^"), each.d_avg))
    if flat.d_avg <= PERFECT:
        best = flat
    order = sorted(candidates.values(), key=lambda each: (each is not best, -each.epochs, each.d_avg))
    chosen = next((trial for trial in trials if trial.space == best.space), None) if run.trial_epochs == TRIAL else None
    return SpaceChoice(best.space, order, _reason(best, order)), chosen


def first_trial(run: EmbeddingRun) -> tuple[SpaceChoice | None, Trial]:
    """Training from the best start in the space of the settings, or in the one that "auto" chooses, with the choice.

    In a run folder every trial is kept as far as it has come, and an interrupted choice is continued.
    """
    if run.settings.space != AUTO:
        return None, run.trial()
    communicator, file = run.communicator, None if run.folder is None else run.folder / "choice.json"
    saved = None if file is None else communicator.run_on_rank0(lambda: read_json(file) if file.exists() else None)
    if saved is None:
        report = line if run.settings.verbose and communicator.rank == 0 else None
        choice, trial = choose_space(run, run.settings.dim, report)
        if file is not None:
            communicator.run_on_rank0(lambda: save_json(file, choice.as_dict()))
    else:
        choice, trial = SpaceChoice.from_dict(saved), None
    chosen = run.in_space(choice.space)
    run.trials.clear()
    if chosen.has_checkpoint() or run.trial_epochs > TRIAL:
        return choice, chosen.trial()
    trial = trial or run.in_space(choice.space, candidate=True).short_trial()
    run.trials[:] = [trial]
    if run.folder is not None:
        trial.move_to(run.folder)
    return choice, trial


def unfinished_choice(run: EmbeddingRun, trial: Trial) -> SpaceChoice:
    """The space of this trial, for a choice that was interrupted."""
    candidate = Candidate(trial.space)
    _measure(candidate, trial.trainer, run.in_space(trial.space))
    return SpaceChoice(trial.space, [candidate], "Interrupted before all candidates were compared.")


def _best_of_each_shape(ranked: list[Trial]) -> list[Trial]:
    """The first trial of each shape: learned curvatures may change sign, so the others would end alike."""
    best: dict[tuple[tuple[bool, int], ...], Trial] = {}
    for each in ranked:
        shape = tuple(sorted((factor.letter == "E", factor.dim) for factor in parse_signature(each.space)))
        best.setdefault(shape, each)
    return list(best.values())


def _measure(candidate: Candidate, trainer: Trainer, run: EmbeddingRun) -> None:
    points: Any = trainer.model
    v = points().detach()
    quality = measure(v, points.manifold, run.distances)
    precision = mean_average_precision(v, points.manifold, run.data, run.measured)
    candidate.epochs, candidate.d_avg, candidate.distortion = trainer.epoch, quality.d_avg, quality.distortion
    candidate.map = None if math.isnan(precision) else precision
    candidate.learned_space = run.learned_space(points.manifold)


def _reason(best: Candidate, ranked: list[Candidate]) -> str:
    others = [each for each in ranked if each is not best]
    second = min(others, key=lambda each: each.d_avg)
    flat = next(each for each in ranked if each.space.startswith("E"))
    if best is flat:
        return f"Flat space is as good as any: D_avg {best.d_avg:.4f}, next {second.space} with {second.d_avg:.4f}."
    rest = f"{second.space} with {second.d_avg:.4f}, flat space has {flat.d_avg:.4f} after {flat.epochs}."
    if second.d_avg < best.d_avg:
        value = f"D_avg {best.d_avg:.4f} after {best.epochs} epochs"
        return f"{best.space} has {value}, close to the least with no more factors: {rest}"
    return f"{best.space} has the least D_avg after {best.epochs} epochs, {best.d_avg:.4f}; next is {rest}"
