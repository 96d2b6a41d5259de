// The floor of a crossing: in the place of a native function's entry one that reads the clock before and behind it, and
// writes nothing. And the time of calls whose data is no longer in the processor's caches.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <time.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace {

constexpr size_t kCacheLine = 64;

PyMethodDef* exchanged;  // one function at a time
PyCFunction original;

void read_clock() {
  uint64_t ticks = __rdtsc();
  asm volatile("" : : "r"(ticks));
}

PyObject* call(PyObject* self, PyObject* argument) {
  read_clock();
  PyObject* result = original(self, argument);
  read_clock();
  return result;
}

PyObject* call_with_keywords(PyObject* self, PyObject* arguments, PyObject* keywords) {
  read_clock();
  PyObject* result = reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(original))(self, arguments, keywords);
  read_clock();
  return result;
}

PyObject* exchange(PyObject*, PyObject* function) {
  if (exchanged || !PyCFunction_Check(function)) return PyErr_Format(PyExc_ValueError, "one native function was expected, not %R", function);
  PyMethodDef* found = reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
  int flags = found->ml_flags & ~METH_STATIC;
  bool has_keywords = flags == (METH_VARARGS | METH_KEYWORDS);
  if (!has_keywords && flags != METH_O) return PyErr_Format(PyExc_ValueError, "%R takes its arguments in another way", function);
  exchanged = found;
  original = found->ml_meth;
  found->ml_meth = has_keywords ? reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_with_keywords)) : call;
  Py_RETURN_NONE;
}

PyObject* put_back(PyObject*, PyObject*) {
  if (exchanged) exchanged->ml_meth = original;
  exchanged = nullptr;
  Py_RETURN_NONE;
}

uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

PyObject* cold_call_ns(PyObject*, PyObject* args) {
  PyObject *function, *argument;
  Py_ssize_t calls, bytes;
  if (!PyArg_ParseTuple(args, "OOnn", &function, &argument, &calls, &bytes)) return nullptr;
  std::vector<uint8_t> others(static_cast<size_t>(bytes), 1);
  std::vector<uint64_t> lengths;
  uint64_t started_ns = monotonic_ns(), started = __rdtsc();
  for (Py_ssize_t i = 0; i < calls; i++) {
    for (size_t at = 0; at < others.size(); at += kCacheLine) others[at]++;
    uint64_t before = __rdtsc();
    PyObject* result = PyObject_CallOneArg(function, argument);
    lengths.push_back(__rdtsc() - before);
    if (!result) return nullptr;
    Py_DECREF(result);
  }
  double ns_per_tick = static_cast<double>(monotonic_ns() - started_ns) / static_cast<double>(__rdtsc() - started);
  // Where the clock goes in steps of 10 ns, as in some virtual machines, a median would too.
  std::sort(lengths.begin(), lengths.end());
  auto quarter = calls / 4;
  double sum = std::accumulate(lengths.begin() + quarter, lengths.end() - quarter, 0.0);
  return PyFloat_FromDouble(sum / static_cast<double>(calls - 2 * quarter) * ns_per_tick);
}

PyMethodDef functions[] = {
    {"exchange", exchange, METH_O, "exchange(function)\n--\n\nCalls of a native function read the clock twice from now on."},
    {"put_back", put_back, METH_NOARGS, "put_back()\n--\n\nThe function is as before."},
    {"cold_call_ns", cold_call_ns, METH_VARARGS,
     "cold_call_ns(function, argument, calls, bytes)\n--\n\nThe mean of the middle half of so many calls, before each of which so "
     "many other bytes were written."},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "floor", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_floor() { return PyModule_Create(&module); }
