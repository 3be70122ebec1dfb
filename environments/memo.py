"""What was worked out for a word, kept: for functions that are asked millions of times about few things."""

from collections.abc import Callable, Hashable
from typing import TypeVar

Asked = TypeVar("Asked", bound=Hashable)
Found = TypeVar("Found")


class Memo(dict[Asked, Found]):
    """The values of a pure function as `memo[asked]`.

    Cheaper to ask than `functools.lru_cache`, which puts its entries into a new order each time; instead, all is
    forgotten when it is full.
    """

    def __init__(self, function: Callable[[Asked], Found], *, most: int) -> None:
        """Keep up to `most` values of `function`."""
        super().__init__()
        self.function = function
        self.most = most

    def __missing__(self, asked: Asked) -> Found:
        """Work it out; what is asked for was not asked before, or is forgotten."""
        if len(self) >= self.most:
            self.clear()
        found = self[asked] = self.function(asked)
        return found
