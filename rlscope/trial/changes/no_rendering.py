"""Draw each environment once at most."""

from typing import Any

from rlscope.trial.change import Function, Making

ALTERS = "what is shown, and what is made of pictures: the first one stands for all"
IS_OF_WALL = False
_KEEP = "gymnasium.make(...) without render_mode, and no env.render() in the loop"


def prepare(making: Making) -> None:
    """Give the first picture of an environment again and again; where it goes to a screen, none."""

    def first_alone(render: Function) -> Function:
        def drawn(self: Any, *args: Any, **kwargs: Any) -> Any:
            making.met("render", _KEEP)
            if not making.is_on:
                return render(self, *args, **kwargs)
            frames = vars(self)
            if "_rlscope_frame" not in frames:
                is_shown = getattr(self, "render_mode", None) == "human"
                frames["_rlscope_frame"] = None if is_shown else render(self, *args, **kwargs)
            return frames["_rlscope_frame"]

        return drawn

    making.after_import("gymnasium.core", lambda module: making.replace_method(module.Env, "render", first_alone))
