# SPDX-License-Identifier: MIT
"""Builds and runs a program against lbroute, as its users would.

installed    the library installed into a prefix, shared and static, found
             through pkg-config by a C and a C++ program
subproject   a meson project with lbroute among its subprojects

usage: consumers.py (installed|subproject) SOURCE_ROOT MESON VERSION
       -- CC... -- CXX...
"""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "checks"))

import repository  # noqa: E402 (found through the path above)

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
LIBRARY_ONLY = [f"-D{part}=disabled"
                for part in ("tools", "bench", "examples", "tests", "docs")]


def run(command, env=None, cwd=None):
    """Runs a command, shows it, and returns its output; ends on failure."""
    print("$", shlex.join(map(str, command)), flush=True)
    done = subprocess.run(command, text=True, cwd=cwd,
                          env={**os.environ, **(env or {})},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        print(done.stdout)
        sys.exit(f"failed: {command[0]}")
    return done.stdout


def require(condition, what):
    if not condition:
        sys.exit(f"not so: {what}")


def install(meson, source, folder, library):
    """Builds and installs one kind of library; returns the prefix."""
    build = folder / f"build {library}"
    # Packages are built in folders with spaces too.
    prefix = folder / f"prefix {library}"
    run([meson, "setup", build, source, f"--prefix={prefix}", "--libdir=lib",
         f"-Ddefault_library={library}", *LIBRARY_ONLY])
    run([meson, "compile", "-C", build])
    run([meson, "install", "-C", build, "--no-rebuild"])
    return prefix


def check_installed_files(prefix, library):
    files = {path.relative_to(prefix).as_posix()
             for path in prefix.rglob("*") if not path.is_dir()}
    expected = {"include/lbroute/ingest.h", "include/lbroute/lbroute.h",
                "include/lbroute/version.h", "lib/pkgconfig/lbroute.pc"}
    require(expected <= files, f"{sorted(expected)} in {sorted(files)}")
    ending = ".a" if library == "static" else ".so"
    rest = files - expected
    require(rest and all(name.startswith("lib/liblbroute" + ending)
                         for name in rest),
            f"only lib/liblbroute{ending}* besides: {sorted(rest)}")


def check_pkg_config(env, version):
    """The .pc is whole without the packages that the build used."""
    require(run(["pkg-config", "--modversion", "lbroute"], env).strip()
            == version, f"version {version} in the .pc file")
    requires = run(["pkg-config", "--print-requires", "lbroute"], env)
    requires += run(["pkg-config", "--print-requires-private", "lbroute"], env)
    require(not requires.strip(), f"the .pc file requires nothing: {requires}")


def compile_and_run(folder, env, library, compiler, language, standard):
    program = folder / f"consumer {library} {standard}"
    static = ["--static"] if library == "static" else []
    cflags = shlex.split(run(["pkg-config", "--cflags", "lbroute"], env))
    libs = shlex.split(run(["pkg-config", *static, "--libs", "lbroute"], env))
    source = HERE / "consumer.c"
    run([*compiler, *STRICT, f"-std={standard}", *cflags, "-x", language,
         source, "-x", "none", "-o", program, *libs])
    return run([program], env).strip()


def installed(source, meson, version, cc, cxx, folder):
    for library in ("shared", "static"):
        prefix = install(meson, source, folder, library)
        check_installed_files(prefix, library)
        env = {"PKG_CONFIG_LIBDIR": str(prefix / "lib" / "pkgconfig"),
               "PKG_CONFIG_PATH": "",
               "LD_LIBRARY_PATH": str(prefix / "lib")}
        check_pkg_config(env, version)
        for compiler, language, standard in ((cc, "c", "c99"),
                                             (cc, "c", "c11"),
                                             (cxx, "c++", "c++11")):
            printed = compile_and_run(folder, env, library, compiler, language,
                                      standard)
            require(printed == version, f"the program prints {version}")


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


def subproject(source, meson, _version, _cc, _cxx, folder):
    host = folder / "host"
    make_host(source, host)
    for library in ("shared", "static"):
        build = folder / f"build {library}"
        run([meson, "setup", build, host, f"-Ddefault_library={library}",
             "--force-fallback-for=lbroute"])
        check_targets(meson, build)
        run([meson, "compile", "-C", build])
        run([meson, "test", "-C", build, "--no-rebuild"])


def main():
    arguments = sys.argv[1:]
    last = len(arguments) - 1 - arguments[::-1].index("--")
    way, source, meson, version, dashes, *cc = arguments[:last]
    require(dashes == "--" and cc, "usage as above")
    with tempfile.TemporaryDirectory(prefix="lbroute consumer ") as folder:
        {"installed": installed, "subproject": subproject}[way](
            pathlib.Path(source), meson, version, cc, arguments[last + 1:],
            pathlib.Path(folder))
    print(f"{way}: all consumers built and ran")


if __name__ == "__main__":
    main()
