// Most is found as Python gets it; what the file itself says is put beside it.
#include "swept.h"

#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "python_rows.h"
#include "swept_detail.h"

namespace rlscope {
namespace {

constexpr size_t kPropertyNotesKept = 20;

Owned loop(const SweepResult& result) {
  if (!result.loop) return none();
  return tuple(number(result.loop->start_ticks), number(result.loop->end_ticks));
}

std::vector<std::string> reasons_for_incompleteness(const TraceFile& file) {
  const FileHeader& header = file.header();
  std::vector<std::string> reasons;
  if (header.end_reason == EndReason::kFailed) {
    reasons.push_back("the trace could not be written to its end: " +
                      std::generic_category().message(static_cast<int>(header.stop_errno)));
  } else if (!file.is_finished()) {
    reasons.push_back("recording did not end in an orderly way: the process was killed or is still running");
  }
  if (header.dropped_records) reasons.push_back(std::to_string(header.dropped_records) + " records were dropped");
  if (header.dropped_device_records) {
    reasons.push_back(std::to_string(header.dropped_device_records) + " records of GPU work were dropped");
  }
  if (auto cell = static_cast<uint32_t>(header.children_without_file)) {
    reasons.push_back("of its forked children " + std::to_string(children_of(cell)) +
                      " could not make a file: " + std::generic_category().message(static_cast<int>(errno_of(cell))));
  }
  reasons.insert(reasons.end(), file.damage().begin(), file.damage().end());
  if (file.damage_count() > file.damage().size()) {
    reasons.push_back(std::to_string(file.damage_count() - file.damage().size()) + " more places are damaged");
  }
  return reasons;
}

}  // namespace

Owned properties(const TraceFile& file, PyObject* why) {
  Owned merged = checked(PyDict_New());
  if (file.properties().empty()) return merged;
  Owned json = checked(PyImport_ImportModule("json"));
  size_t refused = 0;
  for (const std::string& entry : file.properties()) {
    Owned source = text(entry);
    Owned parsed(PyObject_CallMethod(json.get(), "loads", "O", source.get()));
    if (parsed && PyDict_Check(parsed.get())) {
      check(PyDict_Update(merged.get(), parsed.get()));
      continue;
    }
    if (!parsed && !PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_RecursionError)) {
      throw PythonError{};
    }
    PyErr_Clear();
    if (++refused > kPropertyNotesKept) continue;
    append(why, text("properties of the process are not a JSON object: " + entry.substr(0, 80)));
  }
  if (refused > kPropertyNotesKept) {
    append(why, text(std::to_string(refused - kPropertyNotesKept) + " more properties are not JSON objects"));
  }
  return merged;
}

Owned to_swept(const TraceFile& file, const SweepResult& result, PyObject* borders) {
  const FileHeader& header = file.header();
  ToPython to_python;
  Owned dict = checked(PyDict_New());
  auto add = [&](const char* name, const auto& found) { put(dict.get(), name, to_python(found)); };
  result.each(add);
  add("start_ticks", result.start_ticks);
  add("end_ticks", result.end_ticks);
  add("last_record_ticks", result.last_record_ticks);
  add("dropped_records", header.dropped_records);
  add("dropped_device_records", header.dropped_device_records);
  add("misnested_operations", header.misnested_operations);
  add("unresolved_launches", header.unresolved_launches);
  add("transitions_in_loop", result.transitions_in_loop);
  add("events", result.events);
  add("crossings", result.crossings);
  add("collectives", result.collectives);
  add("torn_stacks", result.torn_stacks);
  put(dict.get(), "loop", loop(result));
  add("beside_ticks", result.beside_ticks);
  add("threads_in_operations", result.threads_in_operations);
  add("cupti_work", result.cupti_work);
  add("gaps", result.gaps);
  add("correction", result.correction);
  put(dict.get(), "detail", result.detail ? to_swept(*result.detail, borders, to_python) : none());
  add("chunk_change_ticks", file.chunk_change_ticks());
  Owned why = to_python(reasons_for_incompleteness(file));
  put(dict.get(), "properties", properties(file, why.get()));
  put(dict.get(), "why", checked(PyList_AsTuple(why.get())));
  return data_class("rlscope.analysis.swept", "Swept", dict.get());
}

}  // namespace rlscope
