"""Trees as the command line names them: a folder, a git revision of one (`REV:path`), or a version of the book."""

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from assets.taxonomy.migration import FOLDER
from assets.taxonomy.stored import TREES, taxonomy_of
from assets.taxonomy.tree import Taxonomy, default_folder, load_taxonomy
from dagster_project import profiles
from resources.lake import Lake

if TYPE_CHECKING:
    from assets.labels.assets import QueryLabelsConfig


def configured_folder() -> Path:
    """The folder of the tree that the active profile names."""
    profiles.bind_active_profile()
    from assets.taxonomy.assets import IntentTaxonomyConfig  # here, so that it takes the profile's settings

    folder = IntentTaxonomyConfig().folder
    return Path(folder).expanduser() if folder else default_folder()


def configured_labels() -> "QueryLabelsConfig":
    """How the active profile labels."""
    profiles.bind_active_profile()
    from assets.labels.assets import QueryLabelsConfig

    return QueryLabelsConfig()


def configured_bound() -> float:
    """The confidence under which the active profile asks about a row again."""
    return configured_labels().near_below


def configured_kind() -> str:
    """Who labels in the active profile, as the book of labels names it: all that decides a label but the tree."""
    from assets.labels.annotator import embedded_kind
    from assets.labels.teacher import teacher_kind
    from resources.embedder import Embedder

    labels, endpoint = configured_labels(), profiles.active().teacher
    if labels.annotator == "teacher":
        return teacher_kind(endpoint.model, endpoint.sampling, labels.abstain_below)
    return embedded_kind(Embedder().version, labels.abstain_below)


def migrations_of(name: str) -> Path:
    """The folder of the migration files that belong to a tree: beside its files, or beside those of the profile."""
    place = Path(name).expanduser()
    return (place if name and place.is_dir() else configured_folder()) / FOLDER


def tree_named(lake: Lake, name: str) -> Taxonomy:
    """The tree that a user means.

    Raises:
        FileNotFoundError: neither a folder, nor a stored version, nor a revision of a folder; or no name at all.
        TaxonomyError: the files do not follow the schema.
    """
    place = Path(name).expanduser()
    if name.strip() and place.is_dir():
        return load_taxonomy(place)
    stored = [path.stem for path in lake.folder(TREES).glob("*.parquet") if path.stem.startswith(name)]
    if name.strip() and len(stored) == 1:
        return taxonomy_of(lake.read(TREES, stored[0]))
    if ":" in name:
        with folder_at(*name.split(":", 1)) as folder:
            return load_taxonomy(folder)
    known = ", ".join(sorted(path.stem for path in lake.folder(TREES).glob("*.parquet"))) or "none yet"
    raise FileNotFoundError(
        f"{name!r} is no tree: name a folder, a git revision of one (HEAD:path/to/folder), or the beginning of one "
        f"version of the book ({known})"
    )


@contextmanager
def folder_at(revision: str, path: str) -> Iterator[Path]:
    """A folder as it was at a git revision, for the length of a block.

    Raises:
        FileNotFoundError: git does not know it.
    """
    place = Path(path).expanduser()
    inside = next((parent for parent in (place, *place.absolute().parents) if parent.is_dir()), Path.cwd())
    top = _git(inside, "rev-parse", "--show-toplevel").decode().strip()
    inner = place.absolute().relative_to(top) if place.absolute().is_relative_to(top) else place
    packed = _git(Path(top), "archive", "--format=tar", revision, str(inner))
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(scratch, filter="data")
        yield Path(scratch) / inner


def _git(folder: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=True)
    except FileNotFoundError as error:
        raise FileNotFoundError("git is not installed: name a folder instead of a revision") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise FileNotFoundError(f"git {' '.join(arguments)}: {said}") from error
    return done.stdout
