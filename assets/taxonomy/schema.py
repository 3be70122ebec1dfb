"""The schema of a taxonomy file: what each node must hold, with faults that name file, line and field.

Below `tree.py`. Read from YAML's node graph, not from plain values: a key written twice, an unquoted `no` or `12` in
place of a text, and a misspelt field are faults with a line, not silent surprises. One reading finds all of them.

Languages: a tree is in English and Chinese unless a node says otherwise (`languages: [en]` or `[zh]`; `en` stands for
every text without Chinese characters), which then holds for all below it. Where one language is stated, each leaf needs
as many examples, all of them may be in that language, and the name in the other one may be left out: it is the same in
both.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

MIN_EXAMPLES, MIN_CHINESE = 6, 2
DEEPEST: Final = 50
"""Levels of nesting from which on a file that could not be read is called too deep. Ours."""
_ID: Final = re.compile(r"[a-z][a-z0-9_]*")
_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_INNER: Final = {"id", "name", "definition", "children"}
_LEAF: Final = {"id", "name", "definition", "examples", "counter_examples", "synonyms"}
_OPTIONAL: Final = {"ours", "languages"}
_TEXT: Final = "tag:yaml.org,2002:str"
LANGUAGES: Final = ("en", "zh")
_WANTED: Final = {
    LANGUAGES: f", {MIN_CHINESE} of them Chinese, and some English",
    ("en",): ", some of them English",
    ("zh",): f", {MIN_CHINESE} of them Chinese",
}


class TaxonomyError(ValueError):
    """A taxonomy's files do not follow the schema; one fault per line."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("the taxonomy has faults:\n" + "\n".join(f"  {fault}" for fault in faults))
        self.faults = faults


@dataclass(frozen=True)
class Entry:
    """One node of a file, checked."""

    id: str
    name_en: str
    name_zh: str
    definition: str
    where: str
    """File and line."""
    children: tuple["Entry", ...] = ()
    examples: tuple[str, ...] = ()
    counter_examples: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    ours: bool = False
    languages: tuple[str, ...] = ("en", "zh")
    """Languages that its examples and names are in."""


def read_branch(path: Path, faults: list[str]) -> Entry | None:
    """Read one level-1 branch, adding what is wrong to `faults`; None where nothing could be read."""
    root = read_nodes(path, faults, needed=_INNER, what="a branch")
    return None if root is None else NodeReader(path.name, faults).entry(root, "branch")


def read_nodes(path: Path, faults: list[str], *, needed: set[str], what: str) -> yaml.Node | None:
    """The node graph of a file; None, with a fault, where it is not UTF-8, not YAML, nested too deeply or empty.

    Args:
        path: the file.
        faults: what is wrong is added here.
        needed: fields that `what` must have, for the reader of the fault.
        what: the file holds, for example "a branch".
    """
    content = path.read_bytes()
    try:
        text = content.decode()
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        faults.append(f"{path.name}:{line_at(content, error.start)}: not UTF-8 (byte {error.start}): save it as UTF-8")
        return None
    except (yaml.YAMLError, RecursionError) as error:
        faults.append(f"{path.name}:{not_yaml(error, text)}")
        return None
    if root is None:
        faults.append(f"{path.name}:1: empty; {what} needs {', '.join(sorted(needed))}")
    return root


def not_yaml(error: yaml.YAMLError | RecursionError, text: str) -> str:
    """What is wrong with a text that could not be read as YAML, after the number of its line."""
    if isinstance(error, RecursionError):
        return f"{_deep_line(text)}: nested deeper than {DEEPEST} levels"
    if isinstance(error, yaml.MarkedYAMLError):
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        return f"{line}: not YAML: {error.problem}"
    line = line_at(text.encode(), len(text[: getattr(error, "position", 0)].encode()))
    return f"{line}: not YAML: {getattr(error, 'reason', error)}"


def line_at(content: bytes, byte: int) -> int:
    """The line, from 1, in which a byte stands."""
    return content.count(b"\n", 0, byte) + 1


def _deep_line(text: str) -> int:
    """The line in which a text is nested deeper than anybody writes."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            return int(event.start_mark.line) + 1
    return 1


class NodeReader:
    """Walks the node graph of one file."""

    def __init__(self, file: str, faults: list[str]) -> None:
        self.file = file
        self.faults = faults
        self.languages: tuple[str, ...] = LANGUAGES
        self._open: list[yaml.Node] = []

    def fault(self, node: yaml.Node, field: str, problem: str) -> None:
        """Note a fault at this node."""
        self.faults.append(f"{self.at(node)}: {field}: {problem}")

    def at(self, node: yaml.Node) -> str:
        """File and line of a node."""
        return f"{self.file}:{node.start_mark.line + 1}"

    def entry(self, node: yaml.Node, place: str) -> Entry:
        """A node of the taxonomy with all its children."""
        if any(node is one for one in self._open):
            self.fault(node, place, "stands within itself: an alias (*) may not name a node that holds it")
            return Entry("", "", "", "", self.at(node))
        self._open.append(node)
        keys = self.mapping(node, place)
        above = self.languages
        if "languages" in keys:
            self.languages = self.stated_languages(keys["languages"])
        needed = _INNER if "children" in keys or place == "branch" else _LEAF
        self.complete(node, place, keys, needed)
        made = self.checked(node, keys, needed)
        self.languages = above
        self._open.pop()
        return made

    def checked(self, node: yaml.Node, keys: dict[str, yaml.Node], needed: set[str]) -> Entry:
        """A node whose fields are known, with all its children."""
        ident = self.ident(keys.get("id"))
        names = self.names(keys.get("name"))
        children = self.items(keys.get("children"), "children")
        lists = {f: self.texts(keys.get(f), f) for f in ("examples", "counter_examples", "synonyms")}
        if "examples" in keys and needed is _LEAF:
            self.enough(keys["examples"], lists["examples"])
        return Entry(
            ident,
            *names,
            self.text(keys.get("definition"), "definition"),
            where=self.at(node),
            children=tuple(self.entry(child, f"children[{i}]") for i, child in enumerate(children)),
            ours=self.flag(keys.get("ours")),
            examples=lists["examples"],
            counter_examples=lists["counter_examples"],
            synonyms=lists["synonyms"],
            languages=self.languages,
        )

    def stated_languages(self, node: yaml.Node) -> tuple[str, ...]:
        """The languages that a branch is kept in."""
        stated = self.texts(node, "languages")
        if unknown := sorted(set(stated) - set(LANGUAGES)):
            self.fault(node, "languages", f"{', '.join(unknown)} is not known; allowed: {', '.join(LANGUAGES)}")
        return tuple(language for language in LANGUAGES if language in stated) or LANGUAGES

    def names(self, node: yaml.Node | None) -> tuple[str, str]:
        """A node's name in English and Chinese; in a branch of one language one of them may stand for both."""
        keys = self.mapping(node, "name") if node is not None else {}
        if node is not None:
            needed = set(self.languages)
            self.complete(node, "name", keys, needed, optional=set(LANGUAGES) - needed)
        english, chinese = (self.text(keys.get(language), f"name.{language}") for language in LANGUAGES)
        return english or chinese, chinese or english

    def mapping(self, node: yaml.Node, field: str) -> dict[str, yaml.Node]:
        """The fields of a mapping; a key written twice is a fault."""
        if not isinstance(node, yaml.MappingNode):
            self.fault(node, field, "must be a mapping of fields")
            return {}
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.fault(key, field, "the name of a field must be a text, not a list or mapping")
                continue
            if key.value in found:
                self.fault(key, str(key.value), "is there twice")
            found[str(key.value)] = value
        return found

    def complete(
        self, node: yaml.Node, field: str, keys: dict[str, yaml.Node], needed: set[str], optional: set[str] = _OPTIONAL
    ) -> None:
        """All needed fields are there and no others."""
        if isinstance(node, yaml.MappingNode):
            for name in sorted(needed - set(keys)):
                self.fault(node, name, f"is missing; {field} needs {', '.join(sorted(needed))}")
            for name in sorted(set(keys) - needed - optional):
                self.fault(keys[name], name, f"is not known here; allowed: {', '.join(sorted(needed | optional))}")

    def items(self, node: yaml.Node | None, field: str) -> list[yaml.Node]:
        """The items of a list that is not empty."""
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            self.fault(node, field, "must be a list with at least one item")
            return []
        return list(node.value)

    def texts(self, node: yaml.Node | None, field: str) -> tuple[str, ...]:
        """A list of texts, none twice."""
        found = [self.text(item, f"{field}[{i}]") for i, item in enumerate(self.items(node, field))]
        for text in {t for t in found if t and found.count(t) > 1}:
            self.fault(node, field, f"{text!r} is there twice")
        return tuple(text for text in found if text)

    def text(self, node: Any, field: str) -> str:
        """A text that is not empty."""
        if node is None:
            return ""
        if not isinstance(node, yaml.ScalarNode) or node.tag != _TEXT:
            self.fault(node, field, f"must be a text, not {_shown(node)}; put it in quotes")
            return ""
        if not (text := " ".join(node.value.split())):
            self.fault(node, field, "is empty")
        return text

    def ident(self, node: yaml.Node | None) -> str:
        """A node's id."""
        text = self.text(node, "id")
        if text and (not _ID.fullmatch(text) or text == "other"):
            self.fault(
                node, "id", f"{text!r} must be lower case with underscores; 'other' is kept for every node's Other"
            )
        return text

    def flag(self, node: Any, field: str = "ours") -> bool:
        """An optional true or false."""
        if node is None:
            return False
        if not isinstance(node, yaml.ScalarNode) or node.value not in ("true", "false"):
            self.fault(node, field, f"must be true or false, not {_shown(node)}")
        return bool(node.value == "true")

    def enough(self, node: yaml.Node, examples: tuple[str, ...]) -> None:
        """As many examples as an annotator needs, in every language of the branch."""
        chinese = sum(bool(_HAN.search(e)) for e in examples)
        lacking = ("zh" in self.languages and chinese < MIN_CHINESE) or (
            "en" in self.languages and chinese == len(examples)
        )
        if len(examples) < MIN_EXAMPLES or lacking:
            needed = f"at least {MIN_EXAMPLES}" + _WANTED[self.languages]
            self.fault(node, "examples", f"has {len(examples)}, {chinese} of them Chinese; needs {needed}")


def _shown(node: yaml.Node) -> str:
    return repr(node.value) if isinstance(node, yaml.ScalarNode) else "a list or mapping"
