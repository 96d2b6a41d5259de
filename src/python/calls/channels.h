// Names of pipes and sockets: both ends of one have the same name, in whichever process they are.
#pragma once
#include <string>

#include "stream_writer.h"

namespace rlscope {

constexpr int kMostChannelCalls = 23;

// A pipe or socket that this process has read or written.
struct Channel {
  std::string name;
  CodedId ids[kMostChannelCalls];  // of what functions' calls on it are recorded as; id 0 until the first
};

struct Descriptor {
  enum Kind { kOther, kDevice, kFile, kChannel } kind;
  Channel* channel;  // null also for a channel without a name
};

// What a descriptor leads to; costs one fstat where that is known. Needs the GIL; leaves errno as it is.
Descriptor look_up(int descriptor);

}  // namespace rlscope
