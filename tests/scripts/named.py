"""Functions and methods that only `--operation` names: each sleeps, so that its time is known."""

import json
import sys
import time
from pathlib import Path

#: What is written beside the script: a package that re-exports, one that imports when asked, and a plain module.
MODULES = {
    "envs/__init__.py": "from envs.my import Env, rollout\n",
    "envs/my.py": (
        "import time\n"
        "class Env:\n"
        "    def step(self): time.sleep(0.02)\n"
        "    @staticmethod\n"
        "    def reset(seed): time.sleep(0.02); return seed\n"
        "    @classmethod\n"
        "    def make(cls): time.sleep(0.02); return cls()\n"
        "class Wrapped(Env):\n"
        "    def step(self): time.sleep(0.02); super().step()\n"
        "def rollout(): time.sleep(0.02)\n"
    ),
    "lazy/__init__.py": (
        "import importlib, sys, types\n"
        "class Lazy(types.ModuleType):\n"
        "    def __getattr__(self, name):\n"
        "        if name not in ('Mixin', 'helper'): raise AttributeError(name)\n"
        "        return getattr(importlib.import_module('lazy.inner.implementation'), name)\n"
        "lazy = Lazy(__name__)\n"
        "lazy.__path__, lazy.__spec__ = __path__, __spec__\n"
        "sys.modules[__name__] = lazy\n"
    ),
    "lazy/inner/__init__.py": "",
    "lazy/inner/implementation.py": (
        "import time\nclass Mixin:\n    def generate(self): time.sleep(0.02)\ndef helper(): time.sleep(0.02)\n"
    ),
    "lazy/model.py": "from lazy.inner.implementation import Mixin, helper\nclass Model(Mixin): ...\n",
}


def write_modules(folder: Path) -> None:
    for name, text in MODULES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


class Judge:
    def score(self) -> None:
        time.sleep(0.02)


def main() -> None:
    sys.path.insert(0, sys.argv[1])
    write_modules(Path(sys.argv[1]))
    import envs
    from envs.my import rollout  # not the package's name for it
    from lazy.model import Model, helper

    assert envs.my.Env.make() is not None
    assert (envs.Env.reset(seed=3), envs.my.Wrapped.reset(4)) == (3, 4)
    for call in (envs.my.Wrapped().step, rollout, Model().generate, helper, Judge().score):
        call()
    print(json.dumps(sorted(name for name in sys.modules if name.startswith("lazy"))))


if __name__ == "__main__":
    main()
