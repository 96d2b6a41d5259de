"""This builds packages by scikit-build-core, and installs a checkout so that an edit of Python needs no build.

scikit-build-core's own editable installs put an import hook into every Python that starts, which measured programs
would feel. Here the compiled modules go into the source tree, which a path file names.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scikit_build_core.build import (
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).resolve().parents[1]
get_requires_for_build_editable = get_requires_for_build_wheel
prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def compile_in_place() -> None:
    """Compile `src/` into `rlscope/` for this Python."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])  # CMake may be a package of it
    cmake = str(shutil.which("cmake", path=path))
    folder = str(ROOT / "build" / "in-place" / str(sys.implementation.cache_tag))
    generator = ["-G", "Ninja"] if shutil.which("ninja", path=path) else []
    options = ["-DRLSCOPE_IN_PLACE=ON", f"-DPython_EXECUTABLE={sys.executable}"]
    for words in ["-S", str(ROOT), "-B", folder, *generator, *options], ["--build", folder, "--parallel"]:
        subprocess.run([cmake, *words], check=True, env=os.environ | {"PATH": path})


def build_editable(
    wheel_directory: str, config_settings: "dict[str, Any] | None" = None, metadata_directory: "str | None" = None
) -> str:
    """Compile in place, and make a wheel that only names the checkout; returns the wheel's name."""
    compile_in_place()
    with TemporaryDirectory() as made:
        info = Path(made) / prepare_metadata_for_build_wheel(made, config_settings)
        (Path(made) / "rlscope.pth").write_text(f"{ROOT}\n")
        files = [path for path in Path(made).rglob("*") if path.is_file()]
        names = [path.relative_to(made).as_posix() for path in files] + [f"{info.name}/RECORD"]
        (info / "RECORD").write_text("".join(f"{name},,\n" for name in names))
        wheel = f"{info.name.removesuffix('.dist-info')}-0.editable-py3-none-any.whl"
        with zipfile.ZipFile(Path(wheel_directory) / wheel, "w") as archive:
            for name in names:
                archive.write(Path(made) / name, name)
    return wheel
