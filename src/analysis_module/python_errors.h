// How errors pass from C++ to Python, and how Python's other threads run meanwhile.
#pragma once
#include <new>
#include <system_error>

#include "python_values.h"
#include "trace_file.h"

namespace rlscope {

void raise_format_error(const char* message);
void raise_os_error(const std::system_error& error, PyObject* path);

// Lets other Python threads run for as long as it exists.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// Runs `work` and turns what it throws into Python errors. `path`: of the file that is read, for the system's errors.
template <typename Work>
PyObject* with_python_errors(PyObject* path, Work work) {
  try {
    return work();
  } catch (const PythonError&) {
  } catch (const TraceDamage& damage) {
    raise_format_error(damage.what());
  } catch (const std::system_error& error) {
    raise_os_error(error, path);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  return nullptr;
}

}  // namespace rlscope
