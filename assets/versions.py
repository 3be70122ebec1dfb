"""Data versions of what is not a table: a checkpoint, a taxonomy file, a report."""

import hashlib
import json
from collections.abc import Mapping
from typing import TypeAlias

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


def version_of(parts: Mapping[str, Json]) -> str:
    """Hash of what determines an artefact: consumed rows, configuration, seeds, code versions.

    Key order does not matter; keep clocks and paths out, or identical work looks like a change.

    Args:
        parts: for example `{"rows": digest, "config": config.model_dump(), "base": upstream_version}`.
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
