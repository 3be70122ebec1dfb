"""An accepted leaf, written into its branch's file: comments, order and layout of what stands there are kept.

The tree with the new leaf is read back by the strict schema before any file changes.
"""

import io
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from yaml import SafeLoader, ScalarNode

from assets.taxonomy.drafts import Branches, fields_of, leaves_of, read_branches, write_branches
from assets.taxonomy.induction import branch_of
from assets.taxonomy.proposals import Kept, Proposal, ProposalError, Status, read_proposals, write_proposal
from assets.taxonomy.schema import Entry
from assets.taxonomy.tree import load_taxonomy
from training.durable import write_durably

_RESOLVER: Final = SafeLoader("")
_TEXT: Final = "tag:yaml.org,2002:str"


def graft_accepted(proposals: Path, tree: Path) -> Kept:
    """Write every accepted proposal that is not in the tree yet into its branch's file.

    What cannot be written stays accepted and is tried again the next time; a leaf that stands there since a proposal
    could not be marked as written is only marked.

    Raises:
        ProposalError: a file is no proposal.
        TaxonomyError: the tree has faults already.
    """
    done: list[Proposal] = []
    failed: dict[str, OSError | ProposalError] = {}
    for one in read_proposals(proposals):
        if one.status is Status.ACCEPTED and not one.written:
            try:
                if not _stands(one, tree):
                    graft(one, tree)
                write_proposal(proposals, one.model_copy(update={"written": True}))
                done.append(one)
            except (OSError, ProposalError) as error:
                failed[one.key] = error
    return Kept(done, failed)


def _stands(proposal: Proposal, tree: Path) -> bool:
    """Whether the tree has this very leaf."""
    key = proposal.key if proposal.parent else f"{proposal.id}.{proposal.id}"
    leaf = leaves_of(read_branches(tree)).get(key)
    said = (proposal.name.en, proposal.name.zh, proposal.definition)
    return leaf is not None and (leaf.name_en, leaf.name_zh, leaf.definition) == said


def graft(proposal: Proposal, tree: Path) -> Path:
    """Write one leaf into the tree; returns the file that changed.

    Raises:
        ProposalError: its parent is not there, its id is taken, or its examples are too few or another leaf's.
    """
    branches = read_branches(tree)
    leaf = proposal.leaf([text for entry in leaves_of(branches).values() for text in entry.examples])
    if not proposal.parent:
        return _new_branch(proposal, leaf, branches, tree)
    path = _file_of(proposal, tree)
    text = _with_leaf(path.read_text(encoding="utf-8"), proposal, leaf, _languages(branches, proposal.parent))
    _replace(path, text, tree, proposal)
    return path


def _new_branch(proposal: Proposal, leaf: Entry, branches: Branches, tree: Path) -> Path:
    if proposal.id in {branch.id for branch in branches}:
        raise ProposalError(
            f"{proposal.key}: the tree has a branch of that id: give the proposal another id or a parent"
        )
    branch = branch_of(proposal.id, proposal.name.en, [leaf])
    return write_branches_beside((branch,), tree)


def write_branches_beside(branches: Branches, tree: Path) -> Path:
    """Write a branch's file into a tree that has others."""
    with tempfile.TemporaryDirectory() as scratch:
        [made] = write_branches(branches, Path(scratch) / "tree")
        final = tree / made.name
        write_durably(final, made.read_text(encoding="utf-8"))
    return final


def _file_of(proposal: Proposal, tree: Path) -> Path:
    branch = proposal.parent.partition(".")[0]
    for path in sorted(tree.glob("*.yaml")):
        if path.is_file() and (read := read_branches_of(path)) and read.id == branch:
            return path
    raise ProposalError(f"{proposal.key}: no file of {tree} is the branch {branch!r}: correct `parent` in its file")


def read_branches_of(path: Path) -> Entry | None:
    """One branch of a tree that is known to be without faults."""
    from assets.taxonomy.schema import read_branch

    return read_branch(path, [])


def _languages(branches: Branches, parent: str) -> tuple[str, ...]:
    """The languages that hold below a node."""
    entries: tuple[Entry, ...] = branches
    languages: tuple[str, ...] = ("en", "zh")
    for ident in parent.split("."):
        found = next((entry for entry in entries if entry.id == ident), None)
        if found is None:
            break
        entries, languages = found.children, found.languages
    return languages


def _with_leaf(text: str, proposal: Proposal, leaf: Entry, languages: tuple[str, ...]) -> str:
    """A branch's file with one more leaf at the end of its parent's children."""
    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 120
    editor.indent(mapping=2, sequence=4, offset=2)
    root = editor.load(text)
    node: Any = root
    for ident in proposal.parent.split(".")[1:]:
        node = next((child for child in node.get("children", []) if child["id"] == ident), None)
        if node is None:
            raise ProposalError(f"{proposal.key}: the branch has no node {proposal.parent!r}: correct `parent`")
    if "children" not in node:
        raise ProposalError(f"{proposal.key}: {proposal.parent!r} is a leaf and has no children: correct `parent`")
    if proposal.id in {child["id"] for child in node["children"]}:
        raise ProposalError(f"{proposal.key}: {proposal.parent!r} has a child {proposal.id!r} already: change `id`")
    node["children"].append(_quoted(fields_of(leaf, languages)))
    written = io.StringIO()
    editor.dump(root, written)
    return written.getvalue()


def _quoted(value: Any) -> Any:
    """Texts that would be read as a number or a truth value, in quotes."""
    if isinstance(value, dict):
        return {key: _quoted(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_quoted(one) for one in value]
    return (
        DoubleQuotedScalarString(value)
        if isinstance(value, str) and _RESOLVER.resolve(ScalarNode, value, (True, False)) != _TEXT
        else value
    )


def _replace(path: Path, text: str, tree: Path, proposal: Proposal) -> None:
    """Give the file its new text, if the tree can be read with it."""
    with tempfile.TemporaryDirectory() as scratch:
        for other in (path for path in tree.glob("*.yaml") if path.is_file()):
            shutil.copyfile(other, Path(scratch) / other.name)
        (Path(scratch) / path.name).write_text(text, encoding="utf-8")
        try:
            load_taxonomy(Path(scratch))
        except ValueError as error:
            raise ProposalError(f"{proposal.key} cannot be written into {path.name}: {error}") from error
    write_durably(path, text)
