"""Shares of the second SFT: new trajectories with replay of the seed's, so that nothing learned is lost.

The replay share is ours; a second SFT on frontier trajectories alone forgets what the first one taught.
"""

import polars as pl

from environments.seeds import stable_hash


def with_replay(fresh: pl.DataFrame, seed: pl.DataFrame, replay: float, draw: int) -> pl.DataFrame:
    """`fresh` and as many rows of `seed` as make up the share `replay` of the whole, drawn by hash.

    Args:
        fresh: new trajectories.
        seed: the trajectories of the first SFT.
        replay: share of replayed rows in the result, 0 <= replay < 1.
        draw: seed of the draw.

    Raises:
        ValueError: `replay` is out of range.
    """
    if not 0 <= replay < 1:
        raise ValueError(f"replay must be in [0, 1), got {replay}")
    wanted = round(len(fresh) * replay / (1 - replay))
    older = seed.join(fresh.select("trajectory_id"), on="trajectory_id", how="anti")
    order = pl.Series([stable_hash("replay", draw, i) for i in older["trajectory_id"]], dtype=pl.UInt64)
    replayed = older.with_columns(order=order).sort("order").head(wanted).drop("order")
    return pl.concat([fresh, replayed], how="diagonal").select(fresh.columns).sort("trajectory_id")
