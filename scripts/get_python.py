"""Print the path of a Python that is newer than this system's, unpacked into build/ from packages of a newer Debian.

    scripts/get_python.py 3.14
    scripts/get_python.py --update      names the packages anew, in requirements/debian_pythons.txt

It needs Debian's apt and patchelf, and no rights: nothing is installed, and the interpreter is told to load the C
library that it was made for.
"""

import hashlib
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "debian_pythons"
LOCK = ROOT / "requirements" / "debian_pythons.txt"
SUITE = "forky"
POOL = "http://deb.debian.org/debian/"
#: Keeps for good what the pool drops, by the day on which it was there.
SNAPSHOTS = "http://snapshot.debian.org/archive/debian/{}T000000Z/"
VERSIONS = ("3.14", "3.15")
LIBRARIES = (
    "libc6", "libgcc-s1", "libexpat1", "zlib1g", "libssl3t64", "libffi8", "libbz2-1.0", "liblzma5", "libsqlite3-0",
    "libuuid1", "libzstd1", "libtinfo6", "libncursesw6", "libreadline8t64", "python3-pip-whl",
)  # fmt: skip
PARTS = ("libpython{}-minimal", "libpython{}-stdlib", "libpython{}-dev", "python{}-minimal", "python{}-venv")


def ask_apt(*words: str) -> str:
    """Run apt on lists of its own, of the suite alone, and return what it prints."""
    source, status = BUILD / "sources.list", BUILD / "status"
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (BUILD / folder).mkdir(parents=True, exist_ok=True)
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    source.write_text(f"deb [arch=amd64 signed-by={key}] {POOL} {SUITE} main\n")
    status.touch()
    options = {
        "Dir::Etc::SourceList": source, "Dir::Etc::SourceParts": "/dev/null", "Dir::State": BUILD / "state",
        "Dir::State::Status": status, "Dir::Cache": BUILD / "cache", "Acquire::Check-Valid-Until": "false",
    }  # fmt: skip
    command = [words[0], *(f"-o{name}={value}" for name, value in options.items()), *words[1:]]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def update() -> None:
    """Write down which packages the suite has now."""
    ask_apt("apt-get", "-qq", "update")
    names = [*LIBRARIES, *(part.format(version) for version in VERSIONS for part in PARTS)]
    described = ask_apt("apt-cache", "show", "--no-all-versions", *names)
    facts = [
        dict(re.findall(r"^(Package|Filename|SHA256): (.+)$", text, re.MULTILINE)) for text in described.split("\n\n")
    ]
    lines = {fact["Package"]: f"{fact['SHA256']} {fact['Filename']}\n" for fact in facts if fact}
    release = next((BUILD / "state" / "lists").glob("*InRelease")).read_text()
    found = re.search(r"^Date: \w+, (\d+ \w+ \d+)", release, re.MULTILINE)
    if sorted(lines) != sorted(names) or found is None:
        raise SystemExit(f"expected {sorted(names)} and a date in {SUITE}, found {sorted(lines)}, {found}")
    day = subprocess.run(["date", "-d", found[1], "+%Y%m%d"], check=True, stdout=subprocess.PIPE, text=True).stdout
    head = f"# Debian {SUITE} of {day.strip()}: what scripts/get_python.py unpacks, which also writes this file.\n"
    LOCK.write_text(head + "".join(lines[name] for name in names))


def download(path: str, sha256: str, day: str) -> Path:
    """Return a package as it was written down.

    Raises:
        SystemExit: no server has it, or it is another.
    """
    file = BUILD / "packages" / Path(path).name
    if file.exists() and hashlib.sha256(file.read_bytes()).hexdigest() == sha256:
        return file
    file.parent.mkdir(parents=True, exist_ok=True)
    tried = []
    for server in (POOL, SNAPSHOTS.format(day)):
        try:
            with urllib.request.urlopen(server + path, timeout=60) as answer:
                data = answer.read()
        except urllib.error.URLError as error:
            tried.append(f"{server}: {error.reason}")
            continue
        if hashlib.sha256(data).hexdigest() == sha256:
            file.write_bytes(data)
            return file
        tried.append(f"{server}: another SHA-256")
    found = "; ".join(tried)
    raise SystemExit(f"get_python.py: expected {path}, found none ({found}); name newer ones by --update")


def unpack(version: str) -> Path:
    """Return the interpreter of that version, unpacked where its packages are not unpacked yet."""
    text = LOCK.read_text()
    root = BUILD / f"{version}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    python = root / "usr" / "bin" / f"python{version}"
    if python.exists():
        return python
    day = re.findall(r"^# Debian \w+ of (\d+)", text)[0]
    packages = [line.split() for line in text.splitlines()[1:]]
    others = {part.format(other) for other in VERSIONS if other != version for part in PARTS}
    making = Path(f"{root}.{os.getpid()}")
    for sha256, path in packages:
        if Path(path).name.split("_")[0] not in others:
            subprocess.run(["dpkg-deb", "--extract", download(path, sha256, day), making], check=True)
    settle(making, root, version)
    making.rename(root)
    return python


def settle(making: Path, root: Path, version: str) -> None:
    """Let the Python that lies in `making` run from `root`, which it will be called, instead of from `/`."""
    libraries = "usr/lib/x86_64-linux-gnu"
    loader = [
        "--set-interpreter",
        root / libraries / "ld-linux-x86-64.so.2",
        "--force-rpath",
        "--set-rpath",
        root / libraries,
    ]
    subprocess.run(["patchelf", *loader, making / "usr" / "bin" / f"python{version}"], check=True)
    for file in (making / "usr" / "lib" / f"python{version}").glob("_sysconfigdata*.py"):
        file.write_text(file.read_text().replace("'/usr/", f"'{root}/usr/"))
    # What stands in its place includes this one from where only Debian's own compiler looks.
    headers = making / "usr" / "include"
    (headers / "x86_64-linux-gnu" / f"python{version}" / "pyconfig.h").replace(
        headers / f"python{version}" / "pyconfig.h"
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    elif len(sys.argv) == 2 and sys.argv[1] in VERSIONS:
        print(unpack(sys.argv[1]))
    else:
        raise SystemExit(f"get_python.py: expected one of {', '.join(VERSIONS)} or --update, found {sys.argv[1:]}")
