# SPDX-License-Identifier: MIT
"""Gives the folder of a source archive the time of its newest file.

"meson dist" runs it. All else in the folder has the time of the commit, so the
same commit gives the same archive, byte for byte.
"""

import os
import pathlib

folder = pathlib.Path(os.environ["MESON_PROJECT_DIST_ROOT"])
newest = max(path.stat().st_mtime for path in folder.rglob("*"))
os.utime(folder, (newest, newest))
