"""Where the rounds of a refinement lie: their feedback and corrections as tables, their trees as files.

`taxonomy/rounds` has a partition per round, `taxonomy/round_corrections` another; the tree of each round stands beside,
in `taxonomy/rounds/trees/round_01`, as the YAML files that people edit.
"""

import shutil
from pathlib import Path

from assets.taxonomy.drafts import write_branches
from assets.taxonomy.refinement import Refined
from resources.lake import Lake

ROUNDS, CORRECTIONS = "taxonomy/rounds", "taxonomy/round_corrections"


def store_rounds(lake: Lake, refined: Refined) -> list[Path]:
    """Store every round, in place of those of a refinement before; returns the folders of the trees."""
    for table in (ROUNDS, CORRECTIONS):
        for path in lake.folder(table).glob("round_*.parquet"):
            path.unlink()
    trees = lake.folder(ROUNDS) / "trees"
    shutil.rmtree(trees, ignore_errors=True)
    folders = []
    for number, one in enumerate(refined.rounds, start=1):
        name = f"round_{number:02d}"
        lake.write(ROUNDS, one.feedback, name)
        lake.write(CORRECTIONS, one.corrections, name)
        write_branches(one.branches, trees / name)
        folders.append(trees / name)
    return folders
