"""The demo's log: repeatable, skewed as meant, with a truth that holds, and only in wordings that policies may see."""

import json
import random
import re
from pathlib import Path

import polars as pl
import pytest

from assets.queries.grammar import CHINESE_SHARE, FAMILY_SHARES, TRUTH_COLUMNS, generate_log
from assets.queries.intake import take_in
from assets.queries.noise import PERSONAL, slip, vary, with_personal
from assets.queries.normalise import distinct_queries, fold
from assets.queries.planted import LOG_COLUMNS, planted_truth, write_log
from assets.queries.readers import read_logs
from assets.queries.scrub import mask
from environments.worlds.atlas.data_model import cities, distance_km
from environments.worlds.atlas.families import FAMILIES
from environments.worlds.atlas.tasks import wordings


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    return generate_log(6_000, 3)


def test_the_same_seed_gives_the_same_log_and_another_seed_another() -> None:
    assert generate_log(300, 5).equals(generate_log(300, 5))
    assert not generate_log(300, 5).equals(generate_log(300, 6))


def test_every_family_is_there_and_weather_leads(log: pl.DataFrame) -> None:
    counts = dict(log["family"].value_counts().iter_rows())
    assert set(counts) == set(FAMILY_SHARES) <= set(FAMILIES)
    assert max(counts, key=lambda family: counts[family]) == "weather"


def test_shares_are_as_stated(log: pl.DataFrame) -> None:
    shares = {kind: n / len(log) for kind, n in log["kind"].value_counts().iter_rows()}
    assert shares["repeat"] == pytest.approx(0.35, abs=0.03)
    assert shares["near_copy"] == pytest.approx(0.15, abs=0.02)
    assert log["text"].str.contains(r"\p{Han}").mean() == pytest.approx(CHINESE_SHARE, abs=0.05)
    assert (log["personal"].list.len() > 0).mean() == pytest.approx(0.025, abs=0.01)
    assert log.filter(pl.col("context").is_not_null())["kind"].unique().to_list() == ["follow_up"]


def test_popularity_has_a_head_and_a_long_tail(log: pl.DataFrame) -> None:
    support = log.group_by("text").len()["len"].sort(descending=True)
    assert support[0] > 50
    assert (support == 1).mean() > 0.5


def test_cities_of_one_query_are_near_each_other(log: pl.DataFrame) -> None:
    known = {city.name: city for city in cities().values()}
    flights = map(json.loads, log.filter(pl.col("family") == "flight")["slots"].unique().to_list())
    far = [distance_km(known[s["a"]], known[s["b"]]) > 2_500 for s in flights if {"a", "b"} <= set(s)]
    assert sum(far) < 0.05 * len(far)  # a few cities lie far from all others


def test_the_truth_names_what_the_text_says() -> None:
    log = generate_log(2_000, 9).filter((pl.col("kind") == "task") & ~pl.col("text").str.contains(r"\p{Han}"))
    said = 0
    for text, slots in log.select("text", "slots").iter_rows():
        names = [value for name, value in json.loads(slots).items() if name in "abcp"]
        said += all(name.casefold() in text.casefold() for name in names)
    assert said / len(log) > 0.97  # the rest has a slip in a name


def test_only_training_wordings_are_used() -> None:
    def shapes(split: str) -> set[str]:
        texts = [t for by_split in wordings().values() for t in by_split[split]]
        plain = [re.sub(r"\{\w\}|\[[^\]]*\]", "X", t) for t in texts]
        return set(fold(pl.Series(plain)).to_list())

    assert not shapes("train") & (shapes("dev") | shapes("hidden"))


def test_broken_lines_land_in_the_quarantine_and_the_truth_finds_its_rows(log: pl.DataFrame, tmp_path: Path) -> None:
    numbers = write_log(log, tmp_path / "log.jsonl", 3)
    reading = read_logs(str(tmp_path / "log.jsonl"), LOG_COLUMNS)
    assert len(reading.rows) == len(log)
    assert reading.quarantine["cause"].n_unique() == 6
    taken = take_in(reading.rows, salt="s")
    truth = planted_truth(log, numbers, taken.rows)
    assert truth.columns == ["raw_id", *TRUTH_COLUMNS]
    assert len(truth) == len(log)
    joined = taken.rows.join(truth, on="raw_id").sort("source_row")
    assert joined["slots"].to_list() == log["slots"].to_list()
    assert sum(taken.scrubbed.values()) == log["personal"].list.len().sum()
    assert len(distinct_queries(taken.rows).queries) < 0.8 * len(log)


@pytest.mark.parametrize("kind", sorted(PERSONAL))
def test_planted_data_is_what_the_scrubber_looks_for(kind: str) -> None:
    rng = random.Random(1)
    for value in (PERSONAL[kind][0](rng) for _ in range(300)):
        assert mask(f"well, {value}") == f"well, <{kind}>", value


def test_a_line_with_personal_data_says_which() -> None:
    text, kind = with_personal("Weather in Paris?", False, random.Random(2))
    assert f"<{kind}>" in mask(text)
    assert text.startswith("Weather in Paris")


def test_a_slip_changes_one_word_and_names_seldom() -> None:
    rng = random.Random(4)
    names = frozenset({"Paris"})
    slipped = [slip("weather tomorrow Paris", names, rng) for _ in range(400)]
    changed = [
        [a != b for a, b in zip(("weather", "tomorrow", "Paris"), text.split(), strict=True)] for text in slipped
    ]
    assert max(map(sum, changed)) == 1
    assert sum(c[2] for c in changed) < 0.12 * len(changed)
    assert slip("in an hour", frozenset(), random.Random(1)) != "in an hour"
    assert slip("at 10 am", frozenset(), random.Random(1)) == "at 10 am"


def test_a_near_copy_keeps_its_numbers() -> None:
    rng = random.Random(5)
    for _ in range(200):
        assert "240" in vary("Is there a flight to Rome on June 12 under 240 euros?", frozenset({"Rome"}), rng)
