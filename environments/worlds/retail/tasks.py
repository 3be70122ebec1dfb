"""The tasks of retail: tau2's, taken over with what `curation.toml` adds to them."""

from pathlib import Path

from environments.formats.tau2 import read_domain
from environments.formats.tau2_curation import read_curation
from environments.formats.tau2_import import Imported, imported
from environments.worlds.retail.world import RetailWorld

CURATION = Path(__file__).parent / "curation.toml"


def tau2_tasks(folder: Path, *, conversation: bool = True) -> Imported:
    """The domain's tasks, those that cannot be used named with the reason.

    Args:
        folder: a tau2 folder.
        conversation: whether a user speaks; otherwise the instruction says all that the user would.

    Raises:
        FileNotFoundError: the folder holds no retail domain.
        ValueError: a file of it, or the curation, cannot be read.
    """
    domain = read_domain(folder, "retail")
    return imported(domain, RetailWorld(folder), read_curation(CURATION), conversation=conversation)
