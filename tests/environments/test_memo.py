"""A memo asks its function once for each thing, and never holds more than it may."""

from environments.memo import Memo


def test_what_was_worked_out_is_not_worked_out_again() -> None:
    asked: list[int] = []
    squares = Memo(lambda n: asked.append(n) or n * n, most=10)
    assert [squares[n] for n in (3, 4, 3, 3)] == [9, 16, 9, 9]
    assert asked == [3, 4]


def test_a_full_memo_forgets_and_still_answers() -> None:
    squares = Memo(lambda n: n * n, most=4)
    for n in range(100):
        assert squares[n] == n * n
        assert len(squares) <= 4
    assert squares[0] == 0
