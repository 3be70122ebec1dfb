"""The compose file: its settings are Dagster's, they are those of one machine, and its addresses can be opened."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster._core.instance.config import dagster_instance_config_schema
from dagster._core.storage.config import pg_config
from sqlalchemy import create_engine

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return found


def test_what_services_name_is_there(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert {c["source"] for c in service.get("configs", [])} <= compose["configs"].keys(), name
        assert {v.split(":")[0] for v in service.get("volumes", [])} <= compose["volumes"].keys(), name
        assert service.get("depends_on", {}).keys() <= compose["services"].keys(), name
        waited = [
            other for other, how in service.get("depends_on", {}).items() if how["condition"] == "service_healthy"
        ]
        built = {other for other in waited if "build" in compose["services"][other]}
        assert all("healthcheck" in compose["services"][o] or o in built for o in waited), name


def test_its_dagster_limits_what_a_single_machine_limits(compose: dict[str, Any]) -> None:
    inside = yaml.safe_load(compose["configs"]["dagster"]["content"])
    alone = yaml.safe_load((ROOT / "dagster.yaml").read_text())
    assert {key: inside.get(key) for key in alone} == alone
    assert inside.keys() <= dagster_instance_config_schema().keys()
    assert inside["storage"]["postgres"]["postgres_db"].keys() <= pg_config()["postgres_db"].config_type.fields.keys()


@pytest.mark.postgres
def test_its_registry_has_a_driver_that_is_installed(compose: dict[str, Any]) -> None:
    pytest.importorskip("psycopg2")
    urls = [compose["services"]["code"]["environment"]["LOOPWRIGHT_REGISTRY_URL"]]
    urls += re.findall(r"LOOPWRIGHT_REGISTRY_URL=(\S+)", (ROOT / ".env.example").read_text())
    assert len(urls) == 2
    for url in urls:
        assert create_engine(re.sub(r"\$\{[^}]*\}", "secret", url)).dialect.driver == "psycopg2"
