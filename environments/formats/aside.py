"""What an import leaves out, and why: named, never passed over."""

from typing import NamedTuple


class Aside(NamedTuple):
    """A task of another tool that is not used."""

    name: str
    """As the other tool calls it: Harbor's folder, tau2's id."""
    cause: str
    """Of Harbor's such as `needs_network`, `several_containers`, `no_solution`, `no_image`; of tau2's
    `gold_write_failed`, `not_playable`, `short_fact`, `nothing_to_check`, `curation_failed` or `set_aside`."""
    evidence: str
