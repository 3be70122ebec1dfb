"""Is the selection any good: pools of one size, picked in four ways, each teaches the nano policy.

    LOOPWRIGHT_HOME=... python tests/bench/selection.py [--seeds 0 1 2]

Needs a home in which the factory has run up to the admitted tasks. From the same semantic survivors, in the one
language that the policy reads, each arm (`selection_pools.py`) picks as many queries. What a policy learns from comes
from its arm's queries: those that compile, and the same number of variants of each, so that the mixture stays the
pool's. No long tail and no filling up to equal families, which would level the arms. The tasks to refuse, made of the
irrelevance set, are the same for all. Admission, trajectories and SFT are the product's, with the same settings, steps
and seeds.

All are judged greedily on the same two suites: fresh tasks of hidden cities and wordings, and hidden tasks made of a
random sample of all survivors. `QUICK=1` runs one seed with hardly any training on development tasks, so that the
hidden ones are looked at once; its rows go to `selection-quick`. A finished arm is not run again.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).parents[2]))

from assets.pool.layers import Space, space_of
from assets.pool.readings import Reader
from environments.task import Split, Task
from resources.lake import Lake
from tests.bench.selection_pools import ARMS, LANGUAGE, picks, survivors, tasks_of_arm
from training.runs import RolloutRun

STAGES = ("trajectories/seed_trajectories", "sft/seed_policy")
CODE = ("assets.pool.layers", "assets.tasks.pool", "assets.trajectories.synthesis", "training.sft", "training.rollouts")
"""What decides a figure: where one of these changed, arms are run anew."""
SUITE_SEED, SAMPLED = 50, 6_000
EVERY = 10**9
"""So many tasks per family are never reached: each original gets all its copies."""


@dataclass(frozen=True)
class Plan:
    """What all arms share."""

    size: int = 2_000
    """Queries in each pool."""
    copies: int = 4
    """Variants of each query that compiles."""
    irrelevant: int = 200
    """Queries of the irrelevance set beside each pool."""
    refusal_share: float = 0.05
    steps: int = 800
    batch: int = 16
    hidden: int = 400
    """Fresh tasks to judge on."""
    wordings: int = 4
    """Attempts at each, every one in another wording."""
    log: int = 200
    """Tasks of the log to judge on."""
    split: Split = "hidden"
    """Of the tasks to judge on."""


QUICK = Plan(size=300, copies=1, irrelevant=30, steps=30, hidden=40, wordings=2, log=20, split="dev")


def compiled(lake: Lake, query_ids: Sequence[str], plan: Plan, *, copies: int) -> list[Task]:
    """Admitted tasks of these queries and of the first of the irrelevance set, with variants and refusals."""
    from assets.tasks.admission import admit
    from assets.tasks.pool import Sizes, build_pool, labelled_queries
    from environments.verifiers.outcome import OutcomeVerifier
    from environments.worlds.catalogue import world_maker

    texts = lake.read("queries/distinct_queries").filter(pl.col("language") == LANGUAGE)
    refused = lake.read("labels/irrelevance_set").join(texts, on="query_id", how="semi").sort("query_id")
    wanted = {*query_ids, *refused["query_id"].head(plan.irrelevant)}
    chosen = texts.filter(pl.col("query_id").is_in(list(wanted))).select("query_id", "text", "language", "context")
    sizes = Sizes(floor=0, per_family=EVERY if copies else 0, copies=copies, refusal_share=plan.refusal_share)
    queries = labelled_queries(chosen, lake.read("labels/query_labels"))
    pool = build_pool(queries, [], languages=(LANGUAGE,), held_out_share=0.0, sizes=sizes)
    return admit(pool.tasks, world_maker("atlas"), OutcomeVerifier(), workers=2).admitted


def write_suites(lake: Lake, queries: pl.DataFrame, bench: Lake, plan: Plan) -> None:
    """What every arm is judged on, in `bench`, unless it lies there already."""
    from assets.benchmarks.suites import log_suite
    from environments.worlds.atlas.tasks import fresh_tasks
    from training.trajectories import tasks_frame

    if not bench.exists("benchmarks/suite_hidden"):
        fresh = fresh_tasks(plan.hidden, plan.split, SUITE_SEED, attempts=plan.wordings)
        bench.write("benchmarks/suite_hidden", tasks_frame(fresh))
    if not bench.exists("benchmarks/suite_log"):
        sample = queries.sample(SAMPLED, seed=SUITE_SEED)["query_id"].to_list()
        made = [t for t in compiled(lake, sample, plan, copies=0) if t.split == plan.split]
        as_hidden = [t.model_copy(update={"split": "hidden"}) for t in made]  # the only split that log_suite takes
        bench.write("benchmarks/suite_log", tasks_frame(log_suite(as_hidden, plan.log)))


def write_tasks(lake: Lake, space: Space, folder: Path, arm: str, seed: int, plan: Plan) -> None:
    """Pool and admitted tasks of an arm in the lake under `folder`, unless they lie there already."""
    from training.trajectories import tasks_frame

    own = Lake(root=str(folder / "lake"))
    if own.exists("tasks/admitted_tasks"):
        return
    chosen = picks(arm, space, plan.size, seed)
    own.write("pool/candidate_pool", pl.DataFrame({"query_id": chosen}))
    tasks = compiled(lake, chosen, plan, copies=plan.copies)
    print(f"{folder.name}: {len(tasks)} tasks, {sum(t.split == 'train' for t in tasks)} to learn from", flush=True)
    own.write("tasks/admitted_tasks", tasks_frame(tasks))


def train_and_judge(tasks: Path, folder: Path, bench: Lake, seed: int, plan: Plan) -> None:
    """One policy from the tasks in the lake under `tasks`, and its success on each item of the suites."""
    from resources.checkpoints import read_checkpoint
    from resources.trainer import Trainer
    from tests.bench.loop import Line, played
    from training.trajectories import read_tasks

    line = Line(tasks, folder, seed, STAGES)
    line.resources["trainer"] = Trainer()  # one thread: slower, but cheaper, and the same sums on any machine
    line.run({STAGES[0]: {"share": 1.0}, STAGES[1]: {"steps": plan.steps, "batch": plan.batch, "save_every": 200}})
    policy = read_checkpoint(line.lake, STAGES[1])
    suites = {"hidden": plan.wordings, "log": 1}
    paths = {suite: bench.path(f"benchmarks/suite_{suite}") for suite in suites}
    runs = [
        RolloutRun(
            output=folder / "judged" / suite, tasks=paths[suite], policy=policy.model, version=policy.version,
            k=k, temperature=0.0,
        )
        for suite, k in suites.items()
    ]  # fmt: skip
    frames = [
        item_frame(suite, episodes, read_tasks(paths[suite]), suites[suite])
        for suite, episodes in zip(suites, played(runs), strict=True)
    ]
    scratch = folder / "items.tmp"
    pl.concat(frames).write_parquet(scratch)
    scratch.replace(folder / "items.parquet")


def item_frame(suite: str, episodes: pl.DataFrame, tasks: Sequence[Task], k: int) -> pl.DataFrame:
    """suite, item, family, depth, and the item's pass@1 and pass^k."""
    from assets.benchmarks.scoring import items_of
    from environments.metrics import item_pass_hat_k

    items = items_of(episodes, tasks, k)
    return pl.DataFrame(
        {
            "suite": [suite] * len(items.ids),
            "item": items.ids,
            "family": items.families,
            "depth": items.depths,
            "pass@1": items.success_IN.mean(axis=1),
            "pass^k": item_pass_hat_k(items.success_IN, k),
        }
    )


def place_of(home: Path, plan: Plan) -> Path:
    """Where the arms of this plan, on these survivors and with this code, lie."""
    from training.checkpoint import content_version
    from training.code import code_of

    code = [code_of(module, ("assets", "environments", "training")) for module in CODE]
    version = Lake(root=str(home / "lake")).version("pool/semantic_survivors")
    return home / "bench" / f"selection-{content_version(asdict(plan), code, version)[:12]}"


def run(home: Path, plan: Plan, arms: Iterable[str], seeds: Sequence[int]) -> Path:
    """Every arm with every seed; returns the folder that holds them."""
    from resources.embedder import Embedder

    lake, place = Lake(root=str(home / "lake")), place_of(home, plan)
    queries, bench = survivors(lake), Lake(root=str(place / "lake"))
    space = space_of(queries, Reader(Embedder().embed))
    write_suites(lake, queries, bench, plan)
    for seed in seeds:
        for arm in arms:
            folder, tasks = place / f"{arm}-{seed}", tasks_of_arm(place, arm, seed)
            if (folder / "items.parquet").exists():
                continue
            write_tasks(lake, space, tasks, arm, seed, plan)
            train_and_judge(tasks, folder, bench, seed, plan)
    return place


def main() -> None:
    """Run the arms and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("LOOPWRIGHT_HOME", ".loopwright")))
    parser.add_argument("--quick", action="store_true", default=bool(os.environ.get("QUICK")))
    args = parser.parse_args()
    home, plan = args.home.absolute(), QUICK if args.quick else Plan()
    if not (home / "lake" / "pool" / "semantic_survivors").exists():
        raise SystemExit(f"{home} holds no survivors: run `make demo` first, or name its state with --home")
    seeds = args.seeds[:1] if args.quick else args.seeds
    place = run(home, plan, ARMS, seeds)
    from tests.bench.selection_rows import write_rows

    write_rows(Lake(root=str(home / "lake")), place, seeds, "selection-quick" if args.quick else "selection", plan.size)


if __name__ == "__main__":
    main()
