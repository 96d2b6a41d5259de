// Makes rows of Python's classes for what a sweep finds.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

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

  // A list of rows: `values_of` gives the values of each as a tuple.
  template <typename Item, typename ValuesOf>
  Owned list(const std::vector<Item>& items, ValuesOf values_of) const {
    Owned list = checked(PyList_New(0));
    for (const Item& item : items) {
      append(list.get(), checked(PyObject_Call(class_.get(), values_of(item).get(), nullptr)));
    }
    return list;
  }

  Owned from(PyObject* fields) const { return checked(PyObject_Call(class_.get(), tuple().get(), fields)); }

 private:
  Owned class_;
};

// A row of what devices did.
struct DeviceClass : RowClass {
  explicit DeviceClass(const char* name) : RowClass(name, "rlscope.analysis.devices.swept") {}
};

}  // namespace rlscope
