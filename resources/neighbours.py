"""Nearest neighbours among unit vectors: FAISS, on the GPU where there is one, else on the CPU.

Cosine similarity throughout: the inner product of unit vectors. FAISS is imported when first used, so that the
definitions load without it.

Shapes: N stored vectors, Q queries, K neighbours, D dimensions, C cells.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_SLACK = 1e-4
"""More than single precision is off by in the similarity of two unit vectors, whatever the device."""


class Nearest(NamedTuple):
    """The K most similar stored vectors of each query, best first; row -1 where fewer than K are stored."""

    similarity_QK: NDArray[np.float32]
    row_QK: NDArray[np.int64]


class Index:
    """A growing set of unit vectors: searched exactly (flat inner product), or cell by cell where it gets large.

    Which cell a vector lies in, and which are searched, the caller says: found by a matrix product of the index's own,
    it would depend on what else is asked in the same call. Cells are searched on the CPU, the same on every machine.
    """

    def __init__(self, dimensions: int, *, cells: int = 0) -> None:
        """Make an empty index.

        Args:
            dimensions: of the vectors.
            cells: how many there are; 0 searches everything.
        """
        faiss = _faiss()
        if not cells:
            self._index = _on_fastest_device(faiss.IndexFlatIP(dimensions))
            return
        centres = faiss.IndexFlatIP(dimensions)
        centres.add(np.zeros((cells, dimensions), np.float32))
        self._index = faiss.IndexIVFFlat(centres, dimensions, cells, faiss.METRIC_INNER_PRODUCT)
        self._index.is_trained = True

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def add(self, vectors_ND: NDArray[np.float32], cell_N: NDArray[np.int64] | None = None) -> None:
        """Store `vectors_ND`, each in its cell; rows are numbered in the order of their arrival."""
        if cell_N is None:
            self._index.add(checked(vectors_ND))
            return
        from faiss.contrib.ivf_tools import add_preassigned

        add_preassigned(self._index, checked(vectors_ND), np.ascontiguousarray(cell_N))  # type: ignore[no-untyped-call]

    def nearest(self, vectors_QD: NDArray[np.float32], k: int = 1, cell_QC: NDArray[np.int64] | None = None) -> Nearest:
        """The `k` most similar stored vectors of each query, of those in its cells `cell_QC` where there are cells."""
        if len(self) == 0 or len(vectors_QD) == 0:
            shape = (len(vectors_QD), k)
            return Nearest(np.full(shape, -np.inf, np.float32), np.full(shape, -1, np.int64))
        if cell_QC is None:
            similarity_QK, row_QK = self._index.search(checked(vectors_QD), k)
            return Nearest(similarity_QK, row_QK)
        from faiss.contrib.ivf_tools import search_preassigned

        self._index.nprobe = cell_QC.shape[1]
        asked_QD, cell_QC = checked(vectors_QD), np.ascontiguousarray(cell_QC)
        similarity_QK, row_QK = search_preassigned(self._index, asked_QD, k, cell_QC)  # type: ignore[no-untyped-call]
        return Nearest(similarity_QK, row_QK)

    def reaching(self, vectors_QD: NDArray[np.float32], least: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every stored vector that may be as similar as `least`, for each asked one: which asked one, and which stored.

        Single precision lets some through that are not.
        """
        ask_Q, k, pieces = np.arange(len(vectors_QD)), 2, [np.empty((0, 2), dtype=np.int64)]
        while len(ask_Q) and len(self):
            k = min(k, len(self))
            near = self.nearest(vectors_QD[ask_Q], k)
            close_QK = near.similarity_QK >= least - _SLACK
            more_Q = close_QK[:, -1] & (k < len(self))  # there may be others as close
            close_QK[more_Q] = False
            of_P, rank_P = np.nonzero(close_QK)
            pieces.append(np.stack([ask_Q[of_P], near.row_QK[of_P, rank_P]], axis=1))
            ask_Q, k = ask_Q[more_Q], 8 * k
        both_P2 = np.concatenate(pieces)
        return both_P2[:, 0], both_P2[:, 1]

    def within(self, vectors_QD: NDArray[np.float32], least: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every earlier one of the asked vectors that may be as similar, for each of them."""
        similar_QQ = checked(vectors_QD) @ checked(vectors_QD).T
        later_P, earlier_P = np.nonzero(np.tril(similar_QQ >= least - _SLACK, -1))
        return later_P, earlier_P


def has_gpu() -> bool:
    """Whether FAISS searches on one."""
    try:
        import faiss
    except ModuleNotFoundError:
        return False
    return bool(faiss.get_num_gpus() > 0)


def cells_of(vectors_ND: NDArray[np.float32], count: int, *, seed: int = 0) -> NDArray[np.float32]:
    """Centres of `count` cells, shape (count, D): spherical k-means on rows drawn evenly."""
    faiss = _faiss()
    dimensions, wanted = vectors_ND.shape[1], min(len(vectors_ND), 40 * count)
    drawn = checked(vectors_ND[np.linspace(0, len(vectors_ND) - 1, wanted).astype(np.int64)])
    means = faiss.Kmeans(dimensions, count, niter=6, spherical=True, seed=seed, min_points_per_centroid=1)
    means.train(drawn)
    centres_LD: NDArray[np.float32] = means.centroids
    return centres_LD


def checked(vectors_ND: NDArray[np.float32]) -> NDArray[np.float32]:
    """`vectors_ND` as contiguous float32.

    Raises:
        ValueError: a row holds NaN or infinity; the message names the first such row.
    """
    finite_N = np.isfinite(vectors_ND).all(axis=1)
    if not finite_N.all():
        row = int(np.flatnonzero(~finite_N)[0])
        raise ValueError(f"vector {row} of {len(vectors_ND)} holds NaN or infinity: embed that row again")
    return np.ascontiguousarray(vectors_ND, dtype=np.float32)


def _on_fastest_device(index: Any) -> Any:
    faiss = _faiss()
    if faiss.get_num_gpus() > 0:
        return faiss.index_cpu_to_all_gpus(index)
    return index


def _faiss() -> Any:
    try:
        import faiss
    except ModuleNotFoundError as missing:
        need = 'pip install "loopwright[cpu]" (or "loopwright[gpu]" beside a CUDA device)'
        raise ModuleNotFoundError(f"the neighbour search needs FAISS, which is not installed: {need}") from missing
    return faiss
