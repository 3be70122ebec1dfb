"""What is stored of a row, and that its id depends on nothing but the row."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assets.queries.intake import order_free_digest, take_in
from assets.queries.normalise import distinct_queries
from assets.queries.readers import Columns, read_logs

LINE = st.fixed_dictionaries(
    {"text": st.sampled_from(["Paris", "paris?", "北京", "call 13800138000", "call 13900139000"])}
)
COLUMNS = Columns()


def write(folder: Path, files: list[list[dict[str, str]]]) -> str:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for i, lines in enumerate(files):
        folder.joinpath(f"part{i}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(folder)


def stored(logs: str) -> pl.DataFrame:
    return take_in(read_logs(logs, COLUMNS).rows, salt="s").rows


def test_nothing_personal_is_stored_and_users_are_hashed() -> None:
    rows = pl.DataFrame(
        {
            "text": ["call 13800138000", "and tomorrow?"],
            "time": pl.Series([None, None], dtype=pl.Datetime("us")),
            "user": ["ann", "ann"],
            "context": [None, "mail a@b.com about Paris"],
            "source_file": ["a", "a"],
            "source_row": [1, 2],
        }
    )
    taken = take_in(rows, salt="s")
    assert sorted(taken.rows["text"]) == ["and tomorrow?", "call <phone>"]
    assert "mail <email> about Paris" in taken.rows["context"].to_list()
    assert taken.rows["user"].n_unique() == 1
    assert "ann" not in taken.rows["user"].to_list()
    assert {kind: n for kind, n in taken.scrubbed.items() if n} == {"phone": 1, "email": 1}


def test_ten_equal_lines_are_ten_rows_of_one_query(tmp_path: Path) -> None:
    rows = stored(write(tmp_path / "logs", [[{"text": "Paris"}] * 10]))
    assert rows["raw_id"].n_unique() == 10
    assert rows["raw_id"].str.split("-").list.first().n_unique() == 1
    assert distinct_queries(rows).queries["support"].to_list() == [10]


def test_an_id_cannot_be_used_to_try_out_a_phone_number(tmp_path: Path) -> None:
    one, two = (stored(write(tmp_path / n, [[{"text": f"call {n}"}]])) for n in ("13800138000", "13900139000"))
    assert one["raw_id"].to_list() == two["raw_id"].to_list()


@given(st.lists(LINE, min_size=1, max_size=20), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_order_and_split_over_files_change_nothing_but_the_place(
    tmp_path: Path, lines: list[dict[str, str]], rng: object
) -> None:
    one = stored(write(tmp_path / "logs", [lines]))
    mixed = list(lines)
    rng.shuffle(mixed)  # type: ignore[attr-defined]
    cut = len(mixed) // 2
    other = stored(write(tmp_path / "logs", [part for part in (mixed[:cut], mixed[cut:]) if part]))
    place = ["source_file", "source_row"]
    assert one.drop(place).equals(other.drop(place))
    assert order_free_digest(one["raw_id"]) == order_free_digest(other["raw_id"])
    assert distinct_queries(one).queries.equals(distinct_queries(other).queries)


def test_a_day_more_adds_its_rows_and_changes_no_other(tmp_path: Path) -> None:
    first, second = [{"text": "Paris"}, {"text": "Rome"}], [{"text": "Rome"}, {"text": "Oslo"}]
    before = stored(write(tmp_path / "logs", [first]))
    after = stored(write(tmp_path / "logs", [first, second]))
    assert set(before["raw_id"]) < set(after["raw_id"])
    assert len(after) == 4


SCRIPT = """
import hashlib, sys
from assets.queries.grammar import generate_log
from assets.queries.intake import take_in
from assets.queries.normalise import distinct_queries
import polars as pl
log = generate_log(400, 1).with_columns(pl.lit("a").alias("source_file"), pl.int_range(pl.len()).alias("source_row"))
rows = take_in(log.select("text", "time", "user", "context", "source_file", "source_row"), salt="s").rows
print(hashlib.sha256((rows.write_csv() + distinct_queries(rows).queries.write_csv()).encode()).hexdigest())
"""


def test_the_hash_seed_of_the_process_changes_nothing() -> None:
    root = Path(__file__).parents[2]
    found = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            capture_output=True,
            text=True,
            check=True,
            cwd=root,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "77")
    }
    assert len(found) == 1
    assert len(found.pop().strip()) == len(hashlib.sha256().hexdigest())


def test_a_blank_turn_before_is_none_so_that_one_request_is_one_query() -> None:
    contexts = [None, "", "  ", "weather in Rome"]
    rows = pl.DataFrame(
        {"text": ["hi"] * 4, "time": [None] * 4, "user": [None] * 4, "context": contexts, "source_file": ["f"] * 4,
         "source_row": [1, 2, 3, 4]},
        schema_overrides={"time": pl.Datetime("us"), "user": pl.String},
    )  # fmt: skip
    taken = take_in(rows, salt="s").rows
    assert taken["context"].null_count() == 3
    assert sorted(distinct_queries(taken).queries["support"].to_list()) == [1, 3]
