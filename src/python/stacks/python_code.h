// What code objects are, read where they lie and without the GIL: their names, files and lines.
#pragma once
#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "python_memory.h"

namespace rlscope {

// The start of a code object, as far as it is looked at.
constexpr size_t kCodeHead = offsetof(PyCodeObject, co_linetable) + sizeof(PyObject*);
// So many bytes of a name tell whether it is still the same.
constexpr size_t kNameChecked = 64;

struct KnownCode {
  uint32_t id;
  uint32_t first_line;
  std::vector<uint32_t> lines;  // by code unit
  const void *type, *name, *file, *line_table;
  const void* characters;      // of the name
  std::string checked_bytes;  // of these, the first
  uint64_t checked_at = 0;  // how many code objects the program had freed when it was last checked

  // The line of an instruction, counted in code units; before the first one it is the first line.
  uint32_t line_at(ptrdiff_t instruction) const { return instruction < 0 ? first_line : lines[static_cast<size_t>(instruction)]; }
};

class CodeTable {
 public:
  using OnNew = bool (*)(uint32_t id, uint32_t first_line, const std::string& name, const std::string& file);

  // `on_new` is told of each function with a new id; false from it: there is no use for it.
  explicit CodeTable(OnNew on_new) : on_new_(on_new) {}

  void clear();
  // The id of a function. Of very many, or with very long texts, all later ones are one.
  uint32_t id_of(uint32_t first_line, const std::string& name, const std::string& file);
  // From now on the program counts the code objects that it frees. Needs the GIL; to be called before `find`.
  static void count_freed();
  // How many it had freed: as long as that is the same, a code object that was found lies where it lay.
  static uint64_t freed();
  // Finds the code objects at these addresses, in the same order. False where one is none, or changed meanwhile. What was
  // seen is read again only once the program has freed a code object since: before that no other one can lie there.
  bool find(const std::vector<const void*>& addresses, std::vector<const KnownCode*>& found);

 private:
  KnownCode* learn(const void* address);
  bool check(uint64_t freed);

  OnNew on_new_;
  std::unordered_map<const void*, KnownCode> known_;
  size_t known_lines_ = 0;  // at least as many as the known ones have
  std::map<std::tuple<std::string, std::string, uint32_t>, uint32_t> ids_;  // by file, name and first line
  size_t characters_ = 0;  // of all texts
  std::unordered_map<const void*, KnownCode*> to_check_;
  MemoryReads reads_;
  std::vector<uint8_t> buffer_;
};

}  // namespace rlscope
