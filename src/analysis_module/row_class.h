// Makes rows of Python's classes for what a sweep finds.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "demangle.h"
#include "python_values.h"

namespace rlscope {

// Python's copies of labels, one of each however many rows it is in.
class LabelTexts {
 public:
  Owned operator()(std::string_view label, bool is_mangled = false) {
    Owned& known = texts_[label.data()];
    if (!known) known = is_mangled ? text(demangled(std::string(label))) : text(label);
    return Owned(Py_NewRef(known.get()));
  }

 private:
  std::unordered_map<const char*, Owned> texts_;
};

class RowClass {
 public:
  explicit RowClass(const char* name, const char* module = "rlscope.analysis.swept") {
    class_ = checked(PyObject_GetAttrString(checked(PyImport_ImportModule(module)).get(), name));
  }

  template <typename... Items>
  Owned operator()(Items... items) const {
    return checked(PyObject_Call(class_.get(), tuple(std::move(items)...).get(), nullptr));
  }

  Owned from(PyObject* fields) const { return checked(PyObject_Call(class_.get(), Owned(PyTuple_New(0)).get(), fields)); }

 private:
  Owned class_;
};

}  // namespace rlscope
