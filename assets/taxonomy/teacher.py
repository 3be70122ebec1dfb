"""A tree named and arranged by a teacher: clusters come from the embeddings, meaning from a language model.

The teacher sees each cluster once (its requests and telling words) and then all names together, which it puts under
level-1 categories. An answer that cannot be used is asked for once more with its fault; after that, and where there is
no answer at all, the cluster keeps its own words and the raw answer is kept beside the result. The teacher is any
function from a prompt to a text.

Source: pipeline stage 2 (LLM induction of level 1).
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Final, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assets.taxonomy.drafts import Branches, id_of, leaves_of, with_changed
from assets.taxonomy.induction import Induced, branch_of
from assets.taxonomy.proposals import Names
from assets.taxonomy.schema import Entry
from environments.budget import BudgetSpent
from environments.transport import NoResult, RequestRefused

_NO_ANSWER: Final = (NoResult, RequestRefused, BudgetSpent)
_OBJECT: Final = re.compile(r"\{.*\}", re.DOTALL)
_LEAST, _MOST = 3, 12


class Ask(Protocol):
    """A teacher: a prompt in, a text out."""

    def __call__(self, prompt: str) -> str:
        """The answer to a prompt.

        Raises:
            NoResult, RequestRefused, BudgetSpent: there is none.
        """
        ...


class Unusable(NamedTuple):
    """An answer that could not be used, twice; or that did not come."""

    what: str
    fault: str
    answer: str
    """As it came; empty where none did."""


class Taught(NamedTuple):
    """A tree as the teacher arranged it."""

    induced: Induced
    unusable: tuple[Unusable, ...]


class Named(BaseModel):
    """What the teacher calls a cluster."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    id: str = Field(min_length=1)
    name_en: str = Field(min_length=1)
    name_zh: str = Field(min_length=1)
    definition: str = Field(min_length=1)
    synonyms: list[str] = Field(default_factory=list)


class _Category(Named):
    leaves: list[str]


class _Categories(BaseModel):
    categories: list[_Category] = Field(min_length=1)


Answer = TypeVar("Answer", bound=BaseModel)


def taught(induced: Induced, ask: Ask, *, least: int = _LEAST, most: int = _MOST) -> Taught:
    """Let a teacher name the leaves of an induced tree and arrange them under level 1.

    Args:
        induced: the tree as the embeddings gave it.
        ask: the teacher; called once per leaf and once for level 1, each at most once more.
        least: smallest number of categories asked for.
        most: largest number of categories asked for.
    """
    unusable: list[Unusable] = []
    old = leaves_of(induced.branches)
    new: dict[str, Entry] = {}
    for dotted, leaf in old.items():
        said = asked(ask, leaf_prompt(leaf.examples, leaf.synonyms), Named, what=dotted, unusable=unusable)
        ident = id_of([said.id], [entry.id for entry in new.values()]) if said else _free_id(leaf.id, new)
        new[dotted] = replace(_renamed(leaf, said), id=ident) if said else replace(leaf, id=ident)
    return Taught(_arranged(induced, new, ask, unusable, least, most), tuple(unusable))


def namer(
    ask: Ask, unusable: list[Unusable]
) -> Callable[[Sequence[str], Sequence[str]], tuple[str, Names, str] | None]:
    """A teacher as `expand` asks it: id, names and definition of a cluster, or None where it gives nothing usable."""

    def _name(examples: Sequence[str], words: Sequence[str]) -> tuple[str, Names, str] | None:
        said = asked(ask, leaf_prompt(examples, words), Named, what=" ".join(words), unusable=unusable)
        return (said.id, Names(en=said.name_en, zh=said.name_zh), said.definition) if said else None

    return _name


def named_anew(before: Branches, after: Branches, ask: Ask, unusable: list[Unusable]) -> Branches:
    """A tree in which a teacher has named the leaves that the tree before did not have; their ids stay as they are."""
    known = leaves_of(before)
    for dotted, leaf in leaves_of(after).items():
        if dotted not in known:
            prompt = leaf_prompt(leaf.examples, leaf.synonyms)
            said = asked(ask, prompt, Named, what=dotted, unusable=unusable)
            after = with_changed(after, dotted, _renamed(leaf, said)) if said else after
    return after


def leaf_prompt(examples: Sequence[str], words: Sequence[str], tags: Sequence[str] = ()) -> str:
    """What the teacher is asked about one cluster."""
    experts = f"\nExperts called it: {', '.join(tags)}\n" if tags else ""
    listed = "\n".join(f"- {text}" for text in examples)
    return _prompt("leaf").format(requests=listed, words=", ".join(words), experts=experts)


def asked(ask: Ask, prompt: str, kind: type[Answer], *, what: str, unusable: list[Unusable]) -> Answer | None:
    """The teacher's answer as `kind`, asked for once more where it is unusable; None if that does not help."""
    said = ""
    try:
        said = ask(prompt)
        found, fault = _read(said, kind)
        if found is None:
            said = ask(_prompt("again").format(prompt=prompt, fault=fault, answer=said))
            found, fault = _read(said, kind)
    except _NO_ANSWER as error:
        found, fault = None, f"no answer: {error}"
    if found is None:
        unusable.append(Unusable(what, fault, said))
    return found


def _read(said: str, kind: type[Answer]) -> tuple[Answer | None, str]:
    inside = _OBJECT.search(said)
    if not inside:
        return None, "there is no JSON object in it"
    try:
        return kind.model_validate(json.loads(inside[0])), ""
    except ValidationError as error:
        first = error.errors()[0]
        return None, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except ValueError as error:
        return None, f"not JSON: {error}"


def _renamed(leaf: Entry, said: Named) -> Entry:
    synonyms = tuple(dict.fromkeys((*said.synonyms, *leaf.synonyms)))
    return replace(leaf, name_en=said.name_en, name_zh=said.name_zh, definition=said.definition, synonyms=synonyms)


def _arranged(
    induced: Induced, new: dict[str, Entry], ask: Ask, unusable: list[Unusable], least: int, most: int
) -> Induced:
    """The new leaves under the teacher's categories; one that it forgot stays with the leaves that it was with."""
    listed = "\n".join(f"- {leaf.id}: {leaf.name_en}. {leaf.definition}" for leaf in new.values())
    prompt = _prompt("level1").format(leaves=listed, least=least, most=most)
    said = asked(ask, prompt, _Categories, what="level 1", unusable=unusable)
    category = {leaf: i for i, one in reversed(list(enumerate(said.categories))) for leaf in one.leaves} if said else {}
    head: dict[str, int | str] = {
        dotted: category.get(leaf.id, _head_of_neighbours(dotted, new, category)) for dotted, leaf in new.items()
    }
    branches: list[Entry] = []
    moved: dict[str, str] = {}
    for key in sorted(set(head.values()), key=str):
        inside = sorted((leaf.id, dotted) for dotted, leaf in new.items() if head[dotted] == key)
        made = _category_branch(said.categories[key] if said and isinstance(key, int) else None, str(key), branches)
        made = (
            branch_of(made.id, made.name_en, [new[dotted] for _, dotted in inside])
            if not made.definition
            else replace(made, children=tuple(new[dotted] for _, dotted in inside), languages=("en", "zh"))
        )
        branches.append(made)
        moved |= {dotted: f"{made.id}.{ident}" for ident, dotted in inside}
    ordered = tuple(sorted(branches, key=lambda branch: branch.id))
    return induced._replace(branches=ordered, leaf={q: moved.get(leaf or "") for q, leaf in induced.leaf.items()})


def _head_of_neighbours(dotted: str, new: dict[str, Entry], category: dict[str, int]) -> int | str:
    branch = dotted.partition(".")[0]
    beside = [
        category[leaf.id] for other, leaf in new.items() if other.startswith(f"{branch}.") and leaf.id in category
    ]
    return max(sorted(set(beside)), key=beside.count) if beside else branch


def _category_branch(said: _Category | None, name: str, before: Sequence[Entry]) -> Entry:
    taken = [branch.id for branch in before]
    if said is None:
        return Entry(id_of([name], taken), name, name, "", where="")
    return Entry(id_of([said.id], taken), said.name_en, said.name_zh, said.definition, where="")


def _free_id(ident: str, new: dict[str, Entry]) -> str:
    return id_of([ident], [entry.id for entry in new.values()])


def _prompt(name: str) -> str:
    return files("assets.taxonomy").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
