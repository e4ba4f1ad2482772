"""Options that commands share: single options, groups of options as dataclasses, and options made from settings."""

import inspect
import json
import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_type_hints

import typer

from kappagcn.cli.output import messages, one_line_errors, refuse, say
from kappagcn.errors import WorkerLostError
from kappagcn.training.setting_field import description, flag_of, idle_reason
from kappagcn.training.settings import Settings, as_settings

# Options of groups that the commands with --set hide.
RARE = ("source", "target", "header", "matrix", "data", "threads", "timeout")
SILENCE = 60.0  # default seconds until a silent process counts as lost
NOT_SETTINGS = ("config", "set_", "help", "dry_run", "as_json")  # flags that a settings file must not contain


def _take_values(context: typer.Context, values: dict[str, Any], where: str) -> dict[str, Any]:
    """Values for options of a command by name, as its ``default_map``: checked in the same way as those of flags."""
    values = {name.replace("-", "_"): value for name, value in values.items()}
    known = {_shown_name(each): each for each in context.command.params if each.name not in NOT_SETTINGS}
    for name, value in values.items():
        if name not in known:
            raise refuse(f"{where}: expected {', '.join(known).replace('_', '-')}, found {name!r}.")
        if isinstance(value, dict) or (isinstance(value, list) and not known[name].multiple):
            raise refuse(f"{where}: {name}: expected a word or a number, found {value!r}.")
    return {str(known[name].name): v if isinstance(v, bool | list) else str(v) for name, v in values.items()}


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Use the settings in a file as defaults of the options with the same names."""
    if path is not None:
        with one_line_errors():
            from kappagcn.training.settings import read_toml

            values = _take_values(context, read_toml(path), str(path))
        context.default_map = {**values, **(context.default_map or {})}  # --set wins
    return path


def _read_set(context: typer.Context, assignments: list[str] | None) -> list[str] | None:
    """Use NAME=VALUE as the default of the option with that name."""
    with one_line_errors():
        for each in assignments or []:
            name, equals, value = each.partition("=")
            if not equals:
                raise refuse(f"--set: expected NAME=VALUE, found {each!r}.")
            context.default_map = {**(context.default_map or {}), **_take_values(context, {name: value}, "--set")}
    return assignments


def refuse_twice(context: typer.Context) -> None:
    """Refuse values that an option and ``--set`` both give."""
    assigned = {name.partition("=")[0].replace("-", "_") for name in context.params.get("set_") or []}
    for each in context.command.params:
        given = context.get_parameter_source(str(each.name))
        if given is not None and given.name == "COMMANDLINE" and _shown_name(each) in assigned:
            name = _shown_name(each).replace("_", "-")
            raise refuse(f"--{name}: expected it once, found it also in --set.")


def names_for_set(parameters: list[inspect.Parameter]) -> str:
    """The options of a command that only ``--set`` reaches, with their defaults, as a paragraph of its help."""
    hidden = [each for each in parameters if _info(each) is not None and _info(each).hidden]
    values = {each.name.replace("_", "-"): "" if each.default is None else _text(each.default) for each in hidden}
    names = ", ".join(f"{name}={value}" if value else name for name, value in values.items())
    return f"\n\nNames for --set and --config, with defaults: {names}." if names else ""


def _info(parameter: inspect.Parameter) -> Any:
    """Typer's description of a parameter, None if it has none."""
    return next(iter(getattr(parameter.annotation, "__metadata__", ())), None)


def _shown_name(option: Any) -> str:
    """The name of an option in TOML files, with underscores."""
    return str(option.name).removesuffix("_")


def _text(value: Any) -> str:
    """A value as ``--set`` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


Graph = Annotated[str, typer.Argument(metavar="GRAPH", help="A built-in name (see kappagcn data list) or a file.")]
DATA_HELP, DATA_VARIABLE = "Folder to search for datasets first.", "KAPPAGCN_DATA"
DataFolder = Annotated[Path | None, typer.Option("--data", envvar=DATA_VARIABLE, help=DATA_HELP)]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all random numbers.")]
THREADS_HELP = "Number of threads; all cores by default."
Threads = Annotated[int | None, typer.Option(min=1, help=THREADS_HELP)]


def option(default: Any, help: str, *names: str, **more: Any) -> Any:
    """A field of a group of options."""
    return field(default=default, metadata={"option": typer.Option(*names, help=help, **more)})


@dataclass(frozen=True)
class FileOptions:
    """Options for the files of a graph."""

    PANEL: ClassVar = "Files"

    features: str | None = option(
        None, "File with node features; with --nodes names of columns, for GraphML and GML of attributes, as a,b,c."
    )
    labels: str | None = option(None, "File with node labels; for GraphML and GML the name of an attribute.")
    nodes: Path | None = option(None, "File with a row for each node; its columns are features, but for the label.")
    label: str | None = option(None, "Column with the label, in the file of nodes or labels.")
    source: str | None = option(None, "Column of sources in a table of edges; the first without a usual name.")
    target: str | None = option(None, "Column of targets in a table of edges; the second without a usual name.")
    weight: str | None = option(None, "Column of weights in a table of edges; an attribute in GraphML and GML.")
    weights: bool = option(True, "Whether to use weights of edges; embed takes them as lengths.")
    header: bool | None = option(None, "Whether an edge list has a heading; detected by default.")
    matrix: bool | None = option(None, "Whether a table of numbers is a matrix; detected by default.")
    data: Path | None = option(None, DATA_HELP, envvar=DATA_VARIABLE)

    def __post_init__(self) -> None:
        """Refuse a column of weights that are not used."""
        if self.weight is not None and not self.weights:
            raise refuse("expected --weight or --no-weights, found both.")

    @property
    def tables(self) -> bool:
        """Whether files or columns of nodes are named."""
        return any((self.features, self.labels, self.nodes, self.label))

    def arguments(self) -> dict[str, Any]:
        """The options as arguments of `kappagcn.graphs.load_graph`."""
        names = ("features", "labels", "nodes", "label", "source", "target", "header", "matrix")
        weight = self.weight if self.weights else False
        return {"weight": weight, **{name: getattr(self, name) for name in names}}

    def load(self, graph: str, column_rules: Any = None, time: str | None = None) -> Any:
        """Load the graph, and print one line about it on standard error.

        Args:
            graph: A built-in name or a file.
            column_rules: How columns of nodes become features, for a network that was trained on others.
            time: Column of times in a table of edges.
        """
        from kappagcn.graphs import load_graph

        options = {**self.arguments(), "column_rules": column_rules, "time": time}
        loaded = load_graph(graph, root=self.data, sparse=True, progress=True, **options)
        say(f"{graph}: {loaded.report}")
        return loaded

    def load_labelled(self, graph: str, column_rules: Any = None) -> Any:
        """The graph with its labels; the features of a built-in one are prepared as for the paper's tables."""
        from kappagcn.classification.cross_validation import load_labelled

        loaded = None if self.tables else load_labelled(graph, self.data)
        return self.load(graph, column_rules) if loaded is None else loaded


@dataclass(frozen=True)
class RunOptions:
    """Options for a training run and its directory."""

    PANEL: ClassVar = "Run"

    threads: int | None = option(None, THREADS_HELP, min=1)
    distributed: bool = option(
        False, "Train with the other processes of torchrun, as every one does.", "--distributed", hidden=True
    )
    timeout: float = option(SILENCE, "Seconds until a silent process counts as lost.", min=1)
    out: Path | None = option(None, "Run directory; runs/GRAPH-SPACE by default.")
    resume: bool = option(False, "Resume the run in --out, if there is one.", "--resume")
    dry_run: bool = option(False, "Print all settings, as --config reads them, and stop.", "--dry-run")
    config: Path | None = option(
        None, "TOML file of settings; flags override it.", is_eager=True, callback=_read_config
    )
    set_: list[str] | None = option(
        None, "NAME=VALUE of a setting, also of one that has no option here; see below.", "--set", is_eager=True,
        callback=_read_set,
    )  # fmt: skip

    def __post_init__(self) -> None:
        """Take part where torchrun started several processes, of which rank 0 alone prints; resume after a restart."""
        started = "RANK" in os.environ and "WORLD_SIZE" in os.environ
        if self.distributed and not started:
            raise refuse(
                "--distributed: expected to be one of several processes, found a single one. Start them with "
                "torchrun --nproc-per-node 2 -m kappagcn ..."
            )
        object.__setattr__(self, "distributed", started)
        if self.timeout != SILENCE and not started:
            raise refuse(f"--timeout: expected torchrun beside it, found {self.timeout:g} for one process.")
        messages.quiet = started and os.environ["RANK"] != "0"
        if started and restarts() > 0:
            object.__setattr__(self, "resume", True)

    def directory(self, graph: str, space: str) -> Path:
        """The run directory, by default named after the graph and the space; it must be free for this run."""
        directory = Path("runs") / f"{Path(graph).stem}-{space}" if self.out is None else self.out
        if not (self.dry_run or self.distributed):  # of several processes the first may have started the run
            from kappagcn.run_folder import holds_run

            holds_run(directory, resume=self.resume)
        return directory

    @contextmanager
    def process_group(self, directory: Path) -> Iterator[Any]:
        """The process group of a run, None without --distributed; the first remaining rank reports a lost process."""
        if not self.distributed:
            yield None
            return
        from kappagcn.distributed import process_group

        try:
            with process_group(self.timeout, restarts=restarts()) as group:
                yield group
        except WorkerLostError as error:
            messages.quiet = not error.report_here
            raise WorkerLostError(
                f"{error}. {directory} holds the last checkpoint: the same command with --resume continues, with any "
                "number of processes."
            ) from None


def restarts() -> int:
    """How often torchrun has started this process again."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


def configure_torch(threads: int | None) -> None:
    """Set the number of threads, and keep freed memory for the next step."""
    from kappagcn.training.resources import keep_freed_memory

    keep_freed_memory()
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


def print_settings(context: typer.Context, settings: Any, *, as_json: bool, **resolved: Any) -> None:
    """Print the flags of a command that change its numbers, as TOML, which --config reads, or as JSON.

    Settings without an effect are left out.
    """
    idle = [flag for flag, each in _flags(type(settings)).items() if idle_reason(each, settings) is not None]
    resolved = {**_flag_values(settings), **resolved}
    names = [str(each.name) for each in context.command.params if each.name not in idle]
    values = {
        name: resolved.get(name, context.params.get(name))
        for name in names
        if name not in (*NOT_SETTINGS, "resume", "out", "data", "csv", "export")
    }
    values = {name: value for name, value in values.items() if value not in (None, [], ())}
    if as_json:
        print(json.dumps(values, default=str))
        return
    for name, value in values.items():
        print(f"{name.replace('_', '-')} = {json.dumps(value, ensure_ascii=False, default=str)}")


def _flag_values(settings: Any) -> dict[str, Any]:
    """The values of settings by flag, as TOML files and ``--dry-run`` have them."""
    values = {flag: getattr(settings, each.name) for flag, each in _flags(type(settings)).items()}
    return {flag: ",".join(map(str, v)) if isinstance(v, list | tuple) else v for flag, v in values.items()}


def _flags(kind: type[Any]) -> dict[str, Field[Any]]:
    """Settings that the command line takes, by flag, with underscores."""
    return {flag_of(each): each for each in fields(kind) if not each.metadata["python_only"]}


def group_parameters(group: type[Any], hidden: Collection[str] = ()) -> list[inspect.Parameter]:
    """The parameters of a command for the fields of a group of options, or of the settings of a task."""
    if issubclass(group, Settings):
        return [_setting_option(flag, each, group) for flag, each in _flags(group).items()]
    hints, parameters = get_type_hints(group), []
    for each in fields(group):
        info = copy(each.metadata["option"])
        info.rich_help_panel, info.hidden = group.PANEL, info.hidden or each.name in hidden
        parameters.append(_parameter(each.name, Annotated[hints[each.name], info], each.default))
    return parameters


def take_group(group: type[Any], options: dict[str, Any]) -> Any:
    """Build a group of options, or the settings of a task, and remove its values from the options of a command."""
    values = {each.name: options.pop(each.name) for each in group_parameters(group)}
    return as_settings(group, values) if issubclass(group, Settings) else group(**values)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _setting_option(flag: str, each: Field[Any], kind: type[Any]) -> inspect.Parameter:
    """The option of a setting: a switch, or text that `as_settings` reads and checks."""
    name, switch = flag.replace("_", "-"), each.type == "bool"
    numbers = [kind for kind in ("int", "float") if kind in re.split(r"\W+", str(each.type))]
    kinds = [*numbers, *(["auto"] if each.default == "auto" else [])] if numbers else ["str"]
    info = typer.Option(
        f"--{name}/--no-{name}" if switch else f"--{name}",
        help=description(each, kind),
        metavar=None if switch else f"<{'|'.join(kinds)}>",
        hidden=not each.metadata["common"],
        rich_help_panel="Settings",
    )
    if switch:
        return _parameter(flag, Annotated[bool, info], each.default)
    return _parameter(flag, Annotated[str | None, info], None if each.default is None else str(each.default))
