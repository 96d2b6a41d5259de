"""manifest.json is replaced in one step, and damage in it is named."""

from pathlib import Path

import pytest

from rlscope.errors import TraceFormatError
from rlscope.trace.manifest import read_manifest, write_manifest


def test_round_trip(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) == {}
    write_manifest(tmp_path, {"complete": False})
    write_manifest(tmp_path, {"complete": True, "command": ["ü"]})
    assert read_manifest(tmp_path) == {"complete": True, "command": ["ü"]}
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_damage_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(TraceFormatError, match=r"manifest\.json.*delete it"):
        read_manifest(tmp_path)
