"""Composition root: everything Dagster loads, and nothing else."""

from importlib import import_module
from pkgutil import iter_modules

import dagster as dg

import assets
from assets.config import require_all_settings_taken
from dagster_project import profiles
from dagster_project.jobs import JOBS
from dagster_project.schedules import SCHEDULES
from dagster_project.sensors import SENSORS
from resources.endpoints import ChatEndpoint
from resources.lake import Lake
from resources.registry import Registry
from resources.sandboxes import SandboxSettings
from resources.trainer import Trainer
from resources.worlds import WorldFolders

profile = profiles.bind_active_profile()  # before the stages are imported: their config classes take its sizes
stages = [f"assets.{folder.name}" for folder in iter_modules(assets.__path__) if folder.ispkg]

defs = dg.Definitions(  # of the whole package, Dagster would load every module, also what only a step needs
    assets=dg.load_assets_from_modules([import_module(f"{stage}.assets") for stage in stages]),
    asset_checks=dg.load_asset_checks_from_modules(
        [import_module(f"{package}.checks") for package in ("assets", *stages)]
    ),
    jobs=JOBS,
    schedules=SCHEDULES,
    sensors=SENSORS,
    executor=dg.in_process_executor,  # as in a demo: a process for each step and check starts longer than it works
    resources={
        "lake": Lake(root=str(profiles.home() / "lake")),
        "registry": Registry(url=profiles.registry_url()),
        "trainer": Trainer(**profile.trainer.model_dump()),
        "teacher": ChatEndpoint(**profile.teacher.settings()),
        "sandboxes": SandboxSettings(**profile.sandboxes),
        "judge": ChatEndpoint(**profile.judge.settings()),
        "worlds": WorldFolders(**{name: str(path or "") for name, path in profiles.world_folders()._asdict().items()}),
    },
)
require_all_settings_taken()
