#!/usr/bin/env bash
# Prints a compiler for wheels that run with glibc 2.24 and newer: the host's g++ with the C and C++ libraries of Debian 11,
# which this unpacks into build/sysroot (12 MB to download). It needs apt-get, and Debian's keys, by which apt checks them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
sysroot=$PWD/build/sysroot
if [[ ! -x $sysroot/g++ ]]; then
    for program in apt-get dpkg g++; do
        command -v $program >/dev/null || { echo "get_sysroot.sh: expected $program on PATH, found none; make wheels on Debian, or with CXX=g++ for this machine's glibc" >&2; exit 1; }
    done
    rm -rf "$sysroot"
    mkdir -p "$sysroot"/{lists/partial,cache,debs,root}
    touch "$sysroot/status"
    mirror=$(. /etc/os-release && [[ $ID != debian ]] || sed -n 's/^URIs: //p' /etc/apt/sources.list.d/*.sources | head -1)
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    [[ -e $keys ]] || { echo "get_sysroot.sh: expected Debian's keys in $keys, found none; apt-get install debian-archive-keyring" >&2; exit 1; }
    echo "deb [signed-by=$keys] ${mirror:-http://deb.debian.org/debian} bullseye main" >"$sysroot/sources.list"
    apt=(apt-get -qq -o "Dir::Etc::SourceList=$sysroot/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$sysroot/lists" -o "Dir::Cache=$sysroot/cache" -o "Dir::State::status=$sysroot/status")
    "${apt[@]}" update >&2
    (cd "$sysroot/debs" && "${apt[@]}" download libc6 libc6-dev linux-libc-dev libstdc++-10-dev libgcc-10-dev libgcc-s1 \
        libstdc++6 libcrypt-dev libcrypt1 >&2)
    for package in "$sysroot"/debs/*.deb; do dpkg -x "$package" "$sysroot/root"; done
    libraries=$sysroot/root/usr/lib/gcc/x86_64-linux-gnu/10
    rm -r "$libraries/include" # GCC 10's intrinsics, which do not fit the host's GCC
    ln -sf ../lib/x86_64-linux-gnu/ld-2.31.so "$sysroot/root/lib64/ld-linux-x86-64.so.2"
    cat >"$sysroot/g++.made" <<END
#!/bin/sh
exec g++ --sysroot=$sysroot/root -B$libraries -B$sysroot/root/usr/lib/x86_64-linux-gnu -nostdinc++ \\
  -isystem $sysroot/root/usr/include/c++/10 -isystem $sysroot/root/usr/include/x86_64-linux-gnu/c++/10 -L$libraries "\$@"
END
    chmod +x "$sysroot/g++.made"
    mv "$sysroot/g++.made" "$sysroot/g++"
fi
echo "$sysroot/g++"
