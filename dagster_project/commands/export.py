"""`loopwright export`: episodes and tasks for other tools, in their formats."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

import polars as pl
import typer

from dagster_project import profiles
from dagster_project.commands.console import clear_errors, say
from dagster_project.commands.gate import tasks_in
from environments.episode import Episode
from environments.task import Task
from environments.worlds.catalogue import world_maker
from environments.worlds.documents import DocumentWorld
from resources.lake import TABLE, Lake

app = typer.Typer(no_args_is_help=True, help="Write episodes, tasks and signatures for other tools, in their formats.")
ADMITTED = "tasks/admitted_tasks"
Source = Annotated[
    str, typer.Option(help=f"Tasks: a file of them, or a table of the lake; {ADMITTED} where none is given.")
]
Most = Annotated[int, typer.Option(min=1, help="Write no more than so many.")]
IncludeHidden = Annotated[
    bool, typer.Option("--include-hidden", help="Also hidden tasks and honeypots: for what stays in the house.")
]
SHUT: Final = ("hidden", "honeypot", "unknown")
"""Sides that stay in the house; `unknown` is an episode of a task that no table here has."""
_SPLITS: Final = (
    "tasks/compiled_tasks", ADMITTED, "benchmarks/suite_dev", "benchmarks/suite_log", "benchmarks/suite_hidden",
    "tasks/honeypots",
)  # fmt: skip
"""Tables that say on which side a task is; the later ones count where several do."""


@app.command("atif")
def atif(
    source: Annotated[str, typer.Argument(help="Episodes: a Parquet file, a folder of them, or a table of the lake.")],
    out: Annotated[Path, typer.Argument(help="Folder for one JSON file each.")],
    model: Annotated[str, typer.Option(help="Name of the policy that played them.")] = "policy",
    solved: Annotated[bool, typer.Option("--solved", help="Only those that succeeded.")] = False,
    tasks: Annotated[str, typer.Option(help="File or table of their tasks, where the lake does not hold them.")] = "",
    include_hidden: IncludeHidden = False,
    most: Most = 1000,
) -> None:
    """Write episodes as trajectories of the Agent Trajectory Interchange Format."""
    from environments.formats.atif import trajectory_of, write_trajectory

    with clear_errors():
        written, sides, splits = 0, Counter[str](), _splits(tasks)
        out.mkdir(parents=True, exist_ok=True)
        for frame in _episodes(source, solved=solved):
            side = pl.Series([splits.get(task_id, "unknown") for task_id in frame["task_id"]], dtype=pl.String)
            sides.update(side)
            open_ = frame if include_hidden else frame.filter(~side.is_in(SHUT))
            for row in open_.head(most - written).iter_rows(named=True):
                episode = Episode.of(row)
                write_trajectory(trajectory_of(episode, model=model), out / f"{episode.episode_id}.json")
                written += 1
    say(f"{written:,} trajectories in {out}{_left_out(sides, include_hidden=include_hidden)}")


def _splits(tasks: str) -> dict[str, str]:
    """The side of every task that the lake, or the source named, has."""
    lake = Lake(root=str(profiles.home() / "lake"))
    tables = [lake.read(name, columns=["task_id", "split"]) for name in _SPLITS if lake.exists(name)]
    known = {task_id: split for table in tables for task_id, split in table.select("task_id", "split").iter_rows()}
    return {t.task_id: t.split for t in (_tasks(tasks) if tasks else ())} | known


def _left_out(sides: Mapping[str, int], *, include_hidden: bool) -> str:
    """How much of what was there stays in the house."""
    if include_hidden or not any(sides[side] for side in SHUT):
        return ""
    told = ", ".join(f"{sides[side]:,} {side}" for side in SHUT if sides[side])
    unknown = "; --tasks names the tasks of unknown ones" if sides["unknown"] else ""
    return f"; left out: {told} (--include-hidden takes them in{unknown})"


def _episodes(source: str, *, solved: bool) -> Iterator[pl.DataFrame]:
    """The episodes of a source, file by file, in its order.

    Raises:
        FileNotFoundError: no such file, folder or table.
        ValueError: it holds no episodes.
    """
    path = Path(source)
    lake = Lake(root=str(profiles.home() / "lake"))
    if not path.exists() and not (TABLE.fullmatch(source) and lake.exists(source)):
        raise FileNotFoundError(f"{source!r} is no file, no folder and no table of {profiles.home()}")
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path if path.exists() else lake.path(source)]
    if not files:
        raise FileNotFoundError(f"{path} holds no Parquet file: give the folder `episodes` of a run")
    for file in files:
        try:
            frame = pl.read_parquet(file)
        except pl.exceptions.PolarsError as error:
            raise ValueError(f"{file} cannot be read as Parquet: {error}") from error
        if lacking := {"episode_id", "task_id", "steps", "status", "ended"} - set(frame.columns):
            raise ValueError(f"{file} holds no episodes: it lacks {', '.join(sorted(lacking))}")
        yield frame.filter("success") if solved else frame


@app.command("harbor")
def harbor(
    out: Annotated[Path, typer.Argument(help="Folder for one task folder each.")],
    image: Annotated[
        str, typer.Option(help="Container image with this package in it; coding tasks: with python3.")
    ] = "loopwright:latest",
    tasks: Source = "",
    split: Annotated[str, typer.Option(help="Which side of the hidden line: train or dev.")] = "train",
    organisation: Annotated[str, typer.Option(help="First half of the tasks' names.")] = "loopwright",
    include_hidden: IncludeHidden = False,
    most: Most = 100,
) -> None:
    """Write tasks as Harbor folders: the world is served beside the agent, and its record graded apart.

    Coding tasks need no world: their image holds the files, and their hidden tests run apart.
    """
    from environments.formats.harbor import write_task
    from environments.formats.harbor_files import harbor_files_of
    from environments.formats.harbor_world import harbor_task_of
    from environments.worlds.workspace.world import POLICY

    with clear_errors():
        if split not in ("train", "dev"):
            raise ValueError(
                f"split must be train or dev, got {split!r}: what is hidden leaves this machine in no format, unless "
                "--include-hidden adds it"
            )
        given = _tasks(tasks)
        wanted = {split, *(SHUT if include_hidden else ())}
        open_ones = [t for t in given if t.split in wanted]
        chosen = [t for t in open_ones if t.user is None][:most]
        served = {t.world for t in chosen if not t.goal.cases}
        worlds = {name: world_maker(name, folder=profiles.world_folder(name))() for name in served}
        for task in chosen:
            if task.goal.cases:
                policy = POLICY.read_text(encoding="utf-8")
                made = harbor_files_of(task, policy, image=image, organisation=organisation)
            else:
                made = harbor_task_of(task, worlds[task.world], image=image, organisation=organisation)
            write_task(made, out / made.name.partition("/")[2])
    left = _left_out(Counter(t.split for t in given), include_hidden=include_hidden)
    talking = sum(t.user is not None for t in open_ones)
    alone = f"; left out: {talking:,} with a user to talk with, whom a Harbor agent does not have" if talking else ""
    beyond = len(open_ones) - talking - len(chosen)
    more = f"; {beyond:,} more than --most allows" if beyond else ""
    say(f"{len(chosen):,} task folders in {out}{left}{alone}{more}")


@app.command("tau2")
def tau2(
    world: Annotated[str, typer.Argument(help="retail or airline.")],
    out: Annotated[Path, typer.Argument(help="Folder of the domain.")],
    tasks: Source = "",
    include_hidden: IncludeHidden = False,
) -> None:
    """Write tasks of retail or airline as a tau2 domain, its policy and database with them."""
    from environments.formats.tau2 import write_domain

    with clear_errors():
        session = world_maker(world, folder=profiles.world_folder(world))()
        if not isinstance(session, DocumentWorld):
            raise ValueError(f"{world!r} is no world of documents, which tau2's are: retail or airline")
        given = [t for t in _tasks(tasks) if t.world == world]
        chosen = [t for t in given if include_hidden or t.split not in SHUT]
        kinds = session.state.base.kinds
        write_domain(out, chosen, policy=session.policy, documents=kinds, key_fields=session.key_fields)
    left = _left_out(Counter(t.split for t in given), include_hidden=include_hidden)
    say(f"{len(chosen):,} tasks of {world} in {out}{left}")


@app.command("signatures")
def signatures(
    out: Annotated[Path, typer.Argument(help="Parquet file: query_id, signature.")],
    threshold: Annotated[float, typer.Option(help="Jaccard similarity that the bands are cut for.")] = 0.75,
) -> None:
    """Write MinHash signatures of the lexical survivors, for an index of datasketch."""
    from assets.pool.layers import told_by
    from assets.pool.minhash import bands_for
    from assets.pool.minhash import signatures as signatures_of

    with clear_errors():
        lake, bands = Lake(root=str(profiles.home() / "lake")), bands_for(threshold)
        kept = lake.read("pool/lexical_survivors", columns=["query_id"])
        texts = lake.read("queries/distinct_queries", columns=["query_id", "context", "normal"])
        rows = texts.join(kept, on="query_id", how="semi").sort("query_id")
        made = signatures_of(told_by(rows), bands.permutations)
        signed = pl.Series("signature", made, dtype=pl.Array(pl.UInt32, bands.permutations))
        out.parent.mkdir(parents=True, exist_ok=True)
        rows.select("query_id", signed.cast(pl.List(pl.UInt32))).write_parquet(out)
    say(f"{len(rows):,} signatures in {out}: MinHashLSH(num_perm={bands.permutations}, params={tuple(bands)})")


def _tasks(source: str) -> list[Task]:
    """Tasks of a file or a table, in order of id.

    Raises:
        FileNotFoundError: neither.
    """
    path, lake = Path(source), Lake(root=str(profiles.home() / "lake"))
    if not source or not path.exists():
        table = source or ADMITTED
        if not TABLE.fullmatch(table):
            raise FileNotFoundError(f"{source!r} is no file")
        if not lake.exists(table):
            raise FileNotFoundError(
                f"{table!r} is no file and no table of {profiles.home()}: loopwright materialize {table}"
            )
        path = lake.path(table)
    return sorted(tasks_in(path), key=lambda t: t.task_id)
