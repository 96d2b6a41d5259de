// Writes slices as packets of Perfetto's trace format: protocol buffers, coded here by hand.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "slices.h"

namespace rlscope {

class PerfettoWriter : public SliceSink {
 public:
  using NameOf = std::function<std::string(uint32_t id)>;  // in UTF-8
  using Write = std::function<void(std::string_view)>;

  // Each track has a sequence of packets of its own, whose number is the track's: `first_number` and on.
  PerfettoWriter(const TraceFile& file, uint64_t first_number, NameOf name_of, Write write);

  void begin(size_t track, const Slice& slice) override;
  void end(size_t track, uint64_t end_ns) override;
  void flush();

 private:
  // Packets of a sequence count time from the one before, and name what was named before by number.
  struct Sequence {
    uint64_t number;
    uint64_t now_ns;
    std::vector<bool> named;  // by the name's id
  };

  Sequence& sequence(size_t track, uint64_t now_ns);
  void start(const Sequence& sequence);
  void name(Sequence& sequence, uint32_t id);
  char* open_packet(Sequence& sequence, uint64_t now_ns, bool has_names);
  void close_packet(char* event, char* end);
  void append_packet(const std::string& message);

  const TraceFile& file_;
  uint64_t first_number_;
  NameOf name_of_;
  Write write_;
  std::vector<Sequence> sequences_;
  std::string buffer_;
  size_t used_ = 0;
};

}  // namespace rlscope
