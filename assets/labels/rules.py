"""The annotator's rules: which leaves the features of a request speak for, and which are only a means to another."""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from assets.labels.features import SLOTS
from assets.labels.words import lexicon, read_yaml

IRRELEVANT = "irrelevant"
"""The label of a request that travel and map tools are not for; not a leaf of the taxonomy."""


class Rule(NamedTuple):
    """One rule of `rules.yaml`: a request must have a feature of every group of `needs`, and none of `refuses`."""

    leaf: str
    needs: tuple[frozenset[str], ...]
    refuses: frozenset[str]
    absorbs: frozenset[str]

    def speaks(self, features: frozenset[str]) -> bool:
        """Whether a request with these features satisfies the rule."""
        return not (self.refuses & features) and all(group & features for group in self.needs)


@lru_cache(maxsize=100_000)
def spoken_for(features: frozenset[str], known: frozenset[str]) -> tuple[str, ...]:
    """The leaves that the rules name for a request, most telling first, without those that another absorbs.

    Args:
        features: of the request (`assets.labels.features`).
        known: leaves that the taxonomy in force has; rules for others are silent.
    """
    speaking = [rule for rule in rules() if rule.leaf in known and rule.speaks(features)]
    absorbed = frozenset[str]().union(*(rule.absorbs for rule in speaking))
    leaves = dict.fromkeys(rule.leaf for rule in speaking if rule.leaf not in absorbed)
    return (IRRELEVANT,) if IRRELEVANT in leaves else tuple(leaves)


@cache
def rules() -> tuple[Rule, ...]:
    """`rules.yaml` as read, in its order.

    Raises:
        ValueError: a rule names a feature that no request can have.
    """
    return tuple(_rule(entry, position) for position, entry in enumerate(read_yaml("rules.yaml")["rules"]))


def _rule(entry: Mapping[str, Any], position: int) -> Rule:
    needs = _groups(entry["all"], position)
    refuses = frozenset[str]().union(*_groups(entry.get("none", ()), position))
    return Rule(entry["leaf"], needs, refuses, frozenset(entry.get("absorbs", ())))


def _groups(listed: Sequence[str], position: int) -> tuple[frozenset[str], ...]:
    groups = tuple(frozenset(names.split("|")) for names in listed)
    unknown = sorted(frozenset[str]().union(*groups) - SLOTS - set(lexicon()["signals"]))
    if unknown:
        allowed = ", ".join(sorted(SLOTS | set(lexicon()["signals"])))
        raise ValueError(
            f"rules.yaml, rule {position + 1}: no feature is called {', '.join(unknown)}; there are: {allowed}"
        )
    return groups
