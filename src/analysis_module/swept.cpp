// One function per table. Each makes rows of a class of rlscope/analysis/swept.py, whose fields are in the same order.
#include "swept.h"

#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "row_class.h"
#include "swept_detail.h"

namespace rlscope {
namespace {

constexpr size_t kPropertyNotesKept = 20;
constexpr const char* kLines = "rlscope.analysis.lines.swept";

Owned breakdown(const std::vector<BreakdownRow>& rows) {
  LabelTexts label;
  return RowClass("SweptTime").list(rows, [&](const BreakdownRow& row) {
    return tuple(label(row.phase), label(row.stage), label(row.operation), text(category_label(row.category)),
                 text(resource_label(row.resource)), number(row.ticks));
  });
}

Owned threads(const std::vector<BreakdownRow>& rows) {
  LabelTexts label;
  return RowClass("SweptThreadTime").list(rows, [&](const BreakdownRow& row) {
    return tuple(number(row.thread), label(row.phase), label(row.stage), label(row.operation),
                 text(category_label(row.category)), text(resource_label(row.resource)), number(row.ticks));
  });
}

Owned transitions(const std::vector<TransitionRow>& rows) {
  LabelTexts label;
  return RowClass("SweptTransition").list(rows, [&](const TransitionRow& row) {
    return tuple(label(row.stage), label(row.operation), text(category_label(row.from)), text(category_label(row.to)),
                 number(row.count));
  });
}

Owned phases(const SweepResult& result) {
  return RowClass("SweptPhase").list(result.phases, [](const PhaseRow& row) {
    return tuple(text(row.phase), number(row.start_ticks), number(row.end_ticks));
  });
}

Owned waits(const SweepResult& result) {
  LabelTexts label;
  return RowClass("SweptWait").list(result.waits, [&](const WaitRow& row) {
    return tuple(label(row.phase), label(row.name), number(row.count), number(row.ticks_in_operations),
                 number(row.ticks_in_loop), number(row.ticks));
  });
}

Owned outside(const SweepResult& result) {
  return RowClass("SweptOutside").list(result.outside, [](const OutsideRow& row) {
    return tuple(text(part_label(row.part)), text(category_label(row.category)), text(resource_label(row.resource)),
                 number(row.ticks));
  });
}

Owned tasks(const SweepResult& result) {
  LabelTexts label;
  return RowClass("SweptTask").list(result.tasks, [&](const TaskRow& row) {
    return tuple(label(row.operation), number(row.count), number(row.running_ticks), number(row.elapsed_ticks),
                 number(row.median_ticks), number(row.p99_ticks), number(row.longest_ticks));
  });
}

Owned lines(const SweepResult& result) {
  LabelTexts label;
  return RowClass("SweptLine", kLines).list(result.lines, [&](const LineRow& row) {
    return tuple(label(row.stage), label(row.operation), label(row.function), label(row.file), number(row.line),
                 number(row.stacks), number(row.ticks));
  });
}

constexpr const char* kMemory = "rlscope.analysis.memory.swept";

Owned memory(const SweepResult& result) {
  LabelTexts label;
  return RowClass("SweptMemory", kMemory).list(result.memory, [&](const MemoryRow& row) {
    return tuple(number(static_cast<uint32_t>(row.owner)), number(row.device), label(row.stage), label(row.operation),
                 number(row.samples), number(row.highest_bytes));
  });
}

Owned memory_series(const SweepResult& result) {
  return RowClass("SweptMemorySeries", kMemory).list(result.memory_series, [](const MemorySeries& row) {
    return tuple(number(static_cast<uint32_t>(row.owner)), number(row.device), number(row.peak_bytes), raw(row.ticks),
                 raw(row.used_bytes), raw(row.reports));
  });
}

Owned sync_points(const SweepResult& result) {
  LabelTexts label;
  return RowClass("SweptSyncPoint", kLines).list(result.sync_points, [&](const SyncPointRow& row) {
    return tuple(label(row.stage), label(row.operation), label(row.function), label(row.wait), number(row.count),
                 number(row.ticks), label(row.caller), label(row.file), number(row.line), number(row.line_stacks),
                 number(row.stacks));
  });
}

Owned call_sites(const SweepResult& result) {
  LabelTexts label;
  return RowClass("SweptCallSite", kLines).list(result.call_sites, [&](const CallSiteRow& row) {
    return tuple(label(row.stage), label(row.operation), text(category_label(row.category)), label(row.function),
                 label(row.caller), label(row.file), number(row.line), number(row.stacks), number(row.waiting_stacks),
                 checked(PyFloat_FromDouble(row.share_of_calls)), checked(PyFloat_FromDouble(row.share_of_ticks)),
                 checked(PyFloat_FromDouble(row.ticks)));
  });
}

Owned samples(const SweepResult& result) {
  LabelTexts label;
  return RowClass("SweptSample").list(result.samples, [&](const SampleRow& row) {
    return tuple(label(row.name), number(row.count), number(row.discarded), number(row.tokens),
                 number(row.discarded_tokens), number(row.oldest_version), number(row.newest_version),
                 number(row.staleness), number(row.most_staleness), number(row.timed), number(row.elapsed_ticks),
                 number(row.median_ticks), number(row.p99_ticks), number(row.longest_ticks), number(row.queue_ticks));
  });
}

Owned sample_tails(const SweepResult& result) {
  return RowClass("SweptSampleTail").list(result.sample_tails, [](const SampleTail& row) {
    return tuple(number(row.reports), number(row.samples), number(row.start_ticks), number(row.end_ticks),
                 number(row.worked_ticks));
  });
}

Owned collectives(const TraceFile& file, const CollectiveTable& found) {
  Owned names = checked(PyDict_New());
  for (uint32_t id : found.names) {
    Owned key = number(id);
    int is_known = PyDict_Contains(names.get(), key.get());
    check(is_known);
    if (!is_known) check(PyDict_SetItem(names.get(), key.get(), text(file.names()[id].text).get()));
  }
  return RowClass("SweptCollectives", "rlscope.analysis.ranks.swept")(
      std::move(names), raw(found.names), raw(found.sequences), raw(found.bytes), raw(found.calls), raw(found.waits),
      raw(found.ends));
}

Owned cuda_calls(const SweepResult& result) {
  return RowClass("SweptCudaCall").list(result.cuda_calls, [](const CudaCallRow& row) {
    return tuple(text(row.name), truth(row.waits), number(row.count));
  });
}

Owned devices(const SweepResult& result) {
  return RowClass("SweptDevice").list(result.devices, [](const DeviceRow& row) {
    return tuple(number(row.device), number(row.busy_ticks), number(row.communication_ticks),
                 number(row.exposed_ticks), number(row.kernels.count), number(row.kernels.ticks),
                 number(row.copies.count), number(row.copies.ticks), number(row.copies.bytes),
                 number(row.memsets.count), number(row.memsets.ticks), number(row.memsets.bytes));
  });
}

Owned device_operations(const SweepResult& result) {
  LabelTexts label;
  return RowClass("SweptDeviceOperation").list(result.device_operations, [&](const DeviceOperationRow& row) {
    return tuple(number(row.device), label(row.stage), label(row.operation), number(row.busy_ticks), number(row.exposed_ticks),
                 number(row.kernels));
  });
}

Owned device_work(const SweepResult& result) {
  LabelTexts label;
  return RowClass("SweptDeviceWork").list(result.device_work, [&](const DeviceWorkRow& row) {
    return tuple(number(row.device), label(row.stage), label(row.operation), label(row.name, true),
                 number(row.sum.count), number(row.sum.ticks), number(row.sum.bytes));
  });
}

// In no tail: those that are, are in device_idle's.
Owned idle(const SweepResult& result) {
  LabelTexts label;
  DeviceClass make_idle("SweptIdle");
  return DeviceClass("SweptProcessIdle").list(result.idle, [&](const IdleRow& row) {
    Owned idle = make_idle(label(row.stage), label(row.operation), text(category_label(row.category)),
                           truth(row.is_evaluation), label(row.wait), truth(false), number(row.ticks));
    return tuple(number(row.working), std::move(idle));
  });
}

Owned streams(const SweepResult& result) {
  return RowClass("SweptStream").list(result.streams, [](const StreamSummary& stream) {
    return tuple(number(stream.stream), number(stream.thread_id), number(stream.events));
  });
}

Owned bounds(const OverheadParts& parts) {
  return RowClass("PartBounds")(number(parts[0]), number(parts[1]), number(parts[2]));
}

Owned overhead_rows(const std::vector<OverheadRow>& values) {
  LabelTexts label;
  return RowClass("SweptOverhead").list(values, [&](const OverheadRow& row) {
    return tuple(label(row.phase), label(row.stage), label(row.operation), text(category_label(row.category)),
                 text(resource_label(row.resource)), bounds(row.parts));
  });
}

Owned loop(const SweepResult& result) {
  if (!result.loop) return Owned(Py_NewRef(Py_None));
  return tuple(number(result.loop->start_ticks), number(result.loop->end_ticks));
}

Owned correction(const SweepResult& result) {
  if (!result.correction) return Owned(Py_NewRef(Py_None));
  const Overhead& found = *result.correction;
  return RowClass("SweptCorrection")(overhead_rows(found.removed), overhead_rows(found.turned),
                                     bounds(found.uncorrectable), counts(found.charged), counts(found.uncalibrated));
}

Owned progress(const SweepResult& result) {
  if (!result.progress) return Owned(Py_NewRef(Py_None));
  const ProgressSummary& found = *result.progress;
  Owned baseline = found.baseline_timesteps ? number(*found.baseline_timesteps) : Owned(Py_NewRef(Py_None));
  return RowClass("SweptProgress")(number(found.iterations), number(found.first_ticks), number(found.first_timesteps),
                                   number(found.last_ticks), number(found.last_timesteps),
                                   number(found.total_timesteps), std::move(baseline), number(found.evaluation_ticks));
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
  Owned dict = checked(PyDict_New());
  put(dict.get(), "start_ticks", number(result.start_ticks));
  put(dict.get(), "end_ticks", number(result.end_ticks));
  put(dict.get(), "last_record_ticks", number(result.last_record_ticks));
  put(dict.get(), "dropped_records", number(header.dropped_records));
  put(dict.get(), "dropped_device_records", number(header.dropped_device_records));
  put(dict.get(), "misnested_operations", number(header.misnested_operations));
  put(dict.get(), "unresolved_launches", number(header.unresolved_launches));
  put(dict.get(), "breakdown", breakdown(result.breakdown));
  put(dict.get(), "threads", threads(result.threads));
  put(dict.get(), "transitions", transitions(result.transitions));
  put(dict.get(), "evaluation_transitions", transitions(result.evaluation_transitions));
  put(dict.get(), "events", counts(result.events));
  put(dict.get(), "crossings", counts(result.crossings));
  put(dict.get(), "phases", phases(result));
  put(dict.get(), "waits", waits(result));
  put(dict.get(), "tasks", tasks(result));
  put(dict.get(), "samples", samples(result));
  put(dict.get(), "sample_tails", sample_tails(result));
  put(dict.get(), "collectives", collectives(file, result.collectives));
  put(dict.get(), "lines", lines(result));
  put(dict.get(), "memory", memory(result));
  put(dict.get(), "memory_series", memory_series(result));
  put(dict.get(), "sync_points", sync_points(result));
  put(dict.get(), "call_sites", call_sites(result));
  put(dict.get(), "torn_stacks", number(result.torn_stacks));
  put(dict.get(), "outside", outside(result));
  put(dict.get(), "loop", loop(result));
  put(dict.get(), "beside_ticks", number(result.beside_ticks));
  put(dict.get(), "threads_in_operations", number(result.threads_in_operations));
  put(dict.get(), "cuda_calls", cuda_calls(result));
  put(dict.get(), "devices", devices(result));
  put(dict.get(), "device_operations", device_operations(result));
  put(dict.get(), "device_work", device_work(result));
  put(dict.get(), "idle", idle(result));
  put(dict.get(), "cupti_work", counts(result.cupti_work));
  put(dict.get(), "gaps", counts(result.gaps));
  put(dict.get(), "progress", progress(result));
  put(dict.get(), "correction", correction(result));
  put(dict.get(), "detail", result.detail ? to_swept(*result.detail, borders) : Owned(Py_NewRef(Py_None)));
  put(dict.get(), "streams", streams(result));
  put(dict.get(), "chunk_change_ticks", number(file.chunk_change_ticks()));
  Owned why = texts(reasons_for_incompleteness(file));
  put(dict.get(), "properties", properties(file, why.get()));
  put(dict.get(), "why", checked(PyList_AsTuple(why.get())));
  return RowClass("Swept").from(dict.get());
}

}  // namespace rlscope
