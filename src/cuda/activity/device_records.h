// From CUPTI's activity records to the trace: reads buffers, names the work, finds who launched it, writes it in order.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cupti_library.h"
#include "device_writer.h"
#include "launch_table.h"
#include "tick_converter.h"

namespace rlscope::cuda {

class DeviceRecords {
 public:
  // Between start and stop, what is read is kept until the next write.
  void start(const CuptiLibrary& library, const LaunchTable& launches);
  void stop();

  // The records of a buffer that CUPTI has filled.
  void read(uint8_t* buffer, size_t valid_bytes);
  // Writes what was read since the last write, each queue by start. Where buffers came out of order beyond that, the
  // queue's records are in order within chunks.
  void write();
  void write_gap(const std::string& name, uint64_t start_ticks, uint64_t end_ticks);
  // The devices, by number, of which records were read since the last call.
  std::vector<uint32_t> take_devices();

 private:
  struct Queue {
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    bool operator==(const Queue& other) const {
      return device == other.device && context == other.context && stream == other.stream;
    }
  };
  struct Pending {
    Queue queue;
    DeviceWork work;
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t name;
    uint32_t launch_site;  // 0: not known yet
    uint64_t bytes;
    bool is_in_graph;
  };

  void read_record(const CUpti_Activity& record);
  template <typename Record>
  void add_work(const Record& record, DeviceWork work, const char* name, uint64_t bytes);
  void add(const Pending& record);
  void find_launches_of_bodies();
  uint32_t id_of(const char* name);
  uint32_t intern(std::string_view name);
  void write_pending();

  std::mutex mutex_;  // guards all of this; no thread of the program takes it, unless it destroys a context
  const CuptiLibrary* library_ = nullptr;  // null while nothing is wanted
  const LaunchTable* launches_ = nullptr;
  TickConverter converter_;
  std::vector<Pending> pending_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> last_graphs_;  // by device and context: the launch that began last
  std::vector<uint32_t> devices_;
  std::unordered_map<std::string_view, uint32_t> names_;
  std::deque<std::string> name_texts_;  // what the keys of names_ point into
  // Names found last, by where CUPTI keeps them: kernels' are hundreds of bytes long, and to compare is less than to hash.
  struct FoundName {
    const char* place = nullptr;
    std::string_view text;
    uint32_t id = 0;
  };
  std::array<FoundName, 256> found_names_;
  uint64_t dropped_ = 0;     // to be counted at the next write
  uint64_t unresolved_ = 0;  // likewise
};

}  // namespace rlscope::cuda
