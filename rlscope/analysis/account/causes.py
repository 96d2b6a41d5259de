"""The causes of an account: what a person calls that for which a process's time went."""

from rlscope.model import Name


class Cause(Name):
    """A cause, by what time was for or what held it up. Of a training's stage the cause is the stage.

    Attributes:
        words: What a screen calls it; that of a stage is followed by the layer, that of a wait by whom it was for.
        is_known: Whether it says why the time went; of other time it is known only where it lies.
        has_layers: Whether its rows are told apart by layers.
        change: What to do about it, where that is the same for all programs.
    """

    words: str
    is_known: bool
    has_layers: bool
    change: str

    STARTING_UP = "starting_up", "starting up", True, False, ""
    NO_CORE = "no_core", "waiting for a core", True, False, ""
    EVALUATION = "evaluation", "evaluation", True, False, "evaluate less often, or fewer episodes"
    CALLBACK = "callback", "callbacks", True, False, "do less in callbacks, or call them less often"
    CHECKPOINT = "checkpoint", "checkpoints", True, False, "save less often, or less: a replay buffer is large"
    LOG = "log", "logging", True, False, "log less often"
    RENDER = "render", "rendering", True, False, "do not render while training: make environments without render_mode"
    GARBAGE_COLLECTION = (
        "garbage_collection", "garbage collection", True, False,
        "collect garbage less often: no gc.collect() in the loop; gc.freeze() once what lives long is made",
    )  # fmt: skip
    COMPILE = "compile", "compiling", True, False, "compile once: the same shapes and the same functions in each call"
    IMPORT = "import", "imports", True, False, "import before the loop"
    SIMULATION = "simulation", "simulation", True, True, ""
    INFERENCE = "inference", "inference", True, True, ""
    UPDATE = "backpropagation", "update", True, True, ""
    SYNCHRONISATION = "synchronisation", "synchronisation", True, True, ""
    GPU = "gpu", "waiting for the GPU", True, False, ""
    COMMUNICATION = "communication", "communication between GPUs", True, False, ""
    DISK = "disk", "waiting for the disk", True, False, "write and read files less often, or beside the loop"
    WAITING = "waiting", "waiting", True, False, ""  # for processes, of which `on` says which, or in a function
    # Of a wait for processes what their work does not explain; where they lived one after the other, and where not.
    PROCESSES = (
        "processes", "starting and ending processes", True, False,
        "start processes once: workers that stay (persistent_workers=True), or none",
    )  # fmt: skip
    SLOWEST = "slowest", "waiting for the slowest", True, False, ""
    PICKLING = (
        "pickling", "packing and unpacking messages", True, False,
        "send less between processes: arrays rather than lists, many at once, or by shared memory",
    )  # fmt: skip
    MAKING = "making", "making environments", True, False, "make environments once, and reset them for each episode"
    MESSAGES = "messages", "messages and taking turns", True, False, ""
    NO_STAGE = "no_stage", "in no stage", False, True, ""
    NO_LOOP = "no_loop", "in no loop", False, True, ""
    BLOCKED = "blocked", "blocked, not known in what", False, False, ""
    RECORDING = "recording", "recording itself", True, False, ""
    AFTERWARDS = "afterwards", "afterwards", True, False, ""
