// Python's exceptions for what is wrong with a file.
#include "python_errors.h"

#include <cerrno>
#include <cstring>

namespace rlscope {

void raise_format_error(const char* message) {
  Owned errors(PyImport_ImportModule("rlscope.errors"));
  if (!errors) return;
  Owned type(PyObject_GetAttrString(errors.get(), "TraceFormatError"));
  Owned sentence(PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(std::strlen(message)), "replace"));
  if (type && sentence) PyErr_SetObject(type.get(), sentence.get());
}

void raise_os_error(const std::system_error& error, PyObject* path) {
  errno = error.code().value();
  PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
}

}  // namespace rlscope
