"""Real logs: CLINC150 and SNIPS as one raw log of JSON lines, CrossWOZ's user turns as another."""

import json
import os
import zipfile
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from assets.queries import checks
from assets.queries.assets import RawQueriesConfig, distinct_queries, raw_queries
from resources.lake import Lake

pytestmark = pytest.mark.corpora
CHECKS = [value for value in vars(checks).values() if isinstance(value, dg.AssetChecksDefinition)]


@pytest.fixture(scope="module")
def corpora() -> Path:
    place = os.environ.get("LOOPWRIGHT_CORPORA", "")
    if not place or not Path(place, "queries").is_dir():
        pytest.skip("public corpora: set LOOPWRIGHT_CORPORA to the folder that holds queries/clinc150 and others")
    return Path(place, "queries")


def clinc(corpora: Path) -> list[str]:
    parts = json.loads((corpora / "clinc150" / "data_full.json").read_text(encoding="utf-8"))
    return [text for rows in parts.values() for text, _ in rows]


def line(text: str, encoding: str = "utf-8") -> bytes:
    return json.dumps({"text": text}, ensure_ascii=False).encode(encoding)


def snips(corpora: Path) -> list[bytes]:
    """Lines of each file's texts in its own encoding: PlayMusic is Latin-1."""
    lines: list[bytes] = []
    for path in sorted((corpora / "snips").glob("*.json")):
        encoding = "latin-1" if path.stem == "PlayMusic" else "utf-8"
        for rows in json.loads(path.read_text(encoding=encoding)).values():
            lines += [line("".join(part["text"] for part in row["data"]), encoding) for row in rows]
    return lines


def crosswoz(corpora: Path) -> list[str]:
    with zipfile.ZipFile(corpora / "crosswoz" / "val.json.zip") as packed:
        dialogues = json.loads(packed.read(packed.namelist()[0]))
    return [m["content"] for d in dialogues.values() for m in d["messages"] if m["role"] == "usr"]


def run(lake: Lake, log: Path) -> dict[str, bool]:
    config = dg.RunConfig({"queries__raw_queries": RawQueriesConfig(logs=str(log))})
    result = dg.materialize([raw_queries, distinct_queries, *CHECKS], resources={"lake": lake}, run_config=config)
    return {e.check_name: e.passed for e in result.get_asset_check_evaluations()}


def test_clinc_and_snips_as_one_log_lose_nothing(corpora: Path, tmp_path: Path) -> None:
    lines = [line(text) for text in clinc(corpora)] + snips(corpora)
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"\n".join(lines))
    lake = Lake(root=str(tmp_path / "lake"))
    assert all(run(lake, log).values())
    raw, bad = lake.read("queries/raw_queries"), lake.read("queries/quarantine")
    assert len(raw) + len(bad) == len(lines)
    not_utf8 = bad.filter(pl.col("cause") == "not UTF-8")
    assert 0 < len(not_utf8) < 200  # PlayMusic's Latin-1 names
    queries = lake.read("queries/distinct_queries")
    assert queries["support"].sum() == len(raw)
    assert 0.9 < (queries["language"] == "en").mean() <= 1
    assert raw["text"].str.contains("<(phone|email|card|id)>").sum() == 0
    assert raw["text"].str.contains("<address>").sum() < 10


def test_chinese_travel_turns_are_read_as_chinese(corpora: Path, tmp_path: Path) -> None:
    texts = crosswoz(corpora)
    log = tmp_path / "turns.csv"
    pl.DataFrame({"text": texts}).write_csv(log)
    lake = Lake(root=str(tmp_path / "lake"))
    assert all(run(lake, log).values())
    queries = lake.read("queries/distinct_queries")
    assert queries["support"].sum() + len(lake.read("queries/quarantine")) == len(texts)
    assert (queries["language"] == "zh").mean() > 0.98
