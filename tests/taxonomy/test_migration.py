"""Migration files: what is read from them, and the file, line and field of what is wrong in one."""

from dataclasses import replace
from pathlib import Path

import pytest

from assets.taxonomy.changes import Diff, Kind
from assets.taxonomy.diff import diff
from assets.taxonomy.migration import (
    Entry,
    Migration,
    MigrationError,
    Said,
    check_entries,
    draft,
    entries_for,
    migrations_frame,
    next_file,
    read_migrations,
    said_of,
    stored_migrations,
    write_draft,
)
from assets.taxonomy.stored import version_of
from assets.taxonomy.tree import Taxonomy
from resources.lake import Lake
from tests.taxonomy.builders import taxonomy

TEXT = """\
from: v1
to: v2
changes:
  - kind: split
    from: [a.x]
    into: [a.x.m, a.x.n]
    confirmed: true
"""


def faults(folder: Path, text: str) -> str:
    folder.joinpath("0001.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(MigrationError) as caught:
        read_migrations(folder)
    return str(caught.value)


def test_an_entry_is_read_with_its_place_and_stored_for_later_stages(tmp_path: Path) -> None:
    tmp_path.joinpath("0001.yaml").write_text(TEXT)
    found = read_migrations(tmp_path)
    [entry] = entries_for(found, "v1", "v2")
    assert entry == Entry(Said.SPLIT, ("a.x",), ("a.x.m", "a.x.n"), confirmed=True, where="0001.yaml:4")
    assert entries_for(found, "v2", "v1") == ()
    lake = Lake(root=str(tmp_path / "lake"))
    assert stored_migrations(lake) == ()
    lake.write("taxonomy/migrations", migrations_frame(found))
    assert stored_migrations(lake) == found


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "kind: split",
            "kind: spilt",
            "0001.yaml:4: changes[0].kind: 'spilt' is not known; allowed: rename, split, merge",
        ),
        ("[a.x.m, a.x.n]", "[a.x.m]", "0001.yaml:6: changes[0].into: a split needs two leaves or more, not 1"),
        ("from: [a.x]", "from: a.x", "0001.yaml:5: changes[0].from: must be a list with at least one item"),
        (
            "confirmed: true",
            "confirmed: maybe",
            "0001.yaml:7: changes[0].confirmed: must be true or false, not 'maybe'",
        ),
        ("    confirmed: true\n", "", "0001.yaml:4: confirmed: is missing"),
        ("confirmed", "confirmd", "0001.yaml:7: confirmd: is not known here; allowed: confirmed, from, into, kind"),
        ("to: v2", "to: 12", "0001.yaml:2: to: must be a text, not '12'; put it in quotes"),
        ("to: v2\n", "", "0001.yaml:1: to: is missing; migration needs changes, from, to"),
        (TEXT, "", "0001.yaml:1: empty; a migration needs changes, from, to"),
        (TEXT, "a: [", "0001.yaml:1: not YAML"),
    ],
)
def test_a_fault_is_named_with_file_line_and_field(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in faults(tmp_path, TEXT.replace(old, new))


def test_a_file_of_another_suffix_is_said_and_not_passed_over(tmp_path: Path) -> None:
    tmp_path.joinpath("0002.yml").write_text(TEXT)
    with pytest.raises(MigrationError, match=r"0002\.yml: rename it, a migration file ends in \.yaml"):
        read_migrations(tmp_path)


@pytest.mark.parametrize("kind", ["    kind: spilt", "    kind: [split]", "    kind: 3", "    kind: ''", "    odd: 1"])
def test_a_kind_that_is_not_known_is_the_only_fault_said_of_it(tmp_path: Path, kind: str) -> None:
    said = faults(tmp_path, TEXT.replace("  - kind: split", f"  -{kind[3:]}"))
    assert "kind" in said
    assert "needs one leaf" not in said
    assert "two leaves or more" not in said


def test_a_draft_is_written_once_and_what_a_person_made_of_it_stays(tmp_path: Path) -> None:
    folder = tmp_path / "migrations"
    guesses = [Entry(Said.SPLIT, ("a.x",), ("a.m", "a.n")), Entry(Said.RENAME, ("a.z",), ("a.w",))]
    file = write_draft(folder, "v1", "v2", guesses)
    assert file == folder / "0001.yaml"
    read = entries_for(read_migrations(folder), "v1", "v2")
    assert write_draft(folder, "v1", "v2", read) is None
    first, second = file.read_text().split("- kind: rename")
    file.write_text(f"{first}# mine\n- kind: rename{second}".replace("confirmed: false", "confirmed: true", 1))
    later = Entry(Said.RENAME, ("a.y",), ("a.v",))
    assert write_draft(folder, "v1", "v2", [*read[1:], later]) == file
    found = entries_for(read_migrations(folder), "v1", "v2")
    assert [(entry.before, entry.confirmed) for entry in found] == [
        (("a.x",), True),
        (("a.z",), False),
        (("a.y",), False),
    ]
    assert "# mine" in file.read_text()
    assert write_draft(folder, "v1", "v3", [later]) == folder / "0002.yaml"


BEFORE = {"a.x": ("1", "2", "3", "4"), "a.y": ("5", "6"), "a.z": ("7", "8")}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (Entry(Said.SPLIT, ("a.q",), ("a.y", "a.z")), "from: 'a.q' is no leaf of the tree before"),
        (Entry(Said.MERGE, ("a.x", "a.y"), ("a.q",)), "into: 'a.q' is no leaf of the tree after"),
        (Entry(Said.RENAME, ("a.x",), ("a.y",)), "into: 'a.y' was there before: say merge"),
    ],
)
def test_an_entry_that_the_trees_contradict_is_refused_at_its_place(entry: Entry, said: str) -> None:
    with pytest.raises(MigrationError, match=f"m.yaml:9: {said}"):
        check_entries([Entry(entry.kind, entry.before, entry.after, confirmed=True, where="m.yaml:9")],
                      taxonomy(BEFORE), taxonomy(BEFORE))  # fmt: skip


X, Y, Z = BEFORE.items()
BOTH = ("5", "6", "7", "8")
AFTER = {
    "into children": (
        {"a.x.m": ("1", "2"), "a.x.n": ("3", "4")} | dict([Y, Z]),
        Entry(Said.SPLIT, ("a.x",), ("a.x.m", "a.x.n")),
    ),
    "into siblings": (
        {"a.m": ("1", "2"), "a.n": ("3", "4")} | dict([Y, Z]),
        Entry(Said.SPLIT, ("a.x",), ("a.m", "a.n")),
    ),
    "into a new leaf": (dict([X]) | {"a.both": BOTH}, Entry(Said.MERGE, ("a.y", "a.z"), ("a.both",))),
    "into a leaf that grew": (dict([X]) | {"a.y": BOTH}, Entry(Said.MERGE, ("a.y", "a.z"), ("a.y",))),
    "renamed and edited": (dict([X, Y]) | {"a.w": ("7", "8", "9")}, Entry(Said.RENAME, ("a.z",), ("a.w",))),
}


@pytest.mark.parametrize(("after", "guess"), AFTER.values(), ids=AFTER)
def test_what_ids_and_meanings_cannot_tell_is_proposed_and_counts_once_confirmed(
    tmp_path: Path, after: dict[str, tuple[str, ...]], guess: Entry
) -> None:
    old, new = taxonomy(BEFORE), taxonomy(after)
    found = diff(old, new)
    assert found.proposed == (guess,)
    assert any("not confirmed as" in change.note for change in found.changes)
    next_file(tmp_path).write_text(draft("1", "2", found.proposed).replace("confirmed: false", "confirmed: true"))
    [confirmed] = entries_for(read_migrations(tmp_path), "1", "2")
    said = diff(old, new, [confirmed])
    assert said.proposed == ()
    kinds = {change.kind for change in said.changes}
    assert Kind(str(guess.kind)) in kinds
    assert kinds <= {Kind(str(guess.kind)), Kind.EDIT}
    assert (Kind.EDIT in kinds) == (guess.kind is Said.RENAME)


def test_what_was_confirmed_holds_when_another_leaf_is_edited_afterwards_and_not_where_it_no_longer_fits() -> None:
    old, then = taxonomy(BEFORE), taxonomy(AFTER["into children"][0])
    split = replace(AFTER["into children"][1], confirmed=True)
    stated = [Migration(version_of(old), version_of(then), (split, replace(split, confirmed=False)))]
    assert said_of(stated, old, then) == stated[0].entries
    touched = taxonomy({"a.x.m": ("1", "2"), "a.x.n": ("3", "4"), "a.y": ("5", "one more")} | dict([Z]))
    assert said_of(stated, old, touched) == (split,)
    assert said_of(stated, touched, old) == ()
    assert said_of(stated, old, taxonomy(BEFORE | {"a.new": ("10",)})) == (), "the leaf is there still"


def test_a_second_split_drafted_after_the_first_was_confirmed_leaves_that_confirmed(tmp_path: Path) -> None:
    old, into = taxonomy(BEFORE), {"a.x.m": ("1", "2"), "a.x.n": ("3", "4")}
    once, twice = into | dict([Y, Z]), into | {"a.y.m": ("5",), "a.y.n": ("6",)} | dict([Z])

    def drafted(after: Taxonomy) -> Diff:
        """The way to a tree with all that was written of it confirmed."""
        said = diff(old, after, said_of(read_migrations(tmp_path), old, after))
        file = write_draft(tmp_path, version_of(old), version_of(after), said.proposed)
        assert file is not None
        file.write_text(file.read_text().replace("confirmed: false", "confirmed: true"))
        return diff(old, after, said_of(read_migrations(tmp_path), old, after))

    assert [str(change) for change in drafted(taxonomy(once)).changes] == ["split a.x -> a.x.m, a.x.n"]
    found = drafted(taxonomy(twice))
    assert [str(change) for change in found.changes] == ["split a.x -> a.x.m, a.x.n", "split a.y -> a.y.m, a.y.n"]
    second = tmp_path / "0002.yaml"
    second.write_text(second.read_text().replace("a.y", "a.x").replace("confirmed: true", "confirmed: false"))
    refused = said_of(read_migrations(tmp_path), old, taxonomy(twice))
    assert [entry.confirmed for entry in refused] == [False], "what a newer file says of a leaf counts"


def test_the_next_file_has_the_next_number(tmp_path: Path) -> None:
    assert next_file(tmp_path).name == "0001.yaml"
    tmp_path.joinpath("0007.yaml").write_text("")
    assert next_file(tmp_path).name == "0008.yaml"
