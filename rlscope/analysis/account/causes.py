"""The causes of an account: what a person calls that for which a process's time went."""

from rlscope.model import Name


class Cause(Name):
    """A cause, by what time was for or what held it up. Of a training's stage the cause is the stage.

    Attributes:
        words: What a screen calls it; that of a stage is followed by the layer, that of a wait by whom it was for.
        is_known: Whether it says why the time went; of other time it is known only where it lies.
        has_layers: Whether its rows are told apart by layers.
    """

    words: str
    is_known: bool
    has_layers: bool

    STARTING_UP = "starting_up", "starting up", True, False
    NO_CORE = "no_core", "waiting for a core", True, False
    OPERATOR_THREADS = "operator_threads", "waiting for operator threads", True, False
    EVALUATION = "evaluation", "evaluation", True, False
    CALLBACK = "callback", "callbacks", True, False
    CHECKPOINT = "checkpoint", "checkpoints", True, False
    LOG = "log", "logging", True, False
    RENDER = "render", "rendering", True, False
    GARBAGE_COLLECTION = "garbage_collection", "garbage collection", True, False
    COMPILE = "compile", "compiling", True, False
    IMPORT = "import", "imports", True, False
    SIMULATION = "simulation", "simulation", True, True
    INFERENCE = "inference", "inference", True, True
    UPDATE = "backpropagation", "update", True, True
    SYNCHRONISATION = "synchronisation", "synchronisation", True, True
    GPU = "gpu", "waiting for the GPU", True, False
    COMMUNICATION = "communication", "communication between GPUs", True, False
    DISK = "disk", "waiting for the disk", True, False
    WAITING = "waiting", "waiting", True, False  # for processes, of which `on` says which, or in a function
    # Of a wait for processes what their work does not explain; where they lived one after the other, and where not.
    PROCESSES = "processes", "starting and ending processes", True, False
    SLOWEST = "slowest", "waiting for the slowest", True, False
    PICKLING = "pickling", "packing and unpacking messages", True, False
    MAKING = "making", "making environments", True, False
    MESSAGES = "messages", "messages and taking turns", True, False
    STUCK = "stuck", "stuck", True, False  # at the end, when nothing went on any more
    NO_STAGE = "no_stage", "in no stage", False, True
    NO_LOOP = "no_loop", "in no loop", False, True
    BLOCKED = "blocked", "blocked, not known in what", False, False
    RECORDING = "recording", "recording itself", True, False
    AFTERWARDS = "afterwards", "afterwards", True, False
