"""Tau2's tasks of a domain that has a world here, taken over with what the world's `curation.toml` adds to them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from environments.formats.tau2 import read_domain
from environments.formats.tau2_curation import read_curation
from environments.formats.tau2_import import Imported, imported
from environments.worlds.airline.world import AirlineWorld
from environments.worlds.retail.world import RetailWorld
from environments.worlds.tau2_world import Tau2World

DOMAINS: Final[Mapping[str, type[Tau2World]]] = {"airline": AirlineWorld, "retail": RetailWorld}


def tau2_tasks(domain: str, folder: Path, *, conversation: bool = True) -> Imported:
    """The domain's tasks, those that cannot be used named with the reason.

    Args:
        domain: `airline` or `retail`.
        folder: a tau2 folder.
        conversation: whether a user speaks; otherwise the instruction says all that the user would.

    Raises:
        FileNotFoundError: the folder holds no such domain.
        ValueError: no such domain has a world; or a file of it, or the curation, cannot be read.
    """
    kind = world_of(domain)
    curation = read_curation(Path(__file__).parent / domain / "curation.toml")
    return imported(read_domain(folder, domain), kind(folder), curation, conversation=conversation)


def world_of(domain: str) -> type[Tau2World]:
    """The world of a domain.

    Raises:
        ValueError: it has none; the message lists those that have.
    """
    if domain not in DOMAINS:
        raise ValueError(f"no tau2 domain {domain!r} has a world; there are: {', '.join(DOMAINS)}")
    return DOMAINS[domain]
