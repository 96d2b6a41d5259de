#!/usr/bin/env bash
# Print the prefix under which CMake finds GoogleTest: nothing where it is installed, else a copy unpacked into build/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ -e /usr/include/gtest/gtest.h || -e /usr/local/include/gtest/gtest.h ]]; then exit; fi
unpacked=build/googletest
if [[ ! -e $unpacked/usr/include/gtest/gtest.h ]]; then
    mkdir -p $unpacked/packages
    if ! (cd $unpacked/packages && apt-get -qq download libgtest-dev) >&2; then
        echo "GoogleTest is missing; CMake will try to fetch it. To install it: apt-get install libgtest-dev" >&2
        exit
    fi
    dpkg -x $unpacked/packages/libgtest-dev_*.deb $unpacked
fi
echo "$PWD/$unpacked/usr"
