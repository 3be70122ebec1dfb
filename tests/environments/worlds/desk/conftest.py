"""Amounts of desk are euros to the veto, which takes units from a table of its own."""

import pytest

from environments.verifiers import veto
from environments.worlds.desk.world import DeskWorld


@pytest.fixture(autouse=True, scope="session")
def _units_of_desk() -> None:
    veto.UNIT_OF.update(DeskWorld.units)
