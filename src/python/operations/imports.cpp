// An import is an operation where one is open already, so that those before the training loop do not begin it. Of imports
// inside each other the outermost is one. Modules that are imported already do not come here.
#include "imports.h"

#include "hooked.h"
#include "scope.h"
#include "session.h"
#include "stream_writer.h"

namespace rlscope {
namespace {

PyObject* import_scope;

bool opens_operation() {
  StreamWriter* writer = Session::writer();
  if (!writer) return false;
  uint32_t id = id_of_scope(import_scope);
  if (id == 0) PyErr_Clear();
  for (uint32_t depth = writer->depth(); id != 0 && depth > 0; depth--) {
    uint32_t open = writer->frame(depth - 1).id;
    if (Session::kind_of(open) == NameKind::kOperation) return open != id;
  }
  return false;
}

PyObject* call_import(PyObject* hooked, PyObject* const* arguments, size_t count, PyObject* names) {
  if (opens_operation()) return call_hooked(hooked, arguments, count, names);
  return PyObject_Vectorcall(function_of(hooked), arguments, count, names);
}

PyObject* follow_imports(PyObject*, PyObject* args) {
  PyObject *hooked, *scope;
  if (!PyArg_ParseTuple(args, "OO", &hooked, &scope)) return nullptr;
  if (!is_scope(scope)) return PyErr_Format(PyExc_TypeError, "a scope was expected, not %R", scope);
  Py_XSETREF(import_scope, Py_NewRef(scope));
  set_entry(hooked, call_import);
  return Py_NewRef(hooked);
}

PyMethodDef functions[] = {
    {"follow_imports", follow_imports, METH_VARARGS,
     "follow_imports(hooked, scope)\n--\n\nCalls of a `Hooked`, which imports a module, run in its scope, which is this, "
     "inside other operations only. Returns it."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_imports(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
