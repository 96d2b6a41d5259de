// A class that was changed after this was compiled is refused: its rows would be filled wrongly.
#include "python_rows.h"

namespace rlscope {
namespace {

// The class, and the names of its fields as its attribute has them; neither where there is no such class.
std::pair<Owned, Owned> find_class(const char* module, const char* name, const char* attribute) {
  Owned found(PyObject_GetAttrString(checked(PyImport_ImportModule(module)).get(), name));
  Owned names(found ? PyObject_GetAttrString(found.get(), attribute) : nullptr);
  PyErr_Clear();
  return {std::move(found), names ? checked(PySequence_List(names.get())) : checked(PyList_New(0))};
}

void expect_fields(const char* module, const char* name, PyObject* expected, PyObject* found) {
  int is_same = PyObject_RichCompareBool(expected, found, Py_EQ);
  check(is_same);
  if (is_same) return;
  Owned errors = checked(PyImport_ImportModule("rlscope.errors"));
  PyErr_Format(checked(PyObject_GetAttrString(errors.get(), "RLScopeError")).get(),
               "the compiled part of rlscope was built for a %s.%s with the fields %S, but found %S; build it again: make build, "
               "or pip install",
               module, name, expected, found);
  throw PythonError{};
}

}  // namespace

PyTypeObject* ToPython::type_of(const PythonClass& declared) {
  Owned& known = types_[&declared];
  if (!known) {
    auto [found, fields] = find_class(declared.module, declared.name, "_fields");
    expect_fields(declared.module, declared.name, checked(PyUnicode_Split(text(declared.fields).get(), nullptr, -1)).get(),
                  fields.get());
    known = std::move(found);
  }
  return reinterpret_cast<PyTypeObject*>(known.get());
}

Owned data_class(const char* module, const char* name, PyObject* fields) {
  auto [found, names] = find_class(module, name, "__dataclass_fields__");
  Owned expected = checked(PySequence_List(fields));
  check(PyList_Sort(expected.get()));
  check(PyList_Sort(names.get()));
  expect_fields(module, name, expected.get(), names.get());
  return checked(PyObject_Call(found.get(), tuple().get(), fields));
}

}  // namespace rlscope
