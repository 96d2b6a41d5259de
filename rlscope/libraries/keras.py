"""Keras 3 on any backend: a model fits, predicts, is evaluated and saved; its callbacks.

On TensorFlow and JAX a model that a script calls where no stage is open is inference. On PyTorch it may be part of an
update that nothing tells of before `backward`.
"""

from rlscope.model import CALLBACK, CHECKPOINT, EVALUATION
from rlscope.record.declared.kinds import Hook, MethodHook

#: The class that each backend's trainer is made from, so every model's.
TRAINER = ("keras.src.trainers.trainer", "Trainer")
MODEL = ("keras.src.models.model", "Model")
#: The classes that models are made from on these backends.
CALLED = (
    ("keras.src.backend.tensorflow.trainer", "TensorFlowTrainer"),
    ("keras.src.backend.jax.trainer", "JAXTrainer"),
)
CALLBACKS = ("keras.src.callbacks.callback_list", "CallbackList")

HOOKS: tuple[Hook, ...] = (
    MethodHook(*TRAINER, "fit", ("backpropagation",)),
    MethodHook(*TRAINER, "train_on_batch", ("backpropagation",)),
    MethodHook(*TRAINER, "predict", ("inference",)),
    MethodHook(*TRAINER, "predict_on_batch", ("inference",)),
    MethodHook(*TRAINER, "evaluate", ("inference",), phase=EVALUATION),
    MethodHook(*TRAINER, "test_on_batch", ("inference",), phase=EVALUATION),
    *(MethodHook(*owner, "__call__", ("inference",), is_traced=True, is_default=True) for owner in CALLED),
    MethodHook("keras.src.optimizers.base_optimizer", "BaseOptimizer", "apply", ("backpropagation",), is_traced=True),
    *(MethodHook(*MODEL, method, (CHECKPOINT,)) for method in ("save", "save_weights")),
    *(
        MethodHook(*CALLBACKS, f"on_{part}_{moment}", (CALLBACK,))
        for part in ("train", "epoch", "train_batch")
        for moment in ("begin", "end")
    ),
)
