// Finds out which pipe or socket a descriptor leads to: the inode of a pipe, the lesser inode of two connected UNIX
// sockets, the two addresses of a TCP or UDP connection.
#include "channels.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <unordered_map>

#include "session.h"

namespace rlscope {
namespace {

constexpr size_t kMostChannels = 4096;  // a server that takes a connection per request must not fill the trace with names

struct Known {
  dev_t device;
  ino_t inode;
  Channel* channel;
};

// Never freed: daemon threads may come here while the process is being torn down. The GIL guards both.
std::unordered_map<int, Known>& known_descriptors() {
  static auto* known = new std::unordered_map<int, Known>;
  return *known;
}
std::unordered_map<std::string, Channel>& channels() {
  static auto* channels = new std::unordered_map<std::string, Channel>;
  return *channels;
}

struct PeerQuestion {
  nlmsghdr header;
  unix_diag_req request;
};

// The inode of the peer in what the kernel answered, 0 where it names none.
uint32_t peer_in(const char* answer, ssize_t bytes) {
  auto* header = reinterpret_cast<const nlmsghdr*>(answer);
  if (bytes < 0 || !NLMSG_OK(header, static_cast<uint32_t>(bytes)) || header->nlmsg_type != SOCK_DIAG_BY_FAMILY) return 0;
  auto* message = static_cast<const unix_diag_msg*>(NLMSG_DATA(header));
  auto* attribute = reinterpret_cast<const rtattr*>(message + 1);
  long rest = static_cast<long>(header->nlmsg_len) - static_cast<long>(NLMSG_LENGTH(sizeof *message));
  for (; RTA_OK(attribute, rest); attribute = RTA_NEXT(attribute, rest)) {
    if (attribute->rta_type != UNIX_DIAG_PEER || RTA_PAYLOAD(attribute) < sizeof(uint32_t)) continue;
    uint32_t inode;
    std::memcpy(&inode, RTA_DATA(attribute), sizeof inode);
    return inode;
  }
  return 0;
}

// The kernel answers while it is asked, so that nothing can block here.
uint32_t peer_of(ino_t inode) {
  int asking = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (asking < 0) return 0;
  PeerQuestion question = {};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = AF_UNIX;
  question.request.udiag_states = ~0U;
  question.request.udiag_ino = static_cast<uint32_t>(inode);
  question.request.udiag_show = UDIAG_SHOW_PEER;
  question.request.udiag_cookie[0] = question.request.udiag_cookie[1] = ~0U;
  alignas(nlmsghdr) char answer[4096];
  ssize_t bytes = send(asking, &question, sizeof question, MSG_DONTWAIT);
  if (bytes >= 0) bytes = recv(asking, answer, sizeof answer, MSG_DONTWAIT);
  close(asking);
  return peer_in(answer, bytes);
}

std::string with_inode(const char* kind, ino_t inode) { return std::string(kind) + ":[" + std::to_string(inode) + "]"; }

// 127.0.0.1:80 or [::1]:80; one that IPv6 shows of an IPv4 connection is as its other end has it.
std::string address_of(const sockaddr_storage& storage) {
  char text[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    auto& address = reinterpret_cast<const sockaddr_in&>(storage);
    inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(address.sin_port));
  }
  auto& address = reinterpret_cast<const sockaddr_in6&>(storage);
  std::string port = ":" + std::to_string(ntohs(address.sin6_port));
  if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr)) {
    inet_ntop(AF_INET, address.sin6_addr.s6_addr + 12, text, sizeof text);
    return text + port;
  }
  inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof text);
  return "[" + std::string(text) + "]" + port;
}

// Empty while the socket is not connected.
std::string internet_name(int descriptor, const char* protocol) {
  sockaddr_storage own = {}, peer = {};
  socklen_t own_bytes = sizeof own, peer_bytes = sizeof peer;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &own_bytes) != 0 ||
      getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &peer_bytes) != 0) {
    return "";
  }
  std::string left = address_of(own), right = address_of(peer);
  if (right < left) left.swap(right);
  return std::string(protocol) + ":" + left + "-" + right;
}

int option_of(int descriptor, int option) {
  int value = -1;
  socklen_t bytes = sizeof value;
  return getsockopt(descriptor, SOL_SOCKET, option, &value, &bytes) == 0 ? value : -1;
}

// Empty for a socket that has no name, or none yet.
std::string socket_name(int descriptor, ino_t inode) {
  int domain = option_of(descriptor, SO_DOMAIN);
  if (domain == AF_UNIX) {
    uint32_t peer = peer_of(inode);
    return with_inode("socket", peer == 0 ? inode : std::min<ino_t>(inode, peer));
  }
  if (domain != AF_INET && domain != AF_INET6) return "";
  int protocol = option_of(descriptor, SO_PROTOCOL);
  if (protocol == IPPROTO_TCP) return internet_name(descriptor, "tcp");
  return protocol == IPPROTO_UDP ? internet_name(descriptor, "udp") : "";
}

Channel* channel_named(const std::string& name) {
  auto found = channels().find(name);
  if (found != channels().end()) return &found->second;
  if (channels().size() >= kMostChannels) return nullptr;
  return &channels().emplace(name, Channel{name, {}}).first->second;
}

Channel* find_channel(int descriptor, const struct stat& status) {
  auto known = known_descriptors().find(descriptor);
  if (known != known_descriptors().end() && known->second.inode == status.st_ino &&
      known->second.device == status.st_dev) {
    return known->second.channel;
  }
  std::string name = S_ISFIFO(status.st_mode) ? with_inode("pipe", status.st_ino) : socket_name(descriptor, status.st_ino);
  if (name.empty()) return nullptr;  // asked again: it may be connected then
  Channel* channel = channel_named(name);
  known_descriptors()[descriptor] = {status.st_dev, status.st_ino, channel};
  return channel;
}

}  // namespace

Descriptor look_up(int descriptor) try {
  int error = errno;
  struct stat status;
  Descriptor found = {Descriptor::kOther, nullptr};
  if (fstat(descriptor, &status) == 0) {
    if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) {
      found = {Descriptor::kChannel, find_channel(descriptor, status)};
    } else if (S_ISCHR(status.st_mode)) {
      found.kind = Descriptor::kDevice;
    } else if (S_ISREG(status.st_mode)) {
      found.kind = Descriptor::kFile;
    }
  }
  errno = error;
  return found;
} catch (const std::bad_alloc&) {
  Session::fail(ENOMEM);
  return {Descriptor::kOther, nullptr};
}

}  // namespace rlscope
