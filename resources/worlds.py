"""Worlds that are read from a folder: where their data lie."""

from pathlib import Path

import dagster as dg
from pydantic import ConfigDict

from environments.worlds.catalogue import Folders


class WorldFolders(dg.ConfigurableResource):
    """Where the data of `retail`, `airline` and `atlas_places` lie; the other worlds need nothing."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    tau2: str = ""
    """A tau2-bench checkout or a folder of its domains; empty: there is none."""
    places: str = ""
    """Real places in the shape of CrossWOZ's databases; empty: there are none."""

    def folders(self) -> Folders:
        """Opens the worlds by name; goes to other processes as it is."""
        return Folders(*(Path(said) if said else None for said in (self.tau2, self.places)))
