# SPDX-License-Identifier: MIT
"""Walks over the files that belong to the repository."""

import os
import pathlib

_OUTSIDE = {".git", "__pycache__", "node_modules", "packagecache"}


def files(root):
    """Yields (path relative to `root`, full path), build output left out.

    A build folder is told by meson's mark, a fetched subproject by its place.
    """
    root = pathlib.Path(root)
    for folder, names, file_names in os.walk(root):
        here = pathlib.Path(folder)
        relative = here.relative_to(root)
        names[:] = sorted(
            name for name in names
            if name not in _OUTSIDE
            and not (here / name / "meson-private").is_dir()
            and not (relative == pathlib.Path(".")
                     and name.startswith("build"))
            and not (relative == pathlib.Path("subprojects")
                     and name != "packagefiles"))
        for name in sorted(set(file_names) - _OUTSIDE):
            yield (relative / name).as_posix(), here / name
