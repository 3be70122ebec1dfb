"""The settings of one training or rollout process as TOML, typed and strict."""

import json
import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
)


class Run(BaseModel):
    """What every run states."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    output: Path
    """Folder of the run: model, state to resume from, consumed rows, numbers."""
    world: str = "atlas"
    """World whose tools are rendered and played."""
    seed: int = 0
    """From which every random choice follows."""
    world_folder: Path | None = None
    """Where a world that is read from a folder lies: the tau2 folder of `retail` and `airline`."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a run from TOML.

        Raises:
            FileNotFoundError: no such file.
            ValueError: no TOML, or unknown, missing or ill-typed settings; the message names each of them.
        """
        if not path.exists():
            raise FileNotFoundError(f"no run file at {path}")
        try:
            return cls.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise ValueError(f"{path}: {wrong}. Known settings: {', '.join(cls.model_fields)}") from error
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path} is not TOML: {error}") from error

    def write(self, path: Path) -> Path:
        """Write the run as TOML; strings, numbers and booleans look the same in JSON."""
        settings = self.model_dump(mode="json", exclude_none=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "".join(f"{k} = {json.dumps(v, ensure_ascii=False)}\n" for k, v in settings.items()), encoding="utf-8"
        )
        return path


class SftRun(Run):
    """One supervised run."""

    trajectories: Path
    """Parquet of verified trajectories: trajectory_id, task_id, instruction, tools, steps, answer."""
    init: str = "scratch"
    """`scratch`, or the folder of the model to start from."""
    threads: PositiveInt
    """CPU threads of torch; no default, for a run that is not told the profile's would pass for one that was."""
    steps: PositiveInt = 500
    """Optimiser steps."""
    batch: PositiveInt = 16
    """Trajectories per step."""
    learning_rate: PositiveFloat = 2e-3
    warmup: NonNegativeInt = 20
    """Steps of linear warm-up."""
    decay: Annotated[float, Field(ge=0, le=1)] = 0.3
    """Share of the steps over which the learning rate falls to nothing at the end."""
    weight_decay: NonNegativeFloat = 0.01
    precision: Literal["fp32", "bf16"] = "fp32"
    """`bf16` runs the forward pass under autocast, weights stay fp32; on CPU it is slower for models this small."""
    save_every: PositiveInt = 100
    """Steps between states to resume from."""
    vocabulary: int = 896
    """From scratch: BPE vocabulary before JSON pieces and tool signatures."""
    hidden: PositiveInt = 128
    layers: Annotated[int, Field(ge=2)] = 3
    """From scratch: the first two begin as an induction circuit."""
    heads: PositiveInt = 4


class GrpoRun(Run):
    """One online RL run."""

    tasks: Path
    """Parquet of frontier tasks: task_id, task (JSON), weight."""
    init: str
    """Folder of the policy to start from."""
    threads: PositiveInt
    """CPU threads of torch; no default, as for SFT."""
    steps: PositiveInt = 60
    """Optimiser steps, each on freshly sampled episodes."""
    groups: PositiveInt = 16
    """Tasks per step."""
    generations: Annotated[int, Field(ge=2)] = 8
    """Attempts at each task: one group."""
    learning_rate: PositiveFloat = 5e-4
    temperature: PositiveFloat = 1.0
    beta: NonNegativeFloat = 0.0
    """Weight of the KL to the reference policy."""
    importance_sampling: Literal["token", "sequence"] = "token"
    """`sequence` is GSPO's ratio."""
    loss: Literal["grpo", "dapo", "dr_grpo"] = "dapo"
    refills: NonNegativeInt = 2
    """Spare groups drawn from the frontier, in one further round, for each group of a step without variance."""
    precision: Literal["fp32", "bf16"] = "fp32"
    save_every: PositiveInt = 10


class RolloutRun(Run):
    """K attempts at each task by one policy: probing and evaluation."""

    tasks: Path
    """Parquet of tasks: task_id, task (JSON)."""
    policy: Path
    """Folder of the model."""
    version: str
    """Hash under which its results are kept."""
    k: PositiveInt = 8
    temperature: NonNegativeFloat = 1.0
    batch: PositiveInt = 192
    """Attempts that advance side by side; part of what makes a resumed run equal."""


class RolloutPlan(Run):
    """Several rollout runs in as few processes as possible, so that each starts once."""

    threads: PositiveInt = 1
    """CPU threads of torch in each process."""
    workers: PositiveInt = 1
    """Processes that share the segments of the runs; the episodes are the same for any number."""

    runs: list[Path]
    """Files of the runs, in order."""
