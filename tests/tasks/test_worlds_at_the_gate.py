"""The gate of the line examines tasks of any world, those among them that are read from a folder."""

from pathlib import Path

import dagster as dg

from assets.tasks.assets import AdmittedTasksConfig, _through_the_gate
from environments.gate.finding import Kind
from environments.worlds.tau2_tasks import tau2_tasks
from resources.endpoints import ChatEndpoint
from resources.lake import Lake
from resources.worlds import WorldFolders
from tests.environments.builders import task_of
from tests.environments.tau2_folders import small_tau2


def test_imported_tau2_tasks_are_examined_beside_those_of_atlas(tmp_path: Path) -> None:
    folder = small_tau2(tmp_path / "tau2")
    imported = [t for domain in ("airline", "retail") for t in tau2_tasks(domain, folder, conversation=False).tasks]
    tasks = [task_of("flight"), *imported]
    found = _through_the_gate(
        dg.build_asset_context(),
        AdmittedTasksConfig(workers=1, sample=0),
        Lake(root=str(tmp_path / "lake")),
        ChatEndpoint(),
        tasks,
        WorldFolders(tau2=str(folder)),
    )
    assert {t.world for t in tasks} == {"atlas", "airline", "retail"}
    assert found.findings.keys() == {t.task_id for t in tasks}
    kinds = {task_id: {f.kind for f in own} for task_id, own in found.findings.items()}
    assert all({Kind.SOUND, Kind.CHEAT} <= own for own in kinds.values())
    assert {t.world for t in found.admitted} >= {"airline", "retail"}
