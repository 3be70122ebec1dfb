"""A profile's values become the defaults of stages, or a clear error.

Each in a process of its own: a process is bound to one profile.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

BIND = """
import dagster as dg
from pydantic import Field, PositiveInt
from assets import keys
from assets.config import StageConfig, bind_stage_defaults
def declare():
    class Raw(StageConfig, stage=keys.RAW_QUERIES):
        lines: PositiveInt = 200_000
        "How many."
        share: float = Field(default=0.5, gt=0, lt=1)
        "Of them."
    return Raw
"""


def run(script: str) -> "subprocess.CompletedProcess[str]":
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "declare.py")  # a file, because field docstrings are read from source
        file.write_text(BIND + script)
        return subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)


def test_bound_values_are_the_defaults_in_code_and_in_the_launchpad() -> None:
    done = run("""
bind_stage_defaults({"queries/raw_queries": {"lines": 7, "share": 0.25}}, source="profile test")
Raw = declare()
@dg.asset
def raw(config: Raw) -> None: ...
fields = raw.op.config_schema.config_type.fields
print(Raw().lines, Raw().share, fields["lines"].default_value, fields["lines"].description)
""")
    assert done.stdout == "7 0.25 7 How many.\n", done.stderr


def test_without_a_profile_the_written_defaults_stand() -> None:
    assert run("print(declare()().lines)").stdout == "200000\n"


def test_an_unknown_setting_names_those_allowed() -> None:
    done = run('bind_stage_defaults({"queries/raw_queries": {"linez": 7}}, source="profile test")\ndeclare()')
    assert "profile test: [queries.raw_queries] has no setting 'linez'; allowed: lines, share" in done.stderr


def test_a_value_out_of_range_names_what_it_got() -> None:
    done = run('bind_stage_defaults({"queries/raw_queries": {"lines": -7}}, source="profile test")\ndeclare()')
    assert "profile test: [queries.raw_queries] lines: Input should be greater than 0 (got -7)" in done.stderr


def test_bounds_of_a_field_hold_for_the_profile_too() -> None:
    done = run('bind_stage_defaults({"queries/raw_queries": {"share": 2.0}}, source="profile test")\ndeclare()')
    assert "[queries.raw_queries] share: Input should be less than 1 (got 2.0)" in done.stderr


def test_settings_of_a_stage_that_has_none_are_refused() -> None:
    done = run("""
from assets.config import require_all_settings_taken
bind_stage_defaults({"pool/lexical_survivors": {"threshold": 0.5}}, source="profile test")
declare()
require_all_settings_taken()
""")
    assert "[pool.lexical_survivors] sets what no stage reads; stages with settings: queries/raw_queries" in done.stderr


def test_binding_after_the_stage_was_imported_is_refused() -> None:
    done = run('declare()\nbind_stage_defaults({"queries/raw_queries": {"lines": 7}}, source="profile test")')
    assert "profile test comes too late for queries/raw_queries" in done.stderr
