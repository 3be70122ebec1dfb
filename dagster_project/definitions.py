"""Composition root: everything Dagster loads, and nothing else."""

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

defs = dg.Definitions(
    assets=dg.load_assets_from_package_module(assets, include_specs=True),
    asset_checks=dg.load_asset_checks_from_package_module(assets),
    jobs=JOBS,
    schedules=SCHEDULES,
    sensors=SENSORS,
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
