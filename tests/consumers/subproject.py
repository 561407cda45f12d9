# SPDX-License-Identifier: MIT
"""lbroute as a subproject, with the system's xxHash and with its own wrap."""

import json
import pathlib
import shutil
import sys

import xxhash_wrap
from steps import require, run

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "checks"))

import repository  # noqa: E402 (found through the path above)


def copy_sources(source, destination):
    for path, full in repository.files(source):
        (destination / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(full, destination / path)


def make_host(source, host):
    subprojects = host / "subprojects"
    copy_sources(source, subprojects / "lbroute")
    shutil.copy(HERE / "host" / "meson.build", host)
    shutil.copy(HERE / "host" / "lbroute.wrap", subprojects)
    shutil.copy(HERE / "consumer.c", host / "consumer.c")
    shutil.copy(HERE / "consumer.c", host / "consumer.cpp")


def check_targets(meson, build):
    """A subproject brings the library and nothing else."""
    targets = json.loads(run([meson, "introspect", "--targets", build]))
    programs = {target["name"] for target in targets
                if target["type"] == "executable"}
    require(programs == {"consumer_c", "consumer_cpp"},
            f"the host's programs alone are built: {sorted(programs)}")
    tests = json.loads(run([meson, "introspect", "--tests", build]))
    require(len(tests) == 2, f"the host's tests alone run: {len(tests)}")


def check_subprojects(meson, build, names):
    project = json.loads(run([meson, "introspect", "--projectinfo", build]))
    found = {each["name"] for each in project["subprojects"]}
    require(found == names, f"subprojects {sorted(names)}: {sorted(found)}")


def build_host(context, folder, library, forced, env=None):
    """The host, with these dependencies from their wraps and no others."""
    build = folder / f"build {library} {len(forced)}"
    run([context.meson, "setup", build, folder / "host",
         f"-Ddefault_library={library}",
         f"--force-fallback-for={','.join(forced)}"],
        {**context.compilers, **(env or {})})
    check_targets(context.meson, build)
    check_subprojects(context.meson, build, {
        name.removeprefix("lib") for name in forced})
    run([context.meson, "compile", "-C", build])
    run([context.meson, "test", "-C", build, "--no-rebuild"])


def test(context, folder):
    make_host(context.source, folder / "host")
    build_host(context, folder, "shared", ["lbroute"])
    xxhash_wrap.provide(context.source, folder / "host")
    # No package of the system is found from here on.
    build_host(context, folder, "static", ["lbroute", "libxxhash"],
               {"PKG_CONFIG_LIBDIR": str(folder / "no packages")})
