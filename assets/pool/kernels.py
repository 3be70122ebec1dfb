"""The inner loops of the lexical layer, compiled: they walk UTF-8 bytes and build no Python string.

They hold no lock, so that threads run side by side. numba is slow to load: import this only where it runs.

Shapes: C bytes, N texts, L characters of the longest, P permutations, B bands.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from assets.pool.shingles import BITS, CHINESE_N, LATIN_N

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
_WEYL = np.uint64(0x9E3779B97F4A7C15)
_SLACK = 1e-9
"""More than a product of a similarity and a number of n-grams can be off by."""


@njit(cache=True, nogil=True)
def cut(bytes_C: U8, begin: int, end: int, grams_L: U64) -> int:
    """Write the n-grams of one text to `grams_L`, in order, repeats included; returns how many.

    A text of which a third is Chinese, Japanese or Korean is cut into 2-grams, any other into 3-grams; one shorter
    than n is one n-gram as it stands.
    """
    count, wide, at = 0, 0, begin
    while at < end:
        first = np.uint64(bytes_C[at])
        if first < 0x80:
            point, at = first, at + 1
        elif first < 0xE0:
            point = (first & np.uint64(0x1F)) << np.uint64(6) | np.uint64(bytes_C[at + 1] & 0x3F)
            at += 2
        elif first < 0xF0:
            point = (first & np.uint64(0x0F)) << np.uint64(12) | np.uint64(bytes_C[at + 1] & 0x3F) << np.uint64(6)
            point |= np.uint64(bytes_C[at + 2] & 0x3F)
            at += 3
        else:
            point = (first & np.uint64(0x07)) << np.uint64(18) | np.uint64(bytes_C[at + 1] & 0x3F) << np.uint64(12)
            point |= np.uint64(bytes_C[at + 2] & 0x3F) << np.uint64(6) | np.uint64(bytes_C[at + 3] & 0x3F)
            at += 4
        wide += int(0x3040 <= point <= 0x9FFF or 0xAC00 <= point <= 0xD7AF)
        grams_L[count] = point
        count += 1
    size = min(CHINESE_N if 3 * wide >= count else LATIN_N, count)
    grams = count - size + 1
    for i in range(grams):
        code = grams_L[i]
        for j in range(1, size):
            code = code << np.uint64(BITS) | grams_L[i + j]
        grams_L[i] = code
    return grams


@njit(cache=True, nogil=True)
def cut_set(bytes_C: U8, begin: int, end: int, grams_L: U64) -> int:
    """Write the distinct n-grams of one text to `grams_L`, ascending; returns how many."""
    grams = cut(bytes_C, begin, end, grams_L)
    if grams > 96:
        grams_L[:grams].sort()
    else:
        for i in range(1, grams):
            code, j = grams_L[i], i
            while j > 0 and grams_L[j - 1] > code:
                grams_L[j] = grams_L[j - 1]
                j -= 1
            grams_L[j] = code
    distinct = min(1, grams)
    for i in range(1, grams):
        if grams_L[i] != grams_L[distinct - 1]:
            grams_L[distinct] = grams_L[i]
            distinct += 1
    return distinct


@njit(cache=True, nogil=True)
def sign(
    bytes_C: U8, starts_N: I64, rows: tuple[int, int], a_P: U32, b_P: U32, longest: int, signature_NP: U32
) -> None:
    """MinHash signatures of the texts of `rows` (first, past the last), row 0 of the result being the first."""
    grams_L = np.empty(longest + 1, dtype=np.uint64)
    for row in range(rows[0], rows[1]):
        signature_P = signature_NP[row - rows[0]]
        signature_P[:] = np.uint32(0xFFFFFFFF)
        for g in range(cut(bytes_C, starts_N[row], starts_N[row + 1], grams_L)):
            mixed = np.uint32((grams_L[g] * _WEYL) >> np.uint64(32))
            mixed = np.uint32(np.uint32(mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B))
            mixed = np.uint32(np.uint32(mixed ^ (mixed >> np.uint32(13))) * np.uint32(0xC2B2AE35))
            mixed ^= mixed >> np.uint32(16)
            for p in range(len(a_P)):
                value = np.uint32(np.uint32(a_P[p] * mixed) + b_P[p])
                signature_P[p] = min(signature_P[p], value)


@njit(cache=True, nogil=True)
def fold_bands(signature_NP: U32, group_N: U64, first: int, width: int, key_BN: U64) -> None:
    """A key per band: rows with equal keys agree in the `width` values of that band and in group."""
    for row in range(len(signature_NP)):
        for band in range(len(key_BN)):
            key = group_N[first + row] * _WEYL
            for p in range(band * width, (band + 1) * width):
                key ^= np.uint64(signature_NP[row, p])
                key = (key ^ (key >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
                key ^= key >> np.uint64(33)
            key_BN[band, first + row] = key


@njit(cache=True, nogil=True)
def ones_in(word: np.uint64) -> int:
    """How many bits are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def may_reach(left: int, right: int, apart: int, least: float) -> bool:
    """Whether sets of `left` and `right` n-grams, `apart` or more of them in one set only, can be that similar."""
    both = left + right
    large_enough = min(left, right) >= least * max(left, right) - _SLACK
    return bool(large_enough and both - apart >= least * (both + apart) - _SLACK)


@njit(cache=True, nogil=True)
def similarity(left_L: U64, left: int, right_L: U64, right: int, least: float) -> float:
    """Exact Jaccard similarity of ascending sets of `left` and `right` n-grams, or 0 where it cannot reach `least`."""
    if min(left, right) < least * max(left, right) - _SLACK:
        return 0.0
    i = j = common = 0
    while i < left and j < right:
        if left_L[i] == right_L[j]:
            common += 1
            i += 1
            j += 1
        elif left_L[i] < right_L[j]:
            i += 1
        else:
            j += 1
    return common / (left + right - common)


@njit(cache=True, nogil=True)
def sketch(bytes_C: U8, starts_N: I64, longest: int, size_N: I32, sketch_N: U64) -> None:
    """How many n-grams each text has, repeats included, and one bit of 64 for each of them."""
    grams_L = np.empty(longest + 1, dtype=np.uint64)
    for row in range(len(starts_N) - 1):
        size_N[row] = cut(bytes_C, starts_N[row], starts_N[row + 1], grams_L)
        sketch_N[row] = bits_of(grams_L, size_N[row])


@njit(cache=True, nogil=True)
def bits_of(grams_L: U64, count: int) -> np.uint64:
    """One bit of 64 for each n-gram: bits that two texts do not share are n-grams that they do not share."""
    bits = np.uint64(0)
    for g in range(count):
        bits |= np.uint64(1) << ((grams_L[g] * _WEYL) >> np.uint64(58))
    return bits


@njit(cache=True, nogil=True)
def may_be_similar(
    left_N: I32, left_bits_N: U64, left_P: I64, right_N: I32, right_bits_N: U64, right_P: I64, least: float
) -> NDArray[np.bool_]:
    """Whether the sketches of pairs of texts leave room for that Jaccard similarity."""
    found_P = np.empty(len(left_P), dtype=np.bool_)
    for p in range(len(left_P)):
        both = left_N[left_P[p]] + right_N[right_P[p]]  # with repeats: at least as many as without
        apart = ones_in(left_bits_N[left_P[p]] ^ right_bits_N[right_P[p]])
        found_P[p] = both - apart >= least * (both + apart) - _SLACK
    return found_P


@njit(cache=True, nogil=True)
def similarities(
    left_C: U8, left_starts_N: I64, left_P: I64, right_C: U8, right_starts_N: I64, right_P: I64, least: float
) -> NDArray[np.float64]:
    """Exact Jaccard similarity of pairs of texts, or 0 where it cannot reach `least`."""
    longest = 0
    for p in range(len(left_P)):
        longest = max(longest, left_starts_N[left_P[p] + 1] - left_starts_N[left_P[p]])
        longest = max(longest, right_starts_N[right_P[p] + 1] - right_starts_N[right_P[p]])
    left_L, right_L = np.empty(longest + 1, dtype=np.uint64), np.empty(longest + 1, dtype=np.uint64)
    found_P, left = np.empty(len(left_P), dtype=np.float64), 0
    for p in range(len(left_P)):
        if p == 0 or left_P[p] != left_P[p - 1]:
            left = cut_set(left_C, left_starts_N[left_P[p]], left_starts_N[left_P[p] + 1], left_L)
        right = cut_set(right_C, right_starts_N[right_P[p]], right_starts_N[right_P[p] + 1], right_L)
        found_P[p] = similarity(left_L, left, right_L, right, least)
    return found_P


@njit(cache=True, nogil=True)
def _ends_digit(bytes_C: U8, begin: int, at: int) -> bool:
    """Whether a decimal digit of any common script ends here: ASCII, Arabic, Persian, nine of India, Thai."""
    last = bytes_C[at]
    if last < 0x80:
        return bool(48 <= last <= 57)
    second = bytes_C[at - 1] if at > begin else np.uint8(0)
    if second == 0xD9 or second == 0xDB:
        return bool(0xA0 <= last <= 0xA9 if second == 0xD9 else 0xB0 <= last <= 0xB9)
    if at < begin + 2 or bytes_C[at - 2] != 0xE0:
        return False
    of_india = 0xA5 <= second <= 0xB5 and second % 2 == 1 and 0xA6 <= last <= 0xAF
    return bool(of_india or (second == 0xB9 and 0x90 <= last <= 0x99))


@njit(cache=True, nogil=True)
def digits_of(bytes_C: U8, starts_N: I64, key_N: U64) -> None:
    """A 64-bit key of the numbers that each text writes in digits, in order: texts with other numbers have another."""
    for row in range(len(starts_N) - 1):
        key, inside = np.uint64(0), False
        for at in range(starts_N[row], starts_N[row + 1] + 1):
            digit = at < starts_N[row + 1] and _ends_digit(bytes_C, starts_N[row], at)
            if digit or inside:  # a number ends with what follows it, or with the text
                key = (key ^ np.uint64(bytes_C[at] if digit else 1)) * np.uint64(0xFF51AFD7ED558CCD)
                key ^= key >> np.uint64(32)
            inside = digit
        key_N[row] = key
