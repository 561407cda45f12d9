# SPDX-License-Identifier: MIT
# Shared by the commands of this folder, which source it. Sets `root`, the folder
# of the repository, and defines the functions below.
# shellcheck shell=bash

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What a release build needs, and what the tests need besides (Debian 12).
build_packages=(gcc libc6-dev meson ninja-build pkg-config libxxhash-dev
    zlib1g-dev liblzma-dev libjansson-dev libevent-dev libssl-dev
    libzmq3-dev libyaml-dev libyajl-dev libhiredis-dev)
python_packages=(python3-dev python3-venv)
chart_packages=(python3 python3-matplotlib)
test_packages=(g++ clang libclang-rt-14-dev clang-format-14 libcmocka-dev
    libmsgpack-dev doxygen openssl abigail-tools cmake reuse)
# The fuzzers; llvm-14 names the lines in their reports.
fuzz_packages=(clang libclang-rt-14-dev llvm-14 libcmocka-dev libmsgpack-dev)
# Line coverage of the tests.
coverage_packages=(gcovr libcmocka-dev libmsgpack-dev python3)

# What the gateway is tested with besides: official clients, a browser, Redis.
# Node.js may come from elsewhere.
gateway_packages=(python3-venv chromium redis-server)
command -v node >/dev/null || gateway_packages+=(nodejs)
command -v npm >/dev/null || gateway_packages+=(npm)

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# Prints the comment at the top of the calling script.
print_help() {
    sed -n '3,/^$/ s/^# \{0,1\}//p' "$0"
}

# Runs a command with the rights to install packages.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "packages are missing (${missing[*]}): run it as root, install" \
            "sudo, or install them yourself"
    fi
}

# Installs those of the named Debian packages that are missing. Where there is
# no dpkg, the build itself says what it lacks.
install_missing() {
    command -v dpkg-query >/dev/null || return 0
    missing=()
    local package
    for package in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" \
            2>/dev/null)" = installed ] || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "Installing: ${missing[*]}"
    as_root apt-get update -qq || echo "Package lists are not up to date."
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends -o DPkg::Lock::Timeout=300 "${missing[@]}" \
        >/dev/null || fail "could not install: ${missing[*]}"
}

# Debian's meson brings its own Python, whatever stands first in PATH.
run_meson() {
    if [ -x /usr/bin/meson ]; then
        /usr/bin/meson "$@"
    else
        meson "$@"
    fi
}

# configure DIR OPTION...: sets a build directory up, or brings it in line with
# the options. One that was copied here from another place is made anew.
configure() {
    local dir=$1
    shift
    if [ -f "$dir/build.ninja" ] &&
        grep -qsF "\"source\": \"$root\"" "$dir/meson-info/meson-info.json"; then
        run_meson setup --reconfigure "$@" "$dir" "$root" >/dev/null
        return
    fi
    [ ! -d "$dir/meson-private" ] || rm -rf "$dir"
    run_meson setup "$@" "$dir" "$root"
}

# ---- tests in stages ----

summary=()
passed=0
failed=0

# stage NAME COMMAND...: runs one stage and keeps its result for the summary.
stage() {
    local name=$1 begin=$SECONDS result=ok
    shift
    echo
    echo "=== $name"
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        result=FAILED
    fi
    summary+=("$(printf '%-42s %-6s %4d s' "$name" "$result" \
        $((SECONDS - begin)))")
}

# Prints a line a stage and how many passed; its status is 1 if any failed.
summarise() {
    echo
    echo "=== Summary"
    printf '%s\n' "${summary[@]}"
    echo "stages: $passed passed, $failed failed"
    [ "$failed" = 0 ]
}
