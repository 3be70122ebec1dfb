"""`loopwright taxonomy`: how a tree grows, from a seed set for experts to proposals that a person decides on.

    seeds -> (people tag) -> experts -> induce -> refine;  later, when labels are there: expand -> review

What is drafted lies in the state folder under `taxonomy/` unless a folder is given; only `review` touches a tree. With
`--teacher` the profile's language model names and arranges, and in `refine` labels, what is otherwise done embedded.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from assets.taxonomy.drafts import Branches, as_yaml, leaves_of, read_branches, require_free_folder, write_branches
from assets.taxonomy.expansion import expand as expand_others
from assets.taxonomy.experts import COLUMNS, ExpertTags, agreement_of_annotators, read_expert_tags, tags_by_query
from assets.taxonomy.grafting import graft_accepted
from assets.taxonomy.induction import induce as induce_tree
from assets.taxonomy.proposals import Proposal, ProposalError, Status, decide, read_proposals, write_proposal
from assets.taxonomy.refinement import refine as refine_tree
from assets.taxonomy.rounds import store_rounds
from assets.taxonomy.seeds import seed_set, write_seeds
from assets.taxonomy.tree import OTHER
from dagster_project import profiles
from dagster_project.commands.console import clear_errors, say, warn
from dagster_project.commands.growth_teacher import GrowthTeacher, growth_teacher
from dagster_project.commands.summary import columns
from dagster_project.trees import configured_folder
from resources.embedder import Embedder
from resources.lake import Lake

TagFiles = Annotated[list[Path], typer.Argument(help="CSV, JSONL or JSON exports of Label Studio.")]
TagOption = Annotated[list[Path] | None, typer.Option(help="A file of expert tags; may be given several times.")]
TreeOption = Annotated[Path | None, typer.Option(help="Folder of the tree; that of the profile without it.")]
TeacherOption = Annotated[bool, typer.Option("--teacher", help="Ask the language model of the profile's [teacher].")]
FolderOption = Annotated[Path | None, typer.Option(help="Folder of the proposals; in the state folder without it.")]
EXPERT_TAGS = "taxonomy/expert_tags"
_SAMPLE = 20_000
"""Queries that induction looks at, at most: the often asked first."""


def seeds(
    out: Annotated[Path, typer.Argument(help="File to write for the experts: .csv or .jsonl.")],
    size: Annotated[int, typer.Option(min=1, help="How many queries.")] = 300,
) -> None:
    """Pick queries as different as can be, over all frequencies, for experts to tag."""
    with clear_errors():
        queries = _lake().read("queries/distinct_queries", columns=["query_id", "text", "support"])
        picked = seed_set(queries, Embedder().embed(queries["text"].to_list()), size=size)
        write_seeds(picked, out)
    say(f"{len(picked)} of {len(queries):,} queries in {out}: fill in tags (several stand apart by ;) and annotator")


def experts(
    tagged: TagFiles,
    query: Annotated[str, typer.Option(help="Column of the query.")] = COLUMNS.query,
    tags: Annotated[str, typer.Option(help="Column of the tags.")] = COLUMNS.tags,
    annotator: Annotated[str, typer.Option(help="Column of who said so.")] = COLUMNS.annotator,
) -> None:
    """Read expert tags into the lake, and show how far the experts agree."""
    with clear_errors():
        found = read_expert_tags(tagged, COLUMNS._replace(query=query, tags=tags, annotator=annotator))
        if found.rows.is_empty():
            _say_frame(found.quarantine)
            raise ValueError(f"no tags in {', '.join(map(str, tagged))}: what was read earlier stays as it is")
        lake = _lake()
        lake.write(EXPERT_TAGS, beside_earlier(lake, found.rows))
        lake.write("taxonomy/expert_tags_quarantine", found.quarantine)
    say(
        f"{len(found.rows)} answers on {found.rows['query'].n_unique()} queries, {len(found.quarantine)} rows set aside"
    )
    _say_frame(agreement_of_annotators(found.rows).with_columns(pl.col("kappa").round(3)))
    _say_frame(found.quarantine)


def beside_earlier(lake: Lake, rows: pl.DataFrame) -> pl.DataFrame:
    """New answers beside those of earlier files; a file that is read again takes the place of what it said before."""
    if not lake.exists(EXPERT_TAGS):
        return rows
    earlier = lake.read(EXPERT_TAGS)
    return pl.concat([earlier.filter(~pl.col("source_file").is_in(rows["source_file"].implode())), rows])


def induce(
    out: Annotated[Path, typer.Argument(help="Folder for the tree's files; empty or not there.")],
    expert: TagOption = None,
    least: Annotated[int, typer.Option(help="Smallest number of leaves tried.")] = 2,
    most: Annotated[int | None, typer.Option(help="Largest number of leaves tried.")] = None,
    teacher: TeacherOption = False,
) -> None:
    """Draft a tree from the distinct queries of the log."""
    with clear_errors():
        require_free_folder(out)
        lake = _lake()
        queries = lake.read("queries/distinct_queries", columns=["query_id", "text", "support"])
        texts = queries.sort("support", "query_id", descending=[True, False])["text"].unique(maintain_order=True)
        sample = sorted({*texts.head(_SAMPLE), *(tags := _tags(expert))})
        with _teacher(teacher, lake, "induce", sample, tags, least, most) as asked:
            found = induce_tree(sample, Embedder().embed(sample), tags=tags, least=least, most=most)
            found = asked.arranged(found) if asked else found
        written = write_branches(found.branches, out)
    say(f"{len(written)} branches, {len(leaves_of(found.branches))} leaves in {out}, from {len(sample):,} queries")
    say(f"{len(found.left_over):,} queries are in clusters too small for a leaf: they belong to an Other")
    named = "The names are the teacher's" if teacher else "The names are the clusters' telling words"
    say(f"{named}: edit names and definitions before labelling by it.")


def refine(
    out: Annotated[Path, typer.Argument(help="Folder for the refined tree; empty or not there.")],
    expert: TagOption = None,
    tree: TreeOption = None,
    rounds: Annotated[int, typer.Option(help="Rounds after which it gives up.")] = 10,
    size: Annotated[int, typer.Option(min=1, help="Queries of the seed set beside those that are tagged.")] = 2000,
    teacher: TeacherOption = False,
) -> None:
    """Correct a tree by the Tag - Feedback - Correction loop."""
    with clear_errors():
        require_free_folder(out)
        branches, tags, lake = read_branches(_tree(tree)), _tags(expert), _lake()
        queries = lake.read("queries/distinct_queries", columns=["query_id", "text", "support"])
        embedder = Embedder()
        seeds = seed_set(queries, embedder.embed(queries["text"].to_list()), size=size)["text"].to_list()
        texts = sorted({*seeds, *tags})
        with _teacher(teacher, lake, "refine", texts, tags, list(map(as_yaml, branches))) as asked:
            found = refine_tree(
                branches, texts, embedder.embed(texts), asked.annotate if asked else annotate, tags=tags,
                most_rounds=rounds, settle=asked.named_anew if asked else None,
            )  # fmt: skip
        store_rounds(lake, found)
        write_branches(found.branches, out)
    head = ("round", "leaves", "distance", "churn", "contradicted", "corrections")
    rows = [
        (str(i), str(len(leaves_of(one.branches))), *(f"{x:.3f}" for x in (one.distance, one.churn, one.disagreement)),
         str(len(one.corrections)))
        for i, one in enumerate(found.rounds, start=1)
    ]  # fmt: skip
    say(columns([head, *rows]))
    say(f"{'converged' if found.converged else 'did not converge'}: {found.reason}; the tree is in {out}")


def expand(
    folder: FolderOption = None,
    tree: TreeOption = None,
    least: Annotated[int, typer.Option(help="Size from which a cluster is worth a leaf.")] = 20,
    teacher: TeacherOption = False,
) -> None:
    """Propose leaves for what gathers in the Others."""
    with clear_errors():
        place, lake = _proposals(folder), _lake()
        labels = lake.read("labels/query_labels", columns=["query_id", "primary"])
        others = labels.filter(pl.col("primary").str.contains(r"(^|\.)other$")).rename({"primary": "leaf"})
        texts = lake.read("queries/distinct_queries", columns=["query_id", "text"])
        rows = others.join(texts, on="query_id").sort("query_id")
        with _teacher(teacher, lake, "expand", rows["query_id"].to_list(), least) as asked:
            found = expand_others(
                rows, Embedder().embed(rows["text"].to_list()), taken=list(leaves_of(read_branches(_tree(tree)))),
                before=read_proposals(place), total=len(labels), least_queries=least,
                name=asked.name if asked else None,
            )  # fmt: skip
            if asked:
                asked.require_any_answer()
        for one in found.proposals:
            write_proposal(place, one)
    say(f"{len(found.proposals)} proposals from {len(rows):,} queries in Others, in {place}")
    _say_proposals(found.proposals)
    for key, status in found.known:
        say(f"{key} gathers again: {status}")


def review(
    accept: Annotated[list[str] | None, typer.Option(help="Accept a proposal; may be given several times.")] = None,
    refuse: Annotated[list[str] | None, typer.Option(help="Refuse a proposal; may be given several times.")] = None,
    folder: FolderOption = None,
    tree: TreeOption = None,
    interactive: Annotated[bool, typer.Option(help="Ask about each proposal.")] = False,
) -> None:
    """List proposals, decide on them, and write the accepted ones into the tree."""
    with clear_errors():
        place = _proposals(folder)
        if both := sorted(set(accept or []) & set(refuse or [])):
            raise ValueError(f"{', '.join(both)} is both accepted and refused: name it once")
        lost = {**decide(place, accept or [], Status.ACCEPTED).failed}
        lost |= decide(place, refuse or [], Status.REFUSED).failed
        if interactive:
            lost |= _ask_about(place)
        written, unwritten = graft_accepted(place, _tree(tree))
        waiting = [one for one in read_proposals(place) if one.status is Status.PROPOSED]
    for one in written:
        say(f"written into the tree: {one.key}")
    _say_proposals(waiting)
    say(f"{len(waiting)} proposals wait for a decision in {place}")
    for key, error in lost.items():
        warn(f"loopwright: the decision on {key} could not be kept: {error}")
    for key, error in unwritten.items():
        warn(f"loopwright: {key} is accepted and not in the tree, the next review tries it again: {error}")
    if failed := [*lost.values(), *unwritten.values()]:
        raise typer.Exit(2 if all(isinstance(error, ValueError) for error in failed) else 1)


def annotate(branches: Branches, texts: Sequence[str]) -> list[str]:
    """Label texts by a tree's own examples; what most likely belongs to none of its leaves is the Other of the tree."""
    from assets.labels.few_shot import fit_few_shot

    examples = {leaf: [*entry.examples, *entry.synonyms, entry.name_en] for leaf, entry in leaves_of(branches).items()}
    answers = fit_few_shot(examples, Embedder().embed).answer(texts)
    unsure = answers.abstained()
    return [OTHER if doubt else leaf for leaf, doubt in zip(answers.label, unsure, strict=True)]


def _ask_about(place: Path) -> dict[str, OSError | ProposalError]:
    """Ask about each proposal, and keep each answer at once; returns those that could not be kept."""
    lost: dict[str, OSError | ProposalError] = {}
    for one in read_proposals(place):
        if one.status is Status.PROPOSED:
            _say_proposals([one])
            said = typer.prompt("accept, refuse or leave it [a/r/l]", default="l")
            if said in ("a", "r"):
                lost |= decide(place, [one.key], Status.ACCEPTED if said == "a" else Status.REFUSED).failed
    return lost


def _say_proposals(proposals: "list[Proposal] | tuple[Proposal, ...]") -> None:
    for one in proposals:
        size = one.expected
        say(f"\n{one.key}: {one.name.en} / {one.name.zh}")
        say(f"  {one.definition}")
        say(f"  {size.queries:,} queries of {size.of:,} labelled (95%: {size.low:,} to {size.high:,})")
        for text in one.examples[:5]:
            say(f"  - {text}")


def _say_frame(frame: pl.DataFrame) -> None:
    if not frame.is_empty():
        say(columns([tuple(frame.columns), *(tuple(map(str, row)) for row in frame.iter_rows())]))


def _tags(expert: list[Path] | None) -> dict[str, str]:
    """The first tag of each query, from the files given, else from the lake; none where there are none."""
    lake = _lake()
    if expert:
        found: ExpertTags = read_expert_tags(expert)
        rows = found.rows
    elif lake.exists(EXPERT_TAGS):
        rows = lake.read(EXPERT_TAGS)
    else:
        return {}
    return {query: tags[0] for query, tags in tags_by_query(rows).select("query", "tags").iter_rows()}


def _teacher(wanted: bool, lake: Lake, verb: str, *about: object) -> AbstractContextManager[GrowthTeacher | None]:
    return growth_teacher(lake, verb, *about) if wanted else nullcontext()


def _lake() -> Lake:
    return Lake(root=str(profiles.home() / "lake"))


def _tree(tree: Path | None) -> Path:
    return tree or configured_folder()


def _proposals(folder: Path | None) -> Path:
    return folder or profiles.home() / "taxonomy" / "proposals"


def add_to(app: typer.Typer) -> None:
    """Make these verbs of `loopwright taxonomy`."""
    for verb in (seeds, experts, induce, refine, expand, review):
        app.command()(verb)
