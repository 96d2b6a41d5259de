"""Completion in a real bash: of verbs, options and directories of traces, by the installed command."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BASH = shutil.which("bash")
# As readline does when somebody presses Tab behind the last word.
PRESS_TAB = """
PATH={bin}:$PATH
eval "$(_RLSCOPE_COMPLETE=bash_source rlscope)"
type compopt >/dev/null
compopt() {{ [[ $2 == dirnames ]] && COMPREPLY+=($(compgen -d -- "${{COMP_WORDS[COMP_CWORD]}}"))
             [[ $2 == default ]] && COMPREPLY+=($(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}")); return 0; }}
COMP_WORDS=({words})
COMP_CWORD=$(({count} - 1))
"$(complete -p rlscope | sed 's/.*-F \\([^ ]*\\).*/\\1/')" rlscope
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completions(folder: Path, *words: str) -> list[str]:
    """What bash offers behind the words, of which the last may be empty."""
    listed = " ".join(f"'{word}'" for word in words)
    script = PRESS_TAB.format(bin=Path(sys.executable).parent, words=listed, count=len(words))
    finished = subprocess.run(
        [BASH or "bash", "--norc", "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )
    assert finished.stderr == ""
    return sorted(finished.stdout.split())


@pytest.mark.skipif(BASH is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("rlscope", "an"), ["analyze"]),
        (("rlscope", "analyze", "--rec"), ["--recover"]),
        (("rlscope", "analyze", "tr"), ["trace"]),
        (("rlscope", "report", "trace", "-o", "tr"), ["trace", "train.py"]),
        (("rlscope", "record", "--", "python", "tr"), ["trace", "train.py"]),
        (("rlscope", "analyze", "--gpu-attribution", "co"), ["coincident"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_tab(words: tuple[str, ...], offered: list[str], tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    (tmp_path / "train.py").touch()
    assert completions(tmp_path, *words) == offered
