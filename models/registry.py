"""Which bundles there are: those shipped with the program, and those in the home, which come first."""

from __future__ import annotations

import shutil
from pathlib import Path

from indexer.errors import BundleMissing, ModelError
from models.bundle import CARD, Bundle, read_bundle

SHIPPED = Path(__file__).parent / "bundles"


class Registry:
    """Bundles by name. A bundle in the home hides a shipped one of the same name."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "bundles"

    def path(self, name: str) -> Path:
        """Folder of a bundle.

        Args:
            name: Or the folder itself, from the root on.

        Raises:
            BundleMissing: There is no bundle of this name; the message lists those there are.
        """
        if Path(name).is_absolute():
            return Path(name)
        for folder in (self.folder, SHIPPED):
            if name in _names(folder):
                return folder / name
        raise BundleMissing(
            f"There is no bundle '{name}'. Available: {', '.join(self.list()) or 'none'}.",
            hint="Show them: indexer models list. Of another machine: copy its folder into "
            f"{self.folder.absolute()}.",
        )

    def list(self) -> list[str]:
        """Names of all bundles, sorted."""
        return sorted({*_names(self.folder), *_names(SHIPPED)})

    def get(self, name: str) -> Bundle:
        """Read a bundle by name."""
        return read_bundle(self.path(name))

    def address(self, bundle: Bundle) -> str:
        """What `get` finds a bundle by: its name, or its folder where that is elsewhere."""
        known = bundle.name in self.list() and self.path(bundle.name) == bundle.folder
        return bundle.name if known else str(bundle.folder)

    def add(self, folder: Path) -> Bundle:
        """Copy the bundle in `folder` into the home, under the name it carries; one of that name is replaced.

        Raises:
            BundleMissing, BundleIncompatible: There is no usable bundle in `folder`.
        """
        bundle = read_bundle(folder)
        if Path(bundle.name).name != bundle.name or bundle.name.startswith("."):
            raise ModelError(
                f"'{bundle.name}' cannot be the name of a bundle: it must be a plain folder name."
            )
        target = self.folder / bundle.name
        if target.resolve() == folder.resolve():
            return bundle
        part = self.folder / f".{bundle.name}.part"
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(folder, part)
        shutil.rmtree(target, ignore_errors=True)
        part.rename(target)
        return read_bundle(target)

    def remove(self, name: str) -> None:
        """Delete a bundle from the home, and the graphs made of it.

        Raises:
            BundleMissing: There is no bundle of this name.
            ModelError: It is shipped with the program, lies elsewhere, or others build on the model in its folder.
        """
        path = self.path(name)
        if path.parent == SHIPPED:
            raise ModelError(f"Bundle '{name}' is shipped with the program and cannot be removed.")
        if path.parent != self.folder:
            raise ModelError(f"Bundle '{name}' is not in the home; delete its folder yourself.")
        if others := _built_on(path):
            raise ModelError(
                f"Bundle '{name}' cannot be removed: {', '.join(others)} builds on its model.",
                hint=f"Remove that first: indexer models remove {others[0]}.",
            )
        try:
            graphs = [*(self.folder.parent / "onnx").glob(f"{read_bundle(path).fingerprint[:16]}-*")]
        except (ModelError, OSError):  # a damaged bundle, or one whose base model is gone, can be removed too
            graphs = []
        for folder in (*graphs, path):
            shutil.rmtree(folder)


def _names(folder: Path) -> list[str]:
    """Folders that have a description of a bundle. Names that begin with a dot are unfinished copies."""
    return [path.parent.name for path in folder.glob(f"*/{CARD}") if not path.parent.name.startswith(".")]


def _built_on(path: Path) -> list[str]:
    """Names of the bundles beside that in `path` whose base model lies in its folder."""
    found = []
    for name in _names(path.parent):
        try:
            base = read_bundle(path.parent / name).base.get("folder")
        except ModelError:  # a damaged one builds on nothing
            continue
        if (
            base
            and name != path.name
            and (path.parent / name / base).resolve().is_relative_to(path.resolve())
        ):
            found.append(name)
    return sorted(found)
