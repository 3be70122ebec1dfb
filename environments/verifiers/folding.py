"""Text with its digits, letters and punctuation in ASCII, sign for sign, so that places in it stay where they are.

Chinese keyboards write 10：30 and １５２ where others write 10:30 and 152, and a number in the digits of another script
or in mathematical bold is the same number: what a rule cannot read, it cannot veto either.
"""

import re
import unicodedata

_BETWEEN_DIGITS = re.compile(r"(?<=\d)，(?=\d)")
_KEPT = "、"
"""For a comma of Chinese text between two numbers, which is no thousands separator."""


class _Folds(dict[int, int]):
    """Sign -> the sign it is read as, worked out when it is first met."""

    def __missing__(self, code: int) -> int:
        self[code] = ord(_folded_sign(chr(code)))
        return self[code]


def _folded_sign(sign: str) -> str:
    if sign.isdecimal():
        return str(unicodedata.decimal(sign))
    if unicodedata.decomposition(sign).startswith(("<wide>", "<narrow>", "<font>")):
        plain = unicodedata.normalize("NFKC", sign)
        return plain if len(plain) == 1 else sign
    return sign


_FOLDS = _Folds()


def folded(text: str) -> str:
    """`text` as the rules read it, of the same length."""
    return text if text.isascii() else _BETWEEN_DIGITS.sub(_KEPT, text).translate(_FOLDS)
