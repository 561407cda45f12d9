# SPDX-License-Identifier: MIT
"""Puts the archive that xxhash.wrap names where meson finds it.

It is taken from subprojects/packagecache of the sources, or from the folder
that LBROUTE_PACKAGECACHE names. Where neither has it, an archive made of the
system's own xxhash.h takes its place: with XXH_INLINE_ALL the header is all
that lbroute needs.
"""

import configparser
import hashlib
import os
import pathlib
import shutil
import tarfile

from steps import require, run


def _read(wrap_file):
    wrap = configparser.ConfigParser(interpolation=None)
    wrap.read(wrap_file, encoding="utf-8")
    return wrap["wrap-file"]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _at_hand(source, name):
    places = [source / "subprojects" / "packagecache"]
    if os.environ.get("LBROUTE_PACKAGECACHE"):
        places.append(pathlib.Path(os.environ["LBROUTE_PACKAGECACHE"]))
    return next((place / name for place in places
                 if (place / name).is_file()), None)


def _system_header():
    folder = run(["pkg-config", "--variable=includedir", "libxxhash"]).strip()
    return pathlib.Path(folder) / "xxhash.h"


def _make_archive(archive, wrap_file, wrap):
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(_system_header(), f"{wrap['directory']}/xxhash.h")
    text = wrap_file.read_text(encoding="utf-8")
    wrap_file.write_text(text.replace(wrap["source_hash"], sha256(archive)),
                         encoding="utf-8")


def provide(source, host):
    wrap_file = host / "subprojects" / "lbroute" / "subprojects" / "xxhash.wrap"
    wrap = _read(wrap_file)
    archive = host / "subprojects" / "packagecache" / wrap["source_filename"]
    archive.parent.mkdir()
    found = _at_hand(source, archive.name)
    if found:
        require(sha256(found) == wrap["source_hash"], f"the hash of {found}")
        shutil.copy(found, archive)
        print(f"xxHash: {archive.name}")
    else:
        _make_archive(archive, wrap_file, wrap)
        print(f"xxHash: the system's header, since {archive.name} is not at "
              "hand")
