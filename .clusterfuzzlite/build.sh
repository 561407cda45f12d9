#!/bin/bash -eu
# SPDX-License-Identifier: MIT
# Builds the fuzzers in the environment of OSS-Fuzz and ClusterFuzzLite, and packs
# for each what belongs to it. fuzz/try_packed.sh runs it elsewhere.
#
#   $SRC/lbroute           the repository
#   $WORK, $OUT            where to build, and where to leave what is run
#   $CC, $CFLAGS, $CXX, $CXXFLAGS    compilers, with sanitizers and coverage
#   $LIB_FUZZING_ENGINE    what to link with

build=$WORK/lbroute
rm -rf "$build"

# Linked statically: where fuzzers run there are no libraries.
meson setup "$build" "$SRC/lbroute" --buildtype=plain \
    -Dfuzzing_engine="$LIB_FUZZING_ENGINE" \
    -Ddefault_library=static -Dprefer_static=true -Db_lundef=false \
    -Dtools=disabled -Dbench=disabled -Ddocs=disabled \
    -Dexamples=enabled -Dgateway=enabled -Dtests=enabled
ninja -C "$build" fuzzers

# pack NAME LONGEST SEEDS DICTIONARY
pack() {
    local to=$OUT/fuzz_$1
    cp "$build/fuzz/fuzzer-$1" "$to"
    printf '[libfuzzer]\nmax_len = %s\n' "$2" >"$to.options"
    zip -qj "${to}_seed_corpus.zip" "$3"/*
    [ -z "$4" ] || cp "$4" "$to.dict"
}

while IFS=$'\t' read -r name longest seeds dictionary; do
    [[ $name = \#* ]] || pack "$name" "$longest" "$seeds" "$dictionary"
done <"$build/fuzz/fuzzers.txt"
