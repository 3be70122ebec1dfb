"""CLINC150 as the measurements need it: parts, domains, and a few examples of each intent chosen by hash."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence

Parts = dict[str, list[list[str]]]


def part(parts: Parts, name: str) -> tuple[list[str], list[str]]:
    """Texts and intents of one part."""
    return [text for text, _ in parts[name]], [intent for _, intent in parts[name]]


def hashed(texts: Sequence[str], seed: int = 0) -> list[str]:
    """Texts in an order that depends on nothing but themselves and the seed."""
    return sorted(set(texts), key=lambda text: hashlib.blake2b(f"{seed}|{text}".encode(), digest_size=8).digest())


def few_examples(parts: Parts, count: int, seed: int = 0) -> dict[str, list[str]]:
    """`count` training queries of each intent, and the intent's name in words as one more."""
    by_intent = defaultdict(list)
    for text, intent in parts["train"]:
        by_intent[intent].append(text)
    return {
        intent: [*hashed(texts, seed)[:count], intent.replace("_", " ")] for intent, texts in sorted(by_intent.items())
    }


def domain_of(domains: dict[str, list[str]]) -> dict[str, str]:
    """The domain of each intent."""
    return {intent: domain for domain, intents in domains.items() for intent in intents}
