// A flying point mass whose every step computes for a stated time, as long as a photo-realistic simulator's would.
// A stand-in for one: what it computes in that time besides the flight is thrown away.
#define Py_LIMITED_API 0x030A0000  // one build serves every Python that the case studies run in
#include <Python.h>

#include <chrono>
#include <cmath>

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSeconds = 0.05;  // of the flight, in one step
constexpr double kGravity = 9.81;

volatile double wasted;

void compute_until(Clock::time_point end) {
  double value = 0.5;
  while (Clock::now() < end) {
    for (int i = 0; i < 1000; i++) value = std::sin(value) + 0.5;
  }
  wasted = value;
}

PyObject* step(PyObject*, PyObject* args) {
  double position[3], velocity[3], thrust[3], milliseconds;
  if (!PyArg_ParseTuple(args, "(ddd)(ddd)(ddd)d", &position[0], &position[1], &position[2], &velocity[0], &velocity[1],
                        &velocity[2], &thrust[0], &thrust[1], &thrust[2], &milliseconds)) {
    return nullptr;
  }
  Py_BEGIN_ALLOW_THREADS;
  Clock::time_point start = Clock::now();
  for (int axis = 0; axis < 3; axis++) {
    velocity[axis] += kSeconds * (thrust[axis] - (axis == 2 ? kGravity : 0));
    position[axis] += kSeconds * velocity[axis];
  }
  compute_until(start + std::chrono::nanoseconds(static_cast<long long>(milliseconds * 1e6)));
  Py_END_ALLOW_THREADS;
  return Py_BuildValue("(ddd)(ddd)", position[0], position[1], position[2], velocity[0], velocity[1], velocity[2]);
}

PyMethodDef methods[] = {
    {"step", step, METH_VARARGS,
     "step(position, velocity, thrust, milliseconds)\n--\n\nPosition and velocity 0.05 s of flight later, in metres. "
     "The call computes for so many milliseconds."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "slow_simulator", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_slow_simulator() { return PyModule_Create(&module); }
