// The functions of rlscope._analysis that give a process's slices to files for other programs.
#pragma once
#include "python_values.h"

namespace rlscope {

PyObject* py_slice_batches(PyObject*, PyObject* args, PyObject* kwargs);
PyObject* py_perfetto_slices(PyObject*, PyObject* args, PyObject* kwargs);

constexpr char kSliceBatchesHelp[] =
    "slice_batches(path, window, communicators, most_slices, on_batch, recover=False)\n--\n\n"
    "Gives the slices of one process to on_batch, and returns their tracks.";
constexpr char kPerfettoSlicesHelp[] =
    "perfetto_slices(path, window, communicators, first_number, write, recover=False)\n--\n\n"
    "Gives the slices of one process to write, as packets of Perfetto, and returns their tracks.";

}  // namespace rlscope
