"""Commands as they are shown: without what may be secret, for what shows them is sent around."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

#: Stands where a secret may have stood.
HIDDEN = "…"
#: What is called by such a name may be one.
SECRETS = ("key", "token", "secret", "passw")
NAME = re.compile(r"[-+\w.]+")
#: Between a name and its value, and where an option and its value are two words.
EQUALS = re.compile(r"[\"']?\s*[=:]\s*")
SPACE = re.compile(r"\s+(?!-)")
#: A value ends where a shell's word does.
VALUE = re.compile(r"(?:\\.|\"(?:\\.|[^\"\\])*\"?|'[^']*'?|[^\s\"'\\&;|<>(),}])+", re.DOTALL)
#: Behind such a word a script follows, as in `sh -c`.
BEFORE_SCRIPT = re.compile(r"-[a-z]*c")


def command_of(manifest: Mapping[str, Any]) -> str:
    """Return the command in a manifest as one types it, without what may be secret; empty if there is none."""
    words = manifest.get("command")
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        return ""
    return without_secrets([words[0].rpartition("/")[2], *words[1:]])


def without_secrets(words: Sequence[str]) -> str:
    """Return a command as one types it into a shell, without the values of options and variables that may be secret."""
    shown: list[str] = []
    before = ""
    for word in words:
        name = NAME.match(word)
        if before.startswith("-") and NAME.fullmatch(before) and _is_secret(before) and not word.startswith("-"):
            shown.append(HIDDEN)
        elif name and _is_secret(name[0]) and word.startswith("=", name.end()) and not BEFORE_SCRIPT.fullmatch(before):
            shown.append(f"{shlex.quote(name[0])}={HIDDEN}")
        else:
            shown.append(shlex.quote(_without_secrets_inside(word)))
        before = word
    return " ".join(shown)


def _without_secrets_inside(text: str) -> str:
    """Return a script, an address or a document likewise."""
    parts: list[str] = []
    done = 0
    for name in NAME.finditer(text):
        if name.start() < done or not _is_secret(name[0]):
            continue
        gap = EQUALS.match(text, name.end()) or (SPACE.match(text, name.end()) if name[0].startswith("-") else None)
        value = VALUE.match(text, gap.end()) if gap else None
        if gap and value:
            parts += [text[done : gap.end()], HIDDEN]
            done = value.end()
    return "".join([*parts, text[done:]])


def _is_secret(name: str) -> bool:
    return any(part in name.lower() for part in SECRETS)
