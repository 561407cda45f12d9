# SPDX-License-Identifier: MIT
"""lbroute installed into a prefix, and the programs that find it there."""

import pathlib
import shlex
import shutil

from steps import require, run

HERE = pathlib.Path(__file__).resolve().parent
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
LIBRARY_ONLY = [f"-D{part}=disabled"
                for part in ("tools", "bench", "examples", "tests", "docs")]


class Prefix:
    """One kind of library, built and installed in a folder with a space."""

    def __init__(self, context, folder, library):
        self.context, self.library = context, library
        build = folder / f"build {library}"
        self.path = folder / f"prefix {library}"
        meson = context.meson
        run([meson, "setup", build, context.source, f"--prefix={self.path}",
             "--libdir=lib", f"-Ddefault_library={library}", *LIBRARY_ONLY],
            context.compilers)
        run([meson, "compile", "-C", build])
        run([meson, "install", "-C", build, "--no-rebuild"])
        self.env = {
            "PKG_CONFIG_LIBDIR": str(self.path / "lib" / "pkgconfig"),
            "LD_LIBRARY_PATH": str(self.path / "lib")}

    def files(self):
        return {path.relative_to(self.path).as_posix()
                for path in self.path.rglob("*") if not path.is_dir()}

    def prints_version(self, program):
        version = self.context.version
        require(run([program], self.env).strip() == version,
                f"{program} prints {version}")

    def pkg_config(self, *options):
        return shlex.split(run(["pkg-config", *options, "lbroute"], self.env))


def check_files(prefix):
    expected = {
        "include/lbroute/ingest.h", "include/lbroute/lbroute.h",
        "include/lbroute/version.h", "lib/pkgconfig/lbroute.pc",
        "lib/cmake/lbroute/lbroute-config.cmake",
        "lib/cmake/lbroute/lbroute-config-version.cmake"}
    files = prefix.files()
    require(expected <= files, f"{sorted(expected)} in {sorted(files)}")
    ending = ".a" if prefix.library == "static" else ".so"
    rest = files - expected
    require(rest and all(name.startswith("lib/liblbroute" + ending)
                         for name in rest),
            f"only lib/liblbroute{ending}* besides: {sorted(rest)}")


def check_pkg_config(prefix):
    """The .pc is whole without the packages that the build used."""
    require(prefix.pkg_config("--modversion") == [prefix.context.version],
            "the version in the .pc file")
    requires = prefix.pkg_config("--print-requires")
    requires += prefix.pkg_config("--print-requires-private")
    require(not requires, f"the .pc file requires nothing: {requires}")


def compile_program(prefix, folder, compiler, language, standard, *options):
    """The consumer with what pkg-config says; `options` for the linker last."""
    program = folder / f"consumer {prefix.library} {standard} {len(options)}"
    static = ["--static"] if prefix.library == "static" else []
    run([*compiler, *STRICT, f"-std={standard}", *options,
         *prefix.pkg_config("--cflags"), "-x", language, HERE / "consumer.c",
         "-x", "none", "-o", program, *prefix.pkg_config(*static, "--libs")])
    prefix.prints_version(program)


def with_pkg_config(prefix, folder):
    check_pkg_config(prefix)
    cc, cxx = prefix.context.cc, prefix.context.cxx
    compile_program(prefix, folder, cc, "c", "c99")
    compile_program(prefix, folder, cc, "c", "c11")
    compile_program(prefix, folder, cxx, "c++", "c++11")
    if prefix.library == "static":
        compile_program(prefix, folder, cxx, "c++", "c++11", "-O2", "-flto",
                        "-Wl,--gc-sections")


def moved(prefix, folder):
    """A copy elsewhere, since CMake's package holds no path of its own."""
    place = folder / f"moved {prefix.library}"
    if not place.exists():
        shutil.copytree(prefix.path, place, symlinks=True)
    return place


def cmake_project(folder):
    project = folder / "cmake project"
    project.mkdir(exist_ok=True)
    shutil.copy(HERE / "cmake" / "CMakeLists.txt", project)
    shutil.copy(HERE / "consumer.c", project)
    return project


def cmake(prefix, folder, asked, fails=False, **settings):
    """Configures the project; returns its new build folder."""
    name = f"cmake {prefix.library} {asked} {len(settings)}"
    run(["cmake", "-S", cmake_project(folder), "-B", folder / name,
         f"-DCMAKE_PREFIX_PATH={moved(prefix, folder)}", f"-DASKED={asked}",
         *[f"-D{key}={value}" for key, value in settings.items()]],
        {**prefix.context.compilers, **prefix.env}, fails)
    return folder / name


def build_with_cmake(prefix, folder, asked, **settings):
    build = cmake(prefix, folder, asked, **settings)
    run(["cmake", "--build", build])
    for language in ("c", "cpp"):
        prefix.prints_version(build / f"consumer_{language}")


def check_versions(prefix, folder, family):
    major, minor = map(int, family.split("."))
    for version in ("", f"{family}...<{major}.{minor + 1}"):
        cmake(prefix, folder, version)
    for version in (f"{major}.{minor + 1}", major + 1, f"{family}.99"):
        cmake(prefix, folder, version, fails=True)


def with_cmake(prefix, folder):
    if not shutil.which("cmake"):
        print("not tested: CMake is not installed")
        return
    family = prefix.context.version.rpartition(".")[0]
    build_with_cmake(prefix, folder, family)
    if prefix.library == "static":
        build_with_cmake(prefix, folder, family, TARGET="lbroute::static")
    else:
        build_with_cmake(prefix, folder, family, FIND="pkgconfig",
                         TARGET="PkgConfig::lbroute")
        check_versions(prefix, folder, family)


def with_ctypes(prefix, _folder):
    if prefix.library == "static":
        return
    printed = run([prefix.context.python, HERE / "ctypes_consumer.py",
                   prefix.path / "lib" / "liblbroute.so"])
    require(printed.strip() == prefix.context.version, "ctypes' version")


def test(context, folder):
    for library in ("shared", "static"):
        prefix = Prefix(context, folder, library)
        check_files(prefix)
        for way in (with_pkg_config, with_cmake, with_ctypes):
            way(prefix, folder)
