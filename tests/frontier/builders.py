"""A state folder in which a tiny policy and a few admitted tasks are registered, as a finished line leaves them."""

from collections.abc import Sequence
from pathlib import Path

from environments.task import Task
from resources.checkpoints import checkpoint_frame
from resources.lake import Lake
from resources.registry import Artefact, Registry
from training.checkpoint import publish
from training.tiny import save_tokenizer
from training.trajectories import tasks_frame


def opened(home: Path) -> tuple[Lake, Registry]:
    """The lake and the registry of a state folder."""
    return Lake(root=str(home / "lake")), Registry(url=f"sqlite:///{home / 'registry.db'}")


def admit(home: Path, tasks: Sequence[Task]) -> None:
    """Make these the admitted tasks."""
    opened(home)[0].write("tasks/admitted_tasks", tasks_frame(tasks))


def register_policy(home: Path, table: str, seed: int = 0) -> str:
    """Publish a tiny policy of random weights as `table`, and register it; returns its version."""
    from tests.training.builders import tiny_model, tiny_tokenizer

    lake, registry = opened(home)
    version = f"{table.rpartition('/')[2]}-{seed}"
    output = lake.folder(table) / "runs" / version
    output.mkdir(parents=True)

    def write(folder: Path) -> None:
        """Fill the checkpoint's folder."""
        tiny_model(seed).save_pretrained(folder)
        save_tokenizer(tiny_tokenizer(), folder)

    publish(output, write, {"version": version, "parent": "scratch", "kind": "sft", "consumed": "none"})
    path = lake.write(table, checkpoint_frame(lake, output))
    registry.record_artefact(Artefact(table, lake.version(table), "table", str(path)))
    return version
