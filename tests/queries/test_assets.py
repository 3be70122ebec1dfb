"""The stage as Dagster runs it, on a lake of its own: the generated log, a user's log, and logs that cannot be used."""

import json
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from assets.queries import checks
from assets.queries.assets import RawQueriesConfig, distinct_queries, raw_queries
from resources.lake import Lake

CHECKS = [value for value in vars(checks).values() if isinstance(value, dg.AssetChecksDefinition)]


def run(lake: Lake, *, raise_on_error: bool = True, **settings: Any) -> dg.ExecuteInProcessResult:
    config = dg.RunConfig({"queries__raw_queries": RawQueriesConfig(**settings)})
    return dg.materialize(
        [raw_queries, distinct_queries, *CHECKS],
        resources={"lake": lake},
        run_config=config,
        raise_on_error=raise_on_error,
    )


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(root=str(tmp_path / "lake"))


def versions(result: dg.ExecuteInProcessResult) -> dict[str, str]:
    found = (result.asset_materializations_for_node(f"queries__{n}")[0] for n in ("raw_queries", "distinct_queries"))
    return {m.asset_key.to_user_string(): (m.tags or {})["dagster/data_version"] for m in found}


def test_the_generated_log_passes_all_checks(lake: Lake) -> None:
    result = run(lake, lines=1_500)
    evaluations = result.get_asset_check_evaluations()
    assert len(evaluations) == len(CHECKS)
    assert all(e.passed for e in evaluations)
    assert len(lake.read("queries/raw_queries")) == 1_500 == len(lake.read("queries/planted_truth"))
    assert len(lake.read("queries/quarantine")) == 6
    assert lake.read("queries/distinct_queries")["support"].sum() == 1_500 == len(lake.read("queries/occurrences"))


def test_materializing_twice_gives_the_same_versions(lake: Lake) -> None:
    assert versions(run(lake, lines=400)) == versions(run(lake, lines=400))


def write(path: Path, texts: list[str]) -> None:
    path.write_text("".join(json.dumps({"q": text}, ensure_ascii=False) + "\n" for text in texts))


def test_the_name_of_the_file_is_no_part_of_the_version(lake: Lake, tmp_path: Path) -> None:
    for name in ("june.jsonl", "july.jsonl"):
        write(tmp_path / name, ["Paris?", "call 13800138000"])
    one, two = (versions(run(lake, logs=str(tmp_path / n), column="q")) for n in ("june.jsonl", "july.jsonl"))
    assert one == two


def test_a_user_s_log_leaves_no_truth_of_the_demo_behind(lake: Lake, tmp_path: Path) -> None:
    run(lake, lines=300)
    write(tmp_path / "mine.jsonl", ["Paris?", "paris", "北京天气"])
    result = run(lake, logs=str(tmp_path / "mine.jsonl"), column="q")
    assert all(e.passed for e in result.get_asset_check_evaluations())
    assert not lake.exists("queries/planted_truth")
    assert sorted(lake.read("queries/distinct_queries")["language"]) == ["en", "zh"]


def test_a_wrong_column_is_told_with_those_that_are_there(lake: Lake, tmp_path: Path) -> None:
    write(tmp_path / "mine.jsonl", ["Paris?"])
    with pytest.raises(ValueError, match=r"no column 'text'. Its columns: 'q'"):
        run(lake, logs=str(tmp_path / "mine.jsonl"))
    assert not lake.exists("queries/raw_queries")


def test_a_log_without_a_usable_row_says_why_and_where_the_rows_are(lake: Lake, tmp_path: Path) -> None:
    tmp_path.joinpath("mine.jsonl").write_text('{"text": ""}\n{"text": 4}\n')
    with pytest.raises(ValueError, match=r"no row of .* can be used: .*'wrong type': 1.*quarantine"):
        run(lake, logs=str(tmp_path / "mine.jsonl"))
    assert len(lake.read("queries/quarantine")) == 2


def test_a_lost_row_a_phone_and_a_wrong_support_are_caught(lake: Lake) -> None:
    run(lake, lines=300)
    raw, queries = lake.read("queries/raw_queries"), lake.read("queries/distinct_queries")
    text = pl.when(pl.col("raw_id") == raw["raw_id"][0]).then(pl.lit("call 13800138000")).otherwise("text")
    lake.write("queries/raw_queries", raw.with_columns(text.alias("text")).head(299))
    lake.write("queries/distinct_queries", queries.with_columns(pl.col("support") + 1))
    assert not passes("every_row_is_kept_or_quarantined", lake)
    assert not passes("no_personal_data_left", lake)
    assert not passes("support_adds_up_to_the_raw_rows", lake)
    assert passes("no_query_twice", lake)


def passes(check: str, lake: Lake) -> bool:
    """Whether a check passes on what now lies in the lake."""
    result = getattr(checks, check)(lake)
    assert isinstance(result, dg.AssetCheckResult)
    return bool(result.passed)
