"""A part of a benchmark that is run again replaces its own rows and leaves the others."""

from tests.bench.table import merged, row


def test_rows_measured_again_replace_those_of_the_same_name_and_peer_and_others_stay() -> None:
    before = [row("a: speed", 1, "s", command="c", peer=peer) for peer in ("x", "y")] + [row("b", 2, "s", command="c")]
    again = [row("a: speed", 9, "s", command="c", peer="y"), row("new", 3, "s", command="c")]
    found = [(r["what"], r["peer"], r["ours"]) for r in merged(before, again)]
    assert found == [("a: speed", "x", 1), ("a: speed", "y", 9), ("b", "", 2), ("new", "", 3)]
