"""Does the loop give a better policy? Three policies on hidden tasks over several seeds, beside equal-compute SFT.

    LOOPWRIGHT_HOME=... python tests/bench/loop.py [--seeds 6 7 8]

Needs a home in which the factory has run once: its admitted tasks are the training data of every seed. Each seed gets a
lake and registry of its own, in which the same assets are materialized with that seed; the arm `more_sft` goes on with
SFT from the boundary policy, on new verified trajectories, for as many CPU seconds as RL took. `QUICK=1` runs one seed
with hardly any training, to show that the whole still works; its rows go to `loop-quick`.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[2]))

from training.journal import read_segments
from training.runs import RolloutPlan, RolloutRun

COMMAND = "make bench-loop"
ARM_RATE, ARM_DECAY = 1e-3, 0.9
"""Learning rate and decay of the arm: what served the second SFT best on development tasks (decision 16)."""
BASE = ("taxonomy/intent_taxonomy", "tasks/admitted_tasks")
LINE = (
    "trajectories/seed_trajectories", "sft/seed_policy", "frontier/seed_probes", "frontier/regions",
    "trajectories/adaptive_trajectories", "sft/boundary_policy", "frontier/boundary_probes", "policy/rl_policy",
    "benchmarks/results",
)  # fmt: skip
QUICK: dict[str, dict[str, Any]] = {
    "sft/seed_policy": {"steps": 200}, "frontier/seed_probes": {"tasks": 60}, "sft/boundary_policy": {"steps": 40},
    "frontier/boundary_probes": {"tasks": 60}, "policy/rl_policy": {"steps": 6},
    "benchmarks/results": {"hidden": 60, "log": 20, "dev": 24, "temperatures": [0.6]},
}  # fmt: skip
"""Settings of a run that shows the machinery only; its rows say so."""
SEEDED = [t for t in LINE if t != "frontier/regions"]


def children_s() -> float:
    """CPU seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Line:
    """One seed's lake, with the assets after admission, or some of them."""

    def __init__(self, home: Path, folder: Path, seed: int, stages: Sequence[str] = LINE) -> None:
        from dagster_project import profiles
        from dagster_project.definitions import defs
        from resources.lake import Lake
        from resources.registry import Registry
        from resources.trainer import Trainer

        self.seed, self.folder, self.stages = seed, folder, stages
        self.lake = Lake(root=str(folder / "lake"))
        for table in BASE:
            target = self.lake.path(table)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Lake(root=str(home / "lake")).path(table), target)
        trainer = Trainer(**profiles.active().trainer.model_dump())
        self.resources = {
            **(defs.resources or {}),
            "lake": self.lake,
            "registry": Registry(url=f"sqlite:///{folder}/registry.db"),
            "trainer": trainer,
        }
        self.defs = defs

    def run(self, settings: dict[str, dict[str, Any]]) -> dict[str, float]:
        """Materialize the line; returns CPU seconds of the training processes by asset."""
        from dagster_project.leaves import materialize_leaves

        spent = {}
        for table in self.stages:
            before = children_s()
            name = table.replace("/", "__")
            own = settings.get(table, {}) | ({"seed": self.seed} if table in SEEDED else {})
            config = {"ops": {name: {"config": own}}} if own else {}
            assets = [a for a in self.defs.assets or [] if dg.AssetKey(table.split("/")) in a.keys]  # type: ignore[union-attr]
            done = materialize_leaves(assets, resources=self.resources, run_config=config, raise_on_error=True)
            assert done.success
            spent[table] = children_s() - before
            print(f"seed {self.seed}: {table} {spent[table]:.0f} cpu-s", flush=True)
        return spent


def more_sft(line: Line, cpu_s: float, seed: int) -> tuple[Path, str, float]:
    """SFT from the boundary policy on new trajectories for about `cpu_s`; its model, version and cost."""
    from assets.tasks.pool import tasks_of
    from assets.trajectories.synthesis import synthesise
    from dagster_project import profiles
    from environments.policies.scripted import NoisyTeacher
    from environments.verifiers.outcome import OutcomeVerifier
    from environments.world import WorldPool
    from environments.worlds.catalogue import world_maker
    from resources.checkpoints import read_checkpoint
    from training.checkpoint import MODEL, read_manifest
    from training.runs import SftRun

    parent = read_checkpoint(line.lake, "sft/boundary_policy")
    used = set(line.lake.read("trajectories/seed_trajectories")["task_id"])
    every = tasks_of(line.lake.read("tasks/admitted_tasks").filter(pl.col("split") == "train"))
    tasks = [t for t in every if t.task_id not in used] or every
    pool, budgets = WorldPool(world_maker("atlas")), {t.task_id: 8 for t in tasks}
    folder = line.folder / "more_sft"
    shutil.rmtree(folder, ignore_errors=True)
    found = synthesise(
        tasks, budgets, NoisyTeacher(), pool, OutcomeVerifier(), folder / "teacher",
        seed=100 + seed, batch=512, progress=lambda *_: None,
    )  # fmt: skip
    rows = line.lake.write("bench/more_sft", found.trajectories)

    def trained(name: str, steps: int) -> float:
        """CPU seconds of one run of so many steps."""
        run = SftRun(
            output=folder / name,
            trajectories=rows,
            init=str(parent.model),
            steps=steps,
            learning_rate=ARM_RATE,
            decay=ARM_DECAY,
            threads=profiles.active().trainer.threads,
            seed=seed,
        )
        before = children_s()
        subprocess.run([sys.executable, "-m", "training.sft", str(run.write(folder / f"{name}.toml"))], check=True)
        return children_s() - before

    few, some = trained("few", 10), trained("some", 90)  # a process costs something before its first step
    rate = (some - few) / 80
    steps = max(60, round((cpu_s - few) / rate) + 10)
    cost = trained(f"arm-{steps}", steps)
    model = folder / f"arm-{steps}" / MODEL
    return model, read_manifest(model)["version"], cost


def played(runs: Sequence[RolloutRun]) -> list[pl.DataFrame]:
    """Episodes of rollout runs, played in a process of their own."""
    output = runs[0].output
    plan = RolloutPlan(output=output, runs=[run.write(run.output / "run.toml") for run in runs])
    subprocess.run([sys.executable, "-m", "training.rollouts", str(plan.write(output / "plan.toml"))], check=True)
    return [read_segments(run.output / "episodes") for run in runs]


def judge_with_arm(line: Line, model: Path, version: str, config: Any) -> Any:
    """Scores and gains of boundary, RL and the arm on the suites that `benchmarks/results` used."""
    from assets.benchmarks.evaluation import choose_temperatures, judge, output_of
    from environments.verifiers.outcome import OutcomeVerifier
    from environments.world import WorldPool
    from environments.worlds.catalogue import world_maker
    from resources.checkpoints import read_checkpoint
    from training.trajectories import read_tasks

    models = {"more_sft": (model, version)}
    for name, table in (("boundary", "sft/boundary_policy"), ("rl", "policy/rl_policy")):
        checkpoint = read_checkpoint(line.lake, table)
        models[name] = (checkpoint.model, checkpoint.version)

    def play(suite: str, policy: str, temperature: float, k: int) -> pl.DataFrame:
        run = RolloutRun(
            output=output_of(line.folder / "arm_eval", suite, policy, temperature, k),
            tasks=line.lake.path(f"benchmarks/suite_{suite}"), policy=models[policy][0],
            version=models[policy][1], k=k, temperature=temperature, batch=config.batch, seed=config.seed,
        )  # fmt: skip
        return played([run])[0]

    suites = {s: read_tasks(line.lake.path(f"benchmarks/suite_{s}")) for s in ("dev", "hidden")}
    names = ["boundary", "more_sft", "rl"]
    chosen = choose_temperatures(play, suites["dev"], names, config.temperatures, config.k)
    pool = WorldPool(world_maker("atlas"))
    hidden = {"hidden": suites["hidden"]}
    return judge(play, hidden, chosen, [], pool, OutcomeVerifier(), config.k, config.greedy_k)


def main() -> None:
    """Run the seeds and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="*", default=[6, 7, 8])
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("LOOPWRIGHT_HOME", ".loopwright")))
    parser.add_argument("--arm", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--conditions", default="", help="what the reader must know of this run")
    parser.add_argument("--quick", action="store_true", default=bool(os.environ.get("QUICK")))
    args = parser.parse_args()
    home = args.home.absolute()
    if not (home / "lake" / "tasks").exists():
        raise SystemExit(f"{home} holds no admitted tasks: run `make demo` first, or name its state with --home")
    place, seeds = ("bench-quick", args.seeds[:1]) if args.quick else ("bench", args.seeds)
    for seed in seeds:
        one_seed(home, home / place / f"seed-{seed}", seed, arm=args.arm, settings=QUICK if args.quick else {})
    from tests.bench.loop_rows import write_rows

    write_rows(home / place, seeds, "loop-quick" if args.quick else "loop", args.conditions)


def one_seed(home: Path, folder: Path, seed: int, *, arm: bool, settings: dict[str, dict[str, Any]]) -> None:
    """One seed: the line, the arm, and their tables in `folder`."""
    from assets.benchmarks.assets import ResultsConfig
    from assets.benchmarks.tables import GAIN_SCHEMA, SCORE_SCHEMA

    folder.mkdir(parents=True, exist_ok=True)
    line, costs = Line(home, folder, seed), folder / "cpu.parquet"
    if not costs.exists():
        spent = line.run(settings)
        pl.DataFrame({"asset": list(spent), "cpu_s": list(spent.values())}).write_parquet(costs)
    spent = dict(pl.read_parquet(costs).iter_rows())
    if not arm:
        return
    model, version, cost = more_sft(line, spent["policy/rl_policy"], seed)
    pl.DataFrame({"rl_cpu_s": [spent["policy/rl_policy"]], "arm_cpu_s": [cost]}).write_parquet(
        folder / "arm_cost.parquet"
    )
    print(f"seed {seed}: more_sft {cost:.0f} cpu-s against RL's {spent['policy/rl_policy']:.0f}", flush=True)
    judged = judge_with_arm(line, model, version, ResultsConfig(seed=seed, **settings.get("benchmarks/results", {})))
    pl.DataFrame(judged.scores, schema=SCORE_SCHEMA).write_parquet(folder / "arm_scores.parquet")
    pl.DataFrame(judged.gains, schema=GAIN_SCHEMA).write_parquet(folder / "arm_gains.parquet")


if __name__ == "__main__":
    main()
