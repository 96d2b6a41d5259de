// Which threads run no Python of their own, and when one of them first called CUDA or back into Python: rules 7 and 10 of
// docs/analysis.md.
#pragma once
#include <cstdint>
#include <set>
#include <utility>

#include "sweep_tables.h"
#include "sweep_thread.h"
#include "trace_file.h"

namespace rlscope {

// Only native code can be what calls CUDA or back into Python on a thread that has shown no Python of its own.
inline bool is_called_by_native_code(const SweepTables::NameState& name) {
  return name.kind == NameKind::kBoundary &&
         (name.category == kPython || name.category == kCuda || name.category == kCudaWait);
}

class NativeThreads {
 public:
  // Looks at how a thread begins of which the first chunks are not read later.
  void meet(TraceFile& file, const StreamIndex& stream, const SweepTables& tables);
  bool shows_python(uint32_t stream) const { return python_streams_.count(stream) > 0; }
  // One of them has called.
  void note_call() { have_called_ = true; }
  // For how much of a gap the thread waited, and for how much of it it had no core.
  AbsentParts parts_of(const Thread& thread, const AbsentGap& gap) const;

 private:
  bool have_called_ = false;
  // When, and on which stream, one did so first in the chunks that are not read; and the streams that show Python there.
  std::pair<uint64_t, uint32_t> first_call_{kNever, 0};
  std::set<uint32_t> python_streams_;
};

}  // namespace rlscope
