"""What a demo makes and what it leaves alone, what it says meanwhile, and how it reads what stages say."""

import errno
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import polars as pl
import pytest
import typer
from rich.console import Console

from assets import keys
from dagster_project.commands import alone
from dagster_project.commands.alone import BusyError, alone_in, close_killed_runs, require_free_pool
from dagster_project.commands.current import Last, Stage, next_round, reason_to_make, stages_of
from dagster_project.commands.demo import one_clear_error, own_log, require_installed, until_stage
from dagster_project.commands.line import Line, StageFailedError, Wish, in_short
from dagster_project.commands.progress import Advance, Bars, Lines, advance_in, duration
from dagster_project.commands.summary import columns
from resources.lake import Lake, LakeError

ROWS = {"distinct": 3}
"""How many rows the toy's first stage makes; a test changes it."""


def toy(*, middle_version: str = "1", broken: bool = False, sound: bool = True) -> dg.Definitions:
    """A line of three stages without settings: rows, the first of them, and how many there are."""

    def table(context: dg.AssetExecutionContext, frame: pl.DataFrame, lake: Lake) -> dg.MaterializeResult:
        name = keys.table_of(context.asset_key)
        lake.write(name, frame)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(lake.version(name)), metadata={"dagster/row_count": len(frame)}
        )

    @dg.asset(key=keys.DISTINCT_QUERIES, code_version="1")
    def distinct(context: dg.AssetExecutionContext, lake: Lake) -> dg.MaterializeResult:
        context.log.info("reading: 1/2, 1.0/s, 1 s left")
        return table(context, pl.DataFrame({"n": range(ROWS["distinct"])}), lake)

    @dg.asset(key=keys.IRRELEVANCE_SET, deps=[distinct], code_version=middle_version)
    def first(context: dg.AssetExecutionContext, lake: Lake) -> dg.MaterializeResult:
        if broken:
            raise ValueError("row 7 of log.csv has no text: name another column")
        return table(context, lake.read("queries/distinct_queries").head(1), lake)

    @dg.asset(key=keys.REGIONS, deps=[first], code_version="1")
    def regions(context: dg.AssetExecutionContext, lake: Lake) -> dg.MaterializeResult:
        return table(context, lake.read("labels/irrelevance_set"), lake)

    @dg.asset_check(asset=first, blocking=True)
    def is_sound() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=sound)

    from dagster_project import profiles

    return dg.Definitions(
        assets=[distinct, first, regions],
        asset_checks=[is_sound],
        jobs=[dg.define_asset_job("factory", selection=dg.AssetSelection.all())],
        resources={"lake": Lake(root=str(profiles.home() / "lake"))},
    )


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[str]]]:
    """Runs the toy line on one instance that lasts for the test; gives the tables it made."""
    monkeypatch.setenv("LOOPWRIGHT_HOME", str(tmp_path))
    monkeypatch.setitem(ROWS, "distinct", 3)

    def run(defs: dg.Definitions, *, again: bool = False, said: io.StringIO | None = None) -> list[str]:
        stages = stages_of(defs)
        line = Line(defs, stages, Wish({}, again), instance, Lines(said or io.StringIO()))
        line.say_what_holds()
        line.make(stages)
        return sorted(keys.table_of(key) for key in line.made)

    with dg.DagsterInstance.ephemeral() as instance:
        yield run


ALL = ["frontier/regions", "labels/irrelevance_set", "queries/distinct_queries"]


def test_a_second_run_makes_nothing(make: Callable[..., list[str]]) -> None:
    said = io.StringIO()
    assert make(toy(), said=said) == ALL
    assert [line.split()[1:3] for line in said.getvalue().splitlines()] == [
        ["1/3]", "queries/distinct_queries"],
        ["2/3]", "labels/irrelevance_set"],
        ["3/3]", "frontier/regions"],
    ]
    again = io.StringIO()
    assert make(toy(), said=again) == []
    assert again.getvalue().strip() == "3 of 3 stages hold from before"


def test_asked_to_it_makes_everything_anew(make: Callable[..., list[str]]) -> None:
    make(toy())
    assert make(toy(), again=True) == ALL


def test_changed_code_is_made_again_and_what_lies_behind_holds_if_the_rows_are_the_same(
    make: Callable[..., list[str]],
) -> None:
    make(toy())
    said = io.StringIO()
    assert make(toy(middle_version="2"), said=said) == ["labels/irrelevance_set"]
    assert "again: its code changed" in said.getvalue()


def test_changed_rows_are_followed_as_far_as_they_differ(
    make: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make(toy())
    monkeypatch.setitem(ROWS, "distinct", 5)
    (tmp_path / "lake" / "queries" / "distinct_queries" / "all.parquet").unlink()
    assert make(toy()) == ["labels/irrelevance_set", "queries/distinct_queries"]  # the first row is as it was


def test_a_failure_says_which_stage_and_why_and_the_next_run_goes_on(make: Callable[..., list[str]]) -> None:
    with pytest.raises(StageFailedError) as failed:
        make(toy(broken=True))
    assert str(failed.value) == "labels/irrelevance_set failed: row 7 of log.csv has no text: name another column"
    assert "Traceback" in failed.value.trace or "Stack Trace" in failed.value.trace
    assert make(toy()) == ["frontier/regions", "labels/irrelevance_set"]


def test_a_stage_whose_check_failed_does_not_hold(make: Callable[..., list[str]]) -> None:
    with pytest.raises(StageFailedError, match="is_sound"):
        make(toy(sound=False))
    assert make(toy()) == ["frontier/regions", "labels/irrelevance_set"]


STAGE = Stage(keys.LEXICAL_SURVIVORS, "1", (), frozenset())


def reason(tmp_path: Path, settings: dict[str, object], recorded: dict[str, object] | None) -> str | None:
    lake = Lake(root=str(tmp_path))
    lake.write("pool/lexical_survivors", pl.DataFrame({"n": [1]}))
    last = {STAGE.key: Last("run", "v", "1", {}, recorded, {})}
    return reason_to_make(STAGE, last, {"pool/lexical_survivors": settings}, lake)


def test_other_settings_are_a_reason(tmp_path: Path) -> None:
    assert reason(tmp_path, {"threshold": 0.8}, {"threshold": 0.8}) is None
    assert reason(tmp_path, {"threshold": 0.8}, {"threshold": 0.9}) == "its settings changed"
    assert reason(tmp_path, {"threshold": 0.8}, None) == "its settings are not on record"


def test_a_round_leaves_what_may_still_hold_for_later() -> None:
    a, b, c, d = (keys.RAW_QUERIES, keys.DISTINCT_QUERIES, keys.LEXICAL_SURVIVORS, keys.INTENT_TAXONOMY)
    line = [Stage(key, "1", parents, frozenset()) for key, parents in ((a, ()), (b, (a,)), (c, (b,)), (d, ()))]
    assert next_round(line, dict.fromkeys((a, b, c, d), "never made")) == [a, b, c, d]
    assert next_round(line, {a: "asked for", b: None, c: "never made", d: None}) == [a]
    assert next_round(line, dict.fromkeys((a, b, c, d))) == []


@pytest.mark.parametrize(
    ("line", "done", "total", "said"),
    [
        ("sft steps: 31/60, 2.0/s, 14 s left; loss 3.04", 31, 60, "sft steps 31/60, 2.0/s, 14 s left; loss 3.04"),
        ("trajectories/seed: 50 of 200 attempts", 50, 200, "trajectories/seed 50/200, 5.0/s, 30 s left"),
    ],
)
def test_progress_is_read_out_of_a_log_line(line: str, done: int, total: int, said: str) -> None:
    assert advance_in(line, running_s=10) == Advance(done, total, said)


@pytest.mark.parametrize("line", ["best development temperatures: {}", "3000 rows kept, 6 to quarantine", "a: 1/0"])
def test_other_lines_are_no_progress(line: str) -> None:
    assert advance_in(line, running_s=10) is None


def test_seconds_are_said_as_people_say_them() -> None:
    assert [duration(s) for s in (0.5, 42, 185, 7_260)] == ["0.5 s", "42 s", "3 min 05 s", "2 h 01 min"]


def test_a_terminal_gets_a_bar_and_keeps_the_lines() -> None:
    out = io.StringIO()
    bars = Bars(Console(file=out, force_terminal=True, width=120))
    bars.say("profile micro [red]x[/red]")
    bars.started("sft/seed_policy")
    bars.advanced("sft/seed_policy", Advance(3, 10, "sft steps 3/10"))
    bars.ended()
    bars.say("[ 1/20] sft/seed_policy")
    assert "profile micro [red]x[/red]\n" in out.getvalue()
    assert "[ 1/20] sft/seed_policy\n" in out.getvalue()
    assert "sft steps 3/10" in out.getvalue()


def test_a_pipe_gets_no_line_for_every_step() -> None:
    out = io.StringIO()
    lines = Lines(out)
    lines.started("sft/seed_policy")
    for step in range(100):
        lines.advanced("sft/seed_policy", Advance(step, 100, f"sft steps {step}/100"))
    assert out.getvalue() == ""


def test_a_long_error_is_cut_to_its_ends() -> None:
    assert in_short("ValueError: no column 'x'\n") == "no column 'x'"
    said = in_short("resources.trainer.TrainerError: exited 1; its log is /x\n" + "noise\n" * 20 + "ValueError: bad")
    assert said.splitlines() == ["exited 1; its log is /x", "  ...", "  ValueError: bad"]


def test_until_takes_a_group_or_a_stage_with_all_that_it_needs() -> None:
    from dagster_project.definitions import defs

    stages = stages_of(defs)
    assert [s.table for s in until_stage(stages, "pool/lexical_survivors")] == [
        "queries/raw_queries",
        "queries/distinct_queries",
        "pool/lexical_survivors",
    ]
    assert {s.table for s in until_stage(stages, "pool")} >= {"labels/query_labels", "taxonomy/intent_taxonomy"}
    assert until_stage(stages, "") == stages
    with pytest.raises(ValueError, match=r"--until sftt: there is no such stage; allowed: queries, .*sft/seed_policy"):
        until_stage(stages, "sftt")


def test_a_log_that_is_not_there_is_named_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no log at .*nowhere"):
        own_log(str(tmp_path / "nowhere.csv"), "text")
    (tmp_path / "a.csv").write_text("q\nhello\n")
    assert own_log(f"{tmp_path}/*.csv", "q") == {"queries/raw_queries": {"logs": f"{tmp_path}/*.csv", "column": "q"}}


def test_what_is_installed_is_enough_for_the_whole_line() -> None:
    from dagster_project.definitions import defs

    require_installed(stages_of(defs))


def test_two_demos_do_not_share_a_state_folder(tmp_path: Path) -> None:
    with alone_in(tmp_path):
        with pytest.raises(BusyError, match=r"another demo \(process \d+\) is at work in"):
            with alone_in(tmp_path):
                pass
    with alone_in(tmp_path):
        pass


def test_a_killed_run_is_closed_and_its_place_in_the_pool_is_free_again() -> None:
    with dg.instance_for_test() as instance:
        dead = dg.DagsterRun("factory", run_id="dead", status=dg.DagsterRunStatus.STARTED, tags={alone.TAG: "true"})
        instance.add_run(dead)
        instance.event_log_storage.set_concurrency_slots(alone.POOL, 1)
        instance.event_log_storage.claim_concurrency_slot(alone.POOL, "dead", "step")
        assert close_killed_runs(instance) == ["dead"]
        assert instance.get_run_by_id("dead").status is dg.DagsterRunStatus.CANCELED
        require_free_pool(instance)


def test_a_run_of_the_pages_in_the_pool_is_named_instead_of_waited_for() -> None:
    with dg.instance_for_test() as instance:
        instance.add_run(dg.DagsterRun("factory", run_id="theirs", status=dg.DagsterRunStatus.STARTED))
        instance.event_log_storage.set_concurrency_slots(alone.POOL, 1)
        instance.event_log_storage.claim_concurrency_slot(alone.POOL, "theirs", "step")
        with pytest.raises(BusyError, match="run theirs was started on the pages and holds the pool 'gpu'"):
            require_free_pool(instance)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "/var/log/queries"),
            "Permission denied: '/var/log/queries'",
        ),
        (OSError(errno.ENOSPC, "No space left on device"), "no room left on the disk of"),
        (
            LakeError("pool/lexical_survivors is not a whole Parquet file"),
            "pool/lexical_survivors is not a whole Parquet file",
        ),
    ],
    ids=["permission", "disk", "torn table"],
)
def test_what_goes_wrong_between_stages_is_one_line_too(
    error: Exception, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended, one_clear_error(debug=False):
        raise error
    assert ended.value.exit_code == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("loopwright: ")
    assert says in line


def test_columns_align_words_left_and_figures_right() -> None:
    assert columns([("a", "10"), ("bb", "7")]).splitlines() == ["  a   10", "  bb   7"]


def test_a_failure_is_one_line_and_with_debug_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    for debug, first in ((False, "loopwright: sft/seed_policy failed: no rows"), (True, "the whole trace")):
        with pytest.raises(typer.Exit) as ended, one_clear_error(debug=debug):
            raise StageFailedError("sft/seed_policy failed: no rows", "the whole trace")
        assert ended.value.exit_code == 1
        assert capsys.readouterr().err.splitlines()[0] == first
