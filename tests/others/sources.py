"""Fetches the distributions that ship other people's tests, by version and digest, and unpacks them."""

import hashlib
import subprocess
import sys
import tarfile
from pathlib import Path

from suites import Source


def fetch(source: Source, folder: Path) -> Path:
    """The archive of a source, from the folder or else from the registry.

    Raises:
        SystemExit: It did not come, or is not what the table says.
    """
    for archive in folder.glob("*.tar.gz"):
        if hashlib.sha256(archive.read_bytes()).hexdigest() == source.sha256:
            return archive
    folder.mkdir(parents=True, exist_ok=True)
    wanted = folder / f"{source.name}.txt"
    wanted.write_text(f"{source.requirement} --hash=sha256:{source.sha256}\n")
    options = ("--quiet", "--no-deps", "--no-binary", ":all:", "--ignore-requires-python", "--require-hashes")
    command = (sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), "--requirement", str(wanted))
    if subprocess.run(command, check=False).returncode != 0:
        raise SystemExit(f"expected {source.requirement} with the digest of suites.toml, found the errors above")
    return fetch(source, folder)


def unpack(archive: Path, folder: Path) -> None:
    """Unpacks an archive without the folder that its names begin with."""
    with tarfile.open(archive) as packed:
        for member in packed.getmembers():
            _, _, member.name = member.name.partition("/")
            if member.name:
                packed.extract(member, folder, filter="data")
