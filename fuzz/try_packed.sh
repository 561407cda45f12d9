#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Usage: fuzz/try_packed.sh DIR
#
# Runs .clusterfuzzlite/build.sh as OSS-Fuzz does, with clang and libFuzzer of this
# machine, into DIR/out. Then looks at what it left: each fuzzer has its seeds and
# options, needs no library that is not everywhere, and runs them and some inputs
# more.

# shellcheck source=tools/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/setup.sh"

case ${1-} in
-h | --help)
    print_help
    exit 0
    ;;
"" | -*)
    fail "where to? (see --help)"
    ;;
esac
install_missing "${build_packages[@]}" "${fuzz_packages[@]}" zip unzip

place=$(mkdir -p "$1" && cd "$1" && pwd)
rm -rf "$place/src" "$place/out" "$place/seeds"
mkdir -p "$place/src" "$place/work" "$place/out" "$place/seeds"
ln -s "$root" "$place/src/lbroute"

# As in the images of OSS-Fuzz.
instrument="-O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address"
SRC=$place/src WORK=$place/work OUT=$place/out CC=clang CXX=clang++ \
    CFLAGS=$instrument CXXFLAGS=$instrument \
    LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
    bash -eu "$root/.clusterfuzzlite/build.sh" >"$place/build.log" 2>&1 ||
    {
        tail -n 30 "$place/build.log" >&2
        fail "the build failed: see $place/build.log"
    }

# Everywhere: the C library, and what clang itself links.
everywhere='linux-vdso|ld-linux|/lib(c|m|gcc_s|dl|pthread|rt|resolv|stdc\+\+)\.'

try_fuzzer() {
    local fuzzer=$1 name options
    name=$(basename "$fuzzer")
    ldd "$fuzzer" | grep -Ev "$everywhere" && return 1
    unzip -q "${fuzzer}_seed_corpus.zip" -d "$place/seeds/$name" || return 1
    options=(-runs=5000 -max_total_time=20 -seed=1
        "-$(sed -n 's/^max_len = /max_len=/p' "$fuzzer.options")")
    [ ! -f "$fuzzer.dict" ] || options+=("-dict=$fuzzer.dict")
    "$fuzzer" "${options[@]}" "$place/seeds/$name" >"$place/$name.log" 2>&1
}

passed=0
failed=0
for packed in "$place"/out/*.options; do
    if try_fuzzer "${packed%.options}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: ${packed%.options}"
    fi
done
echo "$passed passed, $failed failed"
[ "$passed" -gt 0 ] && [ "$failed" = 0 ]
