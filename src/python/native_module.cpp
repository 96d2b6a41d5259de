// The extension module rlscope._native: bindings of the recorder, no logic.
#include <Python.h>

#include <cerrno>
#include <string>

#include "blocking_calls.h"
#include "built_classes.h"
#include "class_names.h"
#include "collective_calls.h"
#include "collector.h"
#include "compiled_calls.h"
#include "ended_processes.h"
#include "function_objects.h"
#include "garbage_collections.h"
#include "hooked.h"
#include "interception.h"
#include "launched_objects.h"
#include "memory_samples.h"
#include "environment_steps.h"
#include "greenlets.h"
#include "imports.h"
#include "layout_check.h"
#include "network_calls.h"
#include "noticed_requests.h"
#include "scope.h"
#include "session.h"
#include "stack_sampler.h"
#include "tasks.h"

#ifdef Py_GIL_DISABLED
#error "rlscope cannot record a free-threaded Python: stopping relies on the GIL. Build it for the usual Python."
#endif

namespace rlscope {
namespace {

constexpr unsigned long kMostAmplification = 1000;

PyObject* start(PyObject*, PyObject* directory) {
  PyObject* encoded;
  if (!start_tasks()) return nullptr;
  if (!PyUnicode_FSConverter(directory, &encoded)) return nullptr;
  int error = Session::start(PyBytes_AS_STRING(encoded));
  Py_DECREF(encoded);
  if (error == 0) Py_RETURN_NONE;
  errno = error;
  return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, directory);
}

PyObject* arm(PyObject*, PyObject*) {
  if (!start_tasks()) return nullptr;
  Session::arm();
  Py_RETURN_NONE;
}

PyObject* measure_waits(PyObject*, PyObject* is_wanted) {
  int wanted = PyObject_IsTrue(is_wanted);
  if (wanted < 0) return nullptr;
  Session::measure_waits(wanted != 0);
  Py_RETURN_NONE;
}

PyObject* stop(PyObject*, PyObject* args) {
  int reason = static_cast<int>(EndReason::kStopped);
  if (!PyArg_ParseTuple(args, "|i", &reason)) return nullptr;
  stop_tasks();
  Session::stop(static_cast<EndReason>(reason));
  Py_RETURN_NONE;
}

PyObject* pause(PyObject*, PyObject* reason) {
  long value = PyLong_AsLong(reason);
  if (PyErr_Occurred()) return nullptr;
  Session::pause(static_cast<EndReason>(value));
  Py_RETURN_NONE;
}

PyObject* amplify(PyObject*, PyObject* value) {
  unsigned long times = PyLong_AsUnsignedLong(value);
  if (PyErr_Occurred()) return nullptr;
  if (times < 1 || times > kMostAmplification) {
    return PyErr_Format(PyExc_ValueError, "a record is written 1 to %lu times, not %lu", kMostAmplification, times);
  }
  Session::amplify(static_cast<uint32_t>(times));
  Py_RETURN_NONE;
}

PyObject* is_main_interpreter(PyObject*, PyObject*) {
  return PyBool_FromLong(PyInterpreterState_Get() == PyInterpreterState_Main());
}

PyObject* is_recording(PyObject*, PyObject*) { return PyBool_FromLong(Session::is_recording()); }

PyObject* trace_path(PyObject*, PyObject*) {
  std::string path = Session::path();
  return PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size()));
}

PyObject* write_properties(PyObject*, PyObject* json) {
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(json, &size);
  if (!text) return nullptr;
  Session::write_properties({text, static_cast<size_t>(size)});
  Py_RETURN_NONE;
}

PyObject* record_progress(PyObject*, PyObject* args) {
  int is_baseline;
  unsigned long long timesteps, total_timesteps;
  if (!PyArg_ParseTuple(args, "pKK", &is_baseline, &timesteps, &total_timesteps)) return nullptr;
  if (StreamWriter* writer = Session::writer()) writer->report(ProgressNumbers{is_baseline != 0, timesteps, total_timesteps});
  Py_RETURN_NONE;
}

PyObject* enable_cuda(PyObject*, PyObject* directories) {
  const char* text = PyUnicode_AsUTF8(directories);
  if (!text) return nullptr;
  cuda::enable(text);
  Py_RETURN_NONE;
}

PyObject* disable_cuda(PyObject*, PyObject*) {
  cuda::disable();
  Py_RETURN_NONE;
}

PyObject* release_cupti(PyObject*, PyObject* holder) {
  const char* text = PyUnicode_AsUTF8(holder);
  if (!text) return nullptr;
  cuda::release(text);
  Py_RETURN_NONE;
}

PyObject* reattach_cupti(PyObject*, PyObject*) {
  cuda::reattach();
  Py_RETURN_NONE;
}

PyObject* cuda_status(PyObject*, PyObject*) {
  cuda::Status status = cuda::status();
  return Py_BuildValue("{s:s,s:s,s:s,s:I,s:i}", "state", status.state, "error", status.error.c_str(), "cupti_path",
                       status.cupti_path.c_str(), "cupti_version", status.cupti_version, "driver_version",
                       status.driver_version);
}

PyObject* find_cupti(PyObject*, PyObject* args) {
  const char* directories;
  int driver_version;
  if (!PyArg_ParseTuple(args, "si:find_cupti", &directories, &driver_version)) return nullptr;
  std::string error;
  std::string path = cuda::find_cupti(directories, driver_version, error);
  if (!path.empty()) return PyUnicode_DecodeFSDefault(path.c_str());
  PyErr_SetString(PyExc_OSError, error.c_str());
  return nullptr;
}

PyMethodDef functions[] = {
    {"arm", arm, METH_NOARGS, "arm()\n--\n\nFollow open operations, so that a later start() begins inside them."},
    {"measure_waits", measure_waits, METH_O,
     "measure_waits(is_wanted)\n--\n\nWhether threads that begin to record ask for how long they were blocked."},
    {"start", start, METH_O, "start(directory)\n--\n\nStart this process's file in the directory of a trace."},
    {"stop", stop, METH_VARARGS, "stop(reason=1)\n--\n\nComplete the file; `reason` as in trace_format.h."},
    {"pause", pause, METH_O,
     "pause(reason)\n--\n\nComplete the file as stop() does, and follow open operations as arm() does."},
    {"amplify", amplify, METH_O,
     "amplify(times)\n--\n\nMake each record cost as much as so many, to measure what one costs; 1 is the usual."},
    {"is_main_interpreter", is_main_interpreter, METH_NOARGS,
     "is_main_interpreter()\n--\n\nWhether the caller is in the process's first interpreter: a process has one recording."},
    {"is_recording", is_recording, METH_NOARGS, "is_recording()\n--\n\nWhether this process records now."},
    {"trace_path", trace_path, METH_NOARGS, "trace_path()\n--\n\nThe file being written, '' if none."},
    {"write_properties", write_properties, METH_O, "write_properties(json)\n--\n\nAdd facts about this process."},
    {"record_progress", record_progress, METH_VARARGS,
     "record_progress(is_baseline, timesteps, total_timesteps)\n--\n\nRecord how far training is."},
    {"enable_cuda", enable_cuda, METH_O,
     "enable_cuda(directories)\n--\n\nRecord CUDA, now or once it is used; libcupti may lie in directories, ':' between."},
    {"disable_cuda", disable_cuda, METH_NOARGS, "disable_cuda()\n--\n\nRecord CUDA no longer."},
    {"release_cupti", release_cupti, METH_O,
     "release_cupti(holder)\n--\n\nLet another profiler have CUPTI until reattach_cupti()."},
    {"reattach_cupti", reattach_cupti, METH_NOARGS, "reattach_cupti()\n--\n\nRecord CUDA again, and the gap."},
    {"find_cupti", find_cupti, METH_VARARGS,
     "find_cupti(directories, driver_version)\n--\n\nThe libcupti that enable_cuda would use; OSError if there is none."},
    {"cuda_status", cuda_status, METH_NOARGS, "cuda_status()\n--\n\nHow recording CUDA goes, as a dict."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "The recorder inside the measured process.", -1, functions,
                          nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace rlscope

PyMODINIT_FUNC PyInit__native() {
  if (!rlscope::has_known_layout()) return nullptr;
  PyObject* module = PyModule_Create(&rlscope::definition);
  rlscope::sample_memory();
  if (module && (!rlscope::add_scopes(module) || !rlscope::add_interception(module) ||
                 !rlscope::add_compiled_calls(module) || !rlscope::add_function_objects(module) ||
                 !rlscope::add_launched_objects(module) || !rlscope::add_blocking_calls(module) || !rlscope::add_network_calls(module) ||
                 !rlscope::add_environment_steps(module) || !rlscope::add_imports(module) || !rlscope::add_collective_calls(module) ||
                 !rlscope::add_greenlets(module) ||
                 PyModule_AddIntConstant(module, "PYTHON", static_cast<long>(rlscope::Category::kPython)) != 0 ||
                 PyModule_AddIntConstant(module, "WAIT", static_cast<long>(rlscope::Category::kWait)) != 0 ||
                 PyModule_AddIntConstant(module, "END_STOPPED", static_cast<long>(rlscope::EndReason::kStopped)) != 0 ||
                 PyModule_AddIntConstant(module, "END_LIMIT", static_cast<long>(rlscope::EndReason::kLimit)) != 0 ||
                 !rlscope::add_built_classes(module) || !rlscope::add_class_names(module) || !rlscope::add_hooked(module) ||
                 !rlscope::add_ended_processes(module) || !rlscope::add_noticed_requests(module) || !rlscope::add_garbage_collections(module) || !rlscope::add_stack_sampler(module))) {
    Py_CLEAR(module);
  }
  return module;
}
