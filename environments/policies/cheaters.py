"""All the ways to cheat that the gate tries, in one list."""

from collections.abc import Mapping, Sequence
from typing import Final

from environments.policies.garbage import Garbage, Unparsable
from environments.policies.gold_reader import GoldReader
from environments.policies.guessing import Guess, NoLook, OneLook
from environments.policies.idle import Hang, ImmediateStop, NoOp
from environments.policies.random_tools import RandomTools
from environments.policies.refusing import blanket_refusals
from environments.policies.rewarding import RewardWriter, VerifierEditor
from environments.policies.script import Cheater
from environments.policies.stuffing import KeywordStuffer
from environments.policies.tampering import tamperers
from environments.policies.telling import Echo, Hedger, Injection, Parrot
from environments.policies.writing import DuplicateWriter, OverWriter
from environments.tool import Tool
from environments.verifiers.claims import VERDICT_WORDS

PLAIN: Final[tuple[type[Cheater], ...]] = (
    NoOp, ImmediateStop, Hang, Garbage, Unparsable, KeywordStuffer, RandomTools, RewardWriter, VerifierEditor,
    GoldReader, Echo, Parrot, Hedger, Injection, OneLook, NoLook,
)  # fmt: skip
"""Those that need to know nothing of the world."""


def cheaters(tools: Mapping[str, Tool], refusal_codes: Sequence[str]) -> list[Cheater]:
    """One policy of each kind, for a world with these tools; yes, no, and a blanket refusal for each of its reasons.

    Where there is a shell, also those that go for tests of others.
    """
    told = [*blanket_refusals(refusal_codes), *(Guess(word) for word in VERDICT_WORDS)]
    shell = tamperers() if "run" in tools else []
    return [*(kind() for kind in PLAIN), *told, DuplicateWriter(tools), OverWriter(tools), *shell]
