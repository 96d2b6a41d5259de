// What C++ found as Python's objects: a struct of swept_rows.h becomes a named tuple of the class that declares it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "demangle.h"
#include "python_values.h"
#include "slices.h"
#include "sweep_result.h"

namespace rlscope {

inline Owned none() { return Owned(Py_NewRef(Py_None)); }

// Python's copies of labels, one of each however many rows it is in. They are told apart by where they lie.
class LabelTexts {
 public:
  template <typename Make>
  Owned operator()(std::string_view label, Make make) {
    Owned& known = texts_[{label.data(), label.size()}];
    if (!known) known = make(label);
    return Owned(Py_NewRef(known.get()));
  }

 private:
  using Place = std::pair<const char*, size_t>;
  struct Hash {
    size_t operator()(const Place& place) const { return std::hash<const char*>()(place.first) ^ place.second << 48; }
  };
  std::unordered_map<Place, Owned, Hash> texts_;
};

// Labels must stay where they are for as long as it exists.
class ToPython {
 public:
  Owned operator()(bool value) { return truth(value); }
  Owned operator()(uint32_t value) { return number(value); }
  Owned operator()(uint64_t value) { return number(value); }
  Owned operator()(double value) { return checked(PyFloat_FromDouble(value)); }
  Owned operator()(MemoryOwner owner) { return number(static_cast<uint32_t>(owner)); }
  Owned operator()(const std::string& value) { return text(value); }
  Owned operator()(std::string_view label) { return labels_(label, text); }
  Owned operator()(MangledName name) {
    return symbols_(name.text, [](std::string_view symbol) { return text(demangled(std::string(symbol))); });
  }
  Owned operator()(Category category) { return (*this)(std::string_view(category_label(category))); }
  Owned operator()(Resource resource) { return (*this)(std::string_view(resource_label(resource))); }
  Owned operator()(LoopPart part) { return (*this)(std::string_view(part_label(part))); }
  Owned operator()(TrackKind kind) { return (*this)(std::string_view(kTrackKinds[static_cast<size_t>(kind)])); }

  template <typename Value>
  Owned operator()(const std::optional<Value>& value) {
    return value ? (*this)(*value) : none();
  }

  template <typename Key, typename Value>
  Owned operator()(const std::map<Key, Value>& values) {
    Owned dict = checked(PyDict_New());
    for (const auto& [key, value] : values) check(PyDict_SetItem(dict.get(), (*this)(key).get(), (*this)(value).get()));
    return dict;
  }

  // A column of bytes, or a list.
  template <typename Item>
  Owned operator()(const std::vector<Item>& items) {
    if constexpr (std::is_arithmetic_v<Item>) {
      return raw(items);
    } else {
      Owned list = checked(PyList_New(static_cast<Py_ssize_t>(items.size())));
      Py_ssize_t at = 0;
      for (const Item& item : items) PyList_SET_ITEM(list.get(), at++, (*this)(item).release());
      return list;
    }
  }

  // As the class itself makes it, but without running any Python.
  template <typename Row, const PythonClass* kDeclared = &Row::kPython>
  Owned operator()(const Row& row) {
    PyTypeObject* type = type_of(*kDeclared);
    return std::apply([&](const auto&... fields) {
      Owned made = checked(type->tp_alloc(type, sizeof...(fields)));
      Py_ssize_t at = 0;
      (PyTuple_SET_ITEM(made.get(), at++, (*this)(fields).release()), ...);
      return made;
    }, row.fields());
  }

 private:
  // A Python error is set where the class has other fields than it had when this was compiled.
  PyTypeObject* type_of(const PythonClass& declared);

  LabelTexts labels_, symbols_;
  std::unordered_map<const PythonClass*, Owned> types_;
};

// An object of a data class, from a dict with all its fields.
Owned data_class(const char* module, const char* name, PyObject* fields);

}  // namespace rlscope
