"""What people do to a sentence: slips of the finger, lower case, lost punctuation, politeness, and their own data.

Used by `grammar.py` for the demo's log. Every function is pure: what it draws comes from the generator it is given.
"""

import random
import string
from collections.abc import Callable, Mapping
from typing import Final

from assets.queries.personal import luhn

NAME_SLIPS: Final = 0.15
"""Share of slips that may hit a name; ours."""
_KEY_ROWS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEAR_KEYS: Final = {
    key: row[max(0, at - 1) : at] + row[at + 1 : at + 2] for row in _KEY_ROWS for at, key in enumerate(row)
}


def slip(text: str, names: frozenset[str], rng: random.Random) -> str:
    """`text` with one letter dropped, doubled, swapped or mistyped in a word of at least four letters.

    Args:
        text: the sentence.
        names: words that are names; they are hit seldom.
        rng: everything random comes from it.
    """
    words = text.split(" ")
    long = [i for i, w in enumerate(words) if len(w) >= 4 and w.isascii() and w.isalpha()]
    allowed = long if rng.random() < NAME_SLIPS else [i for i in long if words[i] not in names]
    if not allowed:
        return text
    hit = rng.choice(allowed)
    words[hit] = _slipped(words[hit], rng)
    return " ".join(words)


def _slipped(word: str, rng: random.Random) -> str:
    at = rng.randint(1, len(word) - 2)
    kind = rng.randrange(4)
    if kind == 0:
        return word[:at] + word[at + 1 :]
    if kind == 1:
        return word[:at] + word[at] + word[at:]
    if kind == 2:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + rng.choice(_NEAR_KEYS.get(word[at].lower(), "e")) + word[at + 1 :]


def without_end(text: str) -> str:
    """Without the punctuation at its end."""
    return text.rstrip("?.!。？！")


def polite(text: str, rng: random.Random) -> str:
    """With a courtesy before or after."""
    if not text.isascii():
        return rng.choice(("请问", "你好，", "麻烦")) + text if rng.random() < 0.6 else without_end(text) + "，谢谢"
    end = text[-1] if text[-1:] in "?.!" else ""
    after = rng.choice((" please", " thanks", ", thank you"))
    return (
        rng.choice(("hi, ", "hello, ", "please ", "ok so ")) + text
        if rng.random() < 0.5
        else without_end(text) + after + end
    )


def vary(text: str, names: frozenset[str], rng: random.Random) -> str:
    """A near copy: the same request, typed by someone else."""
    edits: tuple[Callable[[str], str], ...] = (
        lambda t: slip(t, names, rng),
        lambda t: slip(t, names, rng),
        str.lower,
        without_end,
        lambda t: polite(t, rng),
        lambda t: t.replace(" ", "  ", 1),
        lambda t: t + rng.choice("?!"),
        lambda t: t.replace("I am", "I'm").replace("What is", "Whats").replace("，", " "),
    )
    for edit in rng.sample(edits, rng.choice((1, 1, 2))):
        text = edit(text)
    return text


def careless(text: str, names: frozenset[str], rng: random.Random) -> str:
    """As typed on a phone: often lower case, often without the end's punctuation, now and then with a slip."""
    if rng.random() < 0.2:
        text = text.lower()
    elif rng.random() < 0.01:
        text = text.upper()
    if rng.random() < 0.2:
        text = without_end(text)
    return slip(text, names, rng) if rng.random() < 0.06 else text


def _digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choices(string.digits, k=count))


def _phone(rng: random.Random) -> str:
    area, local = f"{rng.randint(201, 989)}", _digits(rng, 4)
    shapes = (
        f"{area}-555-{local}",
        f"({area}) 555-{local}",
        f"+1 {area} 555 {local}",
        f"+44 20 7946 {local}",
        f"1{rng.choice('3578')}{_digits(rng, 9)}",
        f"138 {local} {_digits(rng, 4)}",
        f"010-6{_digits(rng, 7)}",
    )
    return rng.choice(shapes)


def _email(rng: random.Random) -> str:
    name = rng.choice(("ann", "bob", "li.wei", "maria", "tom.k", "zhang"))
    return f"{name}{rng.randint(1, 999)}@{rng.choice(('example.com', 'mail.example.org', 'example.cn'))}"


def _card(rng: random.Random) -> str:
    body = rng.choice(("4111", "5500", "6222")) + _digits(rng, 11)
    number = next(body + last for last in string.digits if luhn(body + last))
    gap = rng.choice(("", " ", "-"))
    return gap.join(number[i : i + 4] for i in range(0, 16, 4))


def _identity(rng: random.Random) -> str:
    body = f"110105{rng.randint(1950, 2005)}{rng.randint(1, 12):02d}{rng.randint(1, 28):02d}{_digits(rng, 3)}"
    return body + "10X98765432"[sum(int(c) * (2 ** (17 - i) % 11) for i, c in enumerate(body)) % 11]


def _address(rng: random.Random) -> str:
    street = rng.choice(("Baker", "Elm", "Station", "Maple", "Mill"))
    return f"{rng.randint(1, 400)} {street} {rng.choice(('Street', 'Road', 'Avenue'))}"


PERSONAL: Final[Mapping[str, tuple[Callable[[random.Random], str], tuple[str, ...], tuple[str, ...]]]] = {
    "phone": (_phone, (" my number is {}", " call me at {}", " text {}"), ("，电话{}", "，我的手机是{}", "，联系{}")),
    "email": (_email, (" send it to {}", " my mail is {}"), ("，发到{}", "，邮箱{}")),
    "card": (_card, (" pay with {}", " my card is {}"), ("，卡号{}",)),
    "id": (_identity, (" my id is {}",), ("，身份证{}",)),
    "address": (_address, (" I live at {}", " pick me up at {}"), ("，我住在中山路12号3栋502室",)),
}
"""Per kind: how a value is made, and how people add it in English and in Chinese. All values are invented."""


def with_personal(text: str, chinese: bool, rng: random.Random) -> tuple[str, str]:
    """The text with somebody's data at its end, and the kind of data."""
    kind = rng.choices(list(PERSONAL), (10, 6, 3, 2, 2))[0]
    make, english, mandarin = PERSONAL[kind]
    said = rng.choice(mandarin if chinese else english).format(make(rng))
    return without_end(text) + ("" if chinese else ",") + said, kind
