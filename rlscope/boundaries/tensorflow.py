"""TensorFlow 2: eager operations, calls of compiled functions, gradients of tapes, sessions; tensors as arrays."""

from rlscope.model import Category
from rlscope.record.boundary import Boundary

EAGER = "tensorflow.python.pywrap_tfe"
BACKPROP = "tensorflow.python.eager.backprop"
SESSION = "tensorflow.python.client.pywrap_tf_session"
TENSOR = "tensorflow.python.framework.ops.EagerTensor"

BOUNDARIES = (
    Boundary(
        library=EAGER,
        category=Category.BACKEND,
        functions=tuple(
            f"{EAGER}.{name}"
            for name in (
                "TFE_Py_FastPathExecute",
                "TFE_Py_Execute",  # a compiled function is one such call
                "TFE_Py_ExecuteCancelable",
                "TFE_Py_TapeGradient",
                "TFE_ContextSyncExecutors",
            )
        ),
        # A tape calls the gradients of operations, and what makes and adds tensors of gradients.
        registered=(
            (BACKPROP, "_gradient_function", f"{EAGER}.TFE_Py_RegisterGradientFunction"),
            (BACKPROP, "_default_vspace", f"{EAGER}.TFE_Py_RegisterVSpace"),
        ),
        callback_takers=((EAGER, "TFE_Py_TapeSetRecordOperation"),),
        callbacks=(
            # tf.py_function and tf.numpy_function: on a thread of TensorFlow's, while the caller is in the backend.
            ("tensorflow.python.ops.script_ops", "FuncRegistry", "__call__"),
        ),
    ),
    Boundary(
        library="tensorflow.python.framework.ops",
        category=Category.BACKEND,
        functions=(f"{TENSOR}._numpy_internal", f"{TENSOR}._copy_to_device"),
        buffers=(TENSOR,),  # numpy.asarray(x)
        constructed=(TENSOR,),  # tensorflow.constant(x)
    ),
    Boundary(
        library=SESSION,
        category=Category.BACKEND,
        functions=(
            f"{SESSION}.TF_SessionRun_wrapper",
            f"{SESSION}.TF_SessionPRun_wrapper",
            f"{SESSION}.TF_SessionRunCallable",
        ),
    ),
)
