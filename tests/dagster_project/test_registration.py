"""What Dagster recorded about a run arrives in the registry, with the edges."""

from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from assets.metadata import materialized
from assets.partitions import LEAVES, ONE_RUN, add_partitions, over
from assets.versions import reported_by_leaf
from dagster_project.registration import register_run
from dagster_project.sensors import register_ended_runs
from resources.lake import Lake
from resources.registry import Registry


@dg.asset(key=["queries", "raw_queries"], code_version="1")
def raw(lake: Lake) -> dg.MaterializeResult:
    return materialized(
        lake, "queries/raw_queries", pl.DataFrame({"a": [1, 2]}), numbers={"rate": 0.5, "bad": float("nan")}
    )


@dg.asset(key=["pool", "lexical_survivors"], deps=[raw], code_version="1")
def pool(lake: Lake) -> dg.MaterializeResult:
    return materialized(lake, "pool/lexical_survivors", lake.read("queries/raw_queries").head(1))


@dg.asset(key=["pool", "semantic_survivors"], deps=[raw])
def broken() -> None:
    raise RuntimeError("half way")


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(url=f"sqlite:///{tmp_path / 'registry.db'}")


def test_a_run_registers_its_artefacts_and_what_they_are_made_from(tmp_path: Path, registry: Registry) -> None:
    lake = Lake(root=str(tmp_path / "lake"))
    with dg.DagsterInstance.ephemeral() as instance:
        run = dg.materialize([raw, pool], resources={"lake": lake}, instance=instance)
        for _ in range(2):
            register_run(instance, run.run_id, registry)
    made = registry.artefact("pool/lexical_survivors")
    assert made is not None
    assert (made.data_version, made.kind) == (lake.version("pool/lexical_survivors"), "table")
    [source] = registry.made_from("pool/lexical_survivors", made.data_version)
    assert (source.key, source.data_version) == ("queries/raw_queries", lake.version("queries/raw_queries"))
    assert source.numbers == {"dagster/row_count": 2, "rate": 0.5}


def test_inputs_of_an_unregistered_run_are_registered_on_the_way(tmp_path: Path, registry: Registry) -> None:
    lake = Lake(root=str(tmp_path / "lake"))
    with dg.DagsterInstance.ephemeral() as instance:
        first = dg.materialize([raw], resources={"lake": lake}, instance=instance)
        second = dg.materialize([raw, pool], selection=[pool], resources={"lake": lake}, instance=instance)
        register_run(instance, second.run_id, registry)
    [source] = registry.made_from("pool/lexical_survivors", lake.version("pool/lexical_survivors"))
    assert source.run_id == first.run_id


def test_a_run_that_failed_registers_what_it_finished(tmp_path: Path, registry: Registry) -> None:
    lake = Lake(root=str(tmp_path / "lake"))
    with dg.DagsterInstance.ephemeral() as instance:
        run = dg.materialize([raw, broken], resources={"lake": lake}, instance=instance, raise_on_error=False)
        assert not run.success
        assert [artefact.key for artefact in register_run(instance, run.run_id, registry)] == ["queries/raw_queries"]


def test_a_table_that_is_cut_by_leaves_is_one_artefact_made_from_the_whole_of_another(tmp_path: Path) -> None:
    lake, rows = Lake(root=str(tmp_path / "lake")), pl.DataFrame({"id": [1, 2, 3], "of": ["a.x", "b", "b"]})
    lake.write("taxonomy/intent_taxonomy", pl.DataFrame({"leaf": ["a.x", "b"]}))
    cut = {"partitions_def": LEAVES, "backfill_policy": ONE_RUN, "code_version": "1"}

    def toy(name: str, above: list[dg.AssetKey]) -> dg.AssetsDefinition:
        @dg.asset(key=["labels", name], deps=above, **cut)  # type: ignore[arg-type]
        def made(context: dg.AssetExecutionContext, lake: Lake) -> object:
            """Three rows of two leaves."""
            yield from reported_by_leaf(context, lake, materialized(lake, f"labels/{name}", rows), rows, "of")

        return made

    upper = toy("upper", [])
    lower = toy("lower", [upper.key])
    registry = Registry(url=f"sqlite:///{tmp_path / 'registry.db'}")
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        tags = over(add_partitions(instance, ["a.x", "b"]))
        for asset in (upper, lower):  # each in a run of its own, which Dagster's SQLite storage numbers by itself
            run = dg.materialize(
                [upper, lower], selection=[asset], tags=tags, instance=instance, resources={"lake": lake}
            )
            register_run(instance, run.run_id, registry)
    found = registry.artefact("labels/lower")
    assert found is not None
    assert found.data_version == lake.version("labels/lower")
    assert found.numbers["dagster/row_count"] == 3
    assert [(a.key, a.data_version) for a in registry.made_from(found.key, found.data_version)] == [
        ("labels/upper", lake.version("labels/upper"))
    ]


def test_the_sensor_registers_what_ended_before_its_first_tick_and_every_run_after(
    tmp_path: Path, registry: Registry
) -> None:
    lake = Lake(root=str(tmp_path / "lake"))
    with dg.DagsterInstance.ephemeral() as instance:
        dg.materialize([raw], resources={"lake": lake}, instance=instance)
        context = dg.build_sensor_context(instance=instance, resources={"registry": registry})
        register_ended_runs(context)
        assert registry.artefact("queries/raw_queries") is not None
        dg.materialize([raw, pool, broken], resources={"lake": lake}, instance=instance, raise_on_error=False)
        later = dg.build_sensor_context(instance=instance, resources={"registry": registry}, cursor=context.cursor)
        register_ended_runs(later)
        assert registry.artefact("pool/lexical_survivors") is not None
        assert float(later.cursor or 0) >= float(context.cursor or 0) > 0
