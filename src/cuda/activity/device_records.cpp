// The record layouts of CUPTI, and the order in which records are written.
#include "device_records.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "session.h"

namespace rlscope::cuda {
namespace {

using Kernel = CUpti_ActivityKernel10;
using Copy = CUpti_ActivityMemcpy6;
using PeerCopy = CUpti_ActivityMemcpyPtoP4;
using Set = CUpti_ActivityMemset4;
using Overhead = CUpti_ActivityOverhead3;

// These fields lie where CUPTI 12 has them too: its records are older versions of these, shorter at the end.
static_assert(offsetof(Kernel, start) == 16 && offsetof(Kernel, end) == 24 && offsetof(Kernel, deviceId) == 40 &&
              offsetof(Kernel, contextId) == 44 && offsetof(Kernel, streamId) == 48 &&
              offsetof(Kernel, correlationId) == 92 && offsetof(Kernel, name) == 104 &&
              offsetof(Kernel, graphId) == 156);
static_assert(offsetof(Copy, copyKind) == 4 && offsetof(Copy, bytes) == 8 && offsetof(Copy, start) == 16 &&
              offsetof(Copy, end) == 24 && offsetof(Copy, deviceId) == 32 && offsetof(Copy, contextId) == 36 &&
              offsetof(Copy, streamId) == 40 && offsetof(Copy, correlationId) == 44 && offsetof(Copy, graphId) == 72);
static_assert(offsetof(PeerCopy, bytes) == 8 && offsetof(PeerCopy, start) == 16 && offsetof(PeerCopy, end) == 24 &&
              offsetof(PeerCopy, deviceId) == 32 && offsetof(PeerCopy, contextId) == 36 &&
              offsetof(PeerCopy, streamId) == 40 && offsetof(PeerCopy, correlationId) == 60 &&
              offsetof(PeerCopy, graphId) == 80);
static_assert(offsetof(Set, bytes) == 8 && offsetof(Set, start) == 16 && offsetof(Set, end) == 24 &&
              offsetof(Set, deviceId) == 32 && offsetof(Set, contextId) == 36 && offsetof(Set, streamId) == 40 &&
              offsetof(Set, correlationId) == 44 && offsetof(Set, graphId) == 72);
static_assert(offsetof(Overhead, overheadKind) == 4 && offsetof(Overhead, start) == 24 &&
              offsetof(Overhead, end) == 32);

constexpr size_t kMostPending = 1 << 16;

const char* name_of_copy(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD: return "memcpy HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH: return "memcpy DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA: return "memcpy HtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH: return "memcpy AtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA: return "memcpy AtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD: return "memcpy AtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA: return "memcpy DtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD: return "memcpy DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH: return "memcpy HtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP: return "memcpy PtoP";
    default: return "memcpy";
  }
}

const char* name_of_overhead(CUpti_ActivityOverheadKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER: return "driver compiler";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH: return "CUPTI buffer flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION: return "CUPTI instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE: return "CUPTI resource";
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING: return "module loading by the runtime";
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING: return "lazy function loading";
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL: return "command buffer full";
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST: return "activity buffer request";
    case CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT: return "managed memory activity";
    default: return "overhead";
  }
}

template <typename Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

}  // namespace

void DeviceRecords::start(const CuptiLibrary& library, const LaunchTable& launches) {
  std::lock_guard<std::mutex> lock(mutex_);
  library_ = &library;
  launches_ = &launches;
  converter_.clear();
  last_graphs_.clear();
  converter_.add(read_clock_pair());
}

void DeviceRecords::stop() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!library_) return;
  write_pending();
  library_ = nullptr;
}

void DeviceRecords::read(uint8_t* buffer, size_t valid_bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!library_) return;
  CUpti_Activity* record = nullptr;
  CUptiResult result;
  while ((result = library_->cuptiActivityGetNextRecord(buffer, valid_bytes, &record)) == CUPTI_SUCCESS) {
    read_record(*record);
  }
  // The buffer ends, or what follows was not completed when a flush was forced: then at least one record is lost.
  if (result != CUPTI_ERROR_MAX_LIMIT_REACHED) {
    size_t read_bytes = record ? static_cast<size_t>(reinterpret_cast<uint8_t*>(record) - buffer) + sizeof(Kernel) : 0;
    dropped_ += read_bytes < valid_bytes;
  }
  size_t dropped = 0;
  if (library_->cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS) dropped_ += dropped;
  if (pending_.size() >= kMostPending) write_pending();
}

void DeviceRecords::write() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (library_) write_pending();
}

void DeviceRecords::write_gap(const std::string& name, uint64_t start_ticks, uint64_t end_ticks) {
  std::lock_guard<std::mutex> lock(mutex_);
  uint32_t launch_site = Session::unknown_launch_site();
  DeviceWriter* writer = Session::device_writer(kHost, 0, 0);
  if (writer && launch_site) writer->write({kGap, start_ticks, end_ticks, intern(name), launch_site, 0});
}

std::vector<uint32_t> DeviceRecords::take_devices() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(devices_, {});
}

void DeviceRecords::read_record(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = as<Kernel>(record);
      add_work(kernel, kKernel, kernel.name ? kernel.name : "kernel", 0);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = as<Copy>(record);
      add_work(copy, kCopy, name_of_copy(copy.copyKind), copy.bytes);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto& copy = as<PeerCopy>(record);
      add_work(copy, kCopy, name_of_copy(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP), copy.bytes);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& set = as<Set>(record);
      add_work(set, kMemset, "memset", set.bytes);
      break;
    }
    case CUPTI_ACTIVITY_KIND_OVERHEAD: {
      // Not the launch's: its correlation id is that of the call it happened to fall into, or there is none.
      const auto& overhead = as<Overhead>(record);
      add({{kHost, 0, 0}, kCuptiWork, overhead.start, overhead.end, id_of(name_of_overhead(overhead.overheadKind)),
           Session::unknown_launch_site(), 0, false});
      break;
    }
    default:
      break;
  }
}

template <typename Record>
void DeviceRecords::add_work(const Record& record, DeviceWork work, const char* name, uint64_t bytes) {
  add({{record.deviceId, record.contextId, record.streamId}, work, record.start, record.end, id_of(name),
       launches_->find(record.correlationId), bytes, record.graphId != 0});
}

void DeviceRecords::add(const Pending& record) {
  uint32_t device = record.queue.device;
  // Without times: CUPTI could not get them, or the work had not ended.
  if (record.start_ns == 0 || record.end_ns < record.start_ns) {
    dropped_ += device != kHost;
    return;
  }
  if (device != kHost && std::find(devices_.begin(), devices_.end(), device) == devices_.end()) {
    devices_.push_back(device);
  }
  pending_.push_back(record);
}

// The body of a loop or of a branch in a graph runs without a number of the launch. What stands before it in the graph
// has one: the body is of the launch whose graph began last in its context.
void DeviceRecords::find_launches_of_bodies() {
  std::vector<Pending*> graphs;
  for (Pending& record : pending_) {
    if (record.is_in_graph) graphs.push_back(&record);
  }
  std::sort(graphs.begin(), graphs.end(), [](const Pending* a, const Pending* b) { return a->start_ns < b->start_ns; });
  for (Pending* record : graphs) {
    uint32_t& last = last_graphs_[{record->queue.device, record->queue.context}];
    if (record->launch_site) {
      last = record->launch_site;
    } else {
      record->launch_site = last;
    }
  }
}

uint32_t DeviceRecords::id_of(const char* name) {
  FoundName& found = found_names_[reinterpret_cast<uintptr_t>(name) / 16 % found_names_.size()];
  if (found.place == name && found.text == name) return found.id;  // another name may have come to the same place
  uint32_t id = intern(name);
  found = {name, names_.find(name)->first, id};
  return id;
}

uint32_t DeviceRecords::intern(std::string_view name) {
  auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  uint32_t id = Session::intern(NameKind::kDeviceWork, Category::kPython, name).id;
  names_.emplace(name_texts_.emplace_back(name), id);
  return id;
}

void DeviceRecords::write_pending() {
  converter_.add(read_clock_pair());
  find_launches_of_bodies();
  auto is_before = [](const Pending& a, const Pending& b) {
    return std::tie(a.queue.device, a.queue.context, a.queue.stream, a.start_ns) <
           std::tie(b.queue.device, b.queue.context, b.queue.stream, b.start_ns);
  };
  // With one stream they come in order.
  if (!std::is_sorted(pending_.begin(), pending_.end(), is_before)) {
    std::sort(pending_.begin(), pending_.end(), is_before);
  }
  const Queue* queue = nullptr;
  DeviceWriter* writer = nullptr;
  for (Pending& record : pending_) {
    if (!record.launch_site) {
      record.launch_site = Session::unknown_launch_site();
      unresolved_++;
    }
    if (!queue || !(*queue == record.queue)) {
      queue = &record.queue;
      writer = Session::device_writer(queue->device, queue->context, queue->stream);
    }
    if (!writer || !record.launch_site) {  // the recording has failed
      dropped_++;
      continue;
    }
    writer->write({record.work, converter_.ticks(record.start_ns), converter_.ticks(record.end_ns), record.name,
                   record.launch_site, record.bytes});
  }
  pending_.clear();
  Session::losses().count_dropped_device_records(std::exchange(dropped_, 0));
  Session::losses().count_unresolved_launches(std::exchange(unresolved_, 0));
}

}  // namespace rlscope::cuda
