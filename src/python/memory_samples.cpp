// A record that finds a look due may lie inside a CUDA call or without the GIL, so the main thread looks, between two of its
// instructions. No Python code runs for it: torch.compile would take it for the program's. An operation without a record
// inside is over then, so at its end the host is looked at first.
#include "memory_samples.h"

#include <Python.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "clock.h"
#include "scope.h"
#include "session.h"

namespace rlscope {
namespace {

constexpr uint64_t kPeriod_ns = 100'000'000;
constexpr uint64_t kNever = UINT64_MAX;

std::atomic<uint64_t> g_due_ns{0};
std::atomic<bool> g_is_host_known{false};  // and nothing but devices are to be looked at

void record(StreamWriter& writer, MemoryOwner owner, uint64_t device, uint64_t used_bytes, uint64_t peak_bytes) {
  if (peak_bytes) writer.report(MemoryNumbers{static_cast<uint64_t>(owner), device, used_bytes, peak_bytes});
}

// ---- the host

uint64_t bytes_of(const char* status, const char* key) {
  const char* line = std::strstr(status, key);
  return line ? std::strtoull(line + std::strlen(key), nullptr, 10) * 1024 : 0;
}

void record_host(StreamWriter& writer) {
  char status[4096];
  int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t bytes = read(file, status, sizeof status - 1);
  close(file);
  if (bytes <= 0) return;
  status[bytes] = 0;
  record(writer, MemoryOwner::kHost, 0, bytes_of(status, "\nVmRSS:"), bytes_of(status, "\nVmHWM:"));
}

// ---- devices. Objects are new references, or null, unless it is said; what an allocator does not tell is not recorded.

PyObject* module_if_imported(const char* name) {
  PyObject* modules = PyImport_GetModuleDict();
  return Py_XNewRef(PyDict_GetItemString(modules, name));
}

PyObject* attribute(PyObject* object, const char* name) { return object ? PyObject_GetAttrString(object, name) : nullptr; }

PyObject* item_at(PyObject* dict, const char* key) {
  return dict && PyDict_Check(dict) ? PyDict_GetItemString(dict, key) : nullptr;  // borrowed
}

// 0 where it is none.
uint64_t number_of(PyObject* value) {
  uint64_t number = value && PyLong_Check(value) ? PyLong_AsUnsignedLongLong(value) : 0;
  return PyErr_Occurred() ? 0 : number;
}

// In a forked child another thread of the parent may hold an allocator's lock for good.
void record_pytorch(StreamWriter& writer) {
  PyObject* cuda = module_if_imported("torch.cuda");
  PyObject* is_initialized = attribute(cuda, "_initialized");
  PyObject* functions = is_initialized == Py_True ? module_if_imported("torch._C") : nullptr;
  PyObject* is_of_parent = functions ? PyObject_CallMethod(functions, "_cuda_isInBadFork", nullptr) : nullptr;
  PyObject* count = is_of_parent == Py_False ? PyObject_CallMethod(functions, "_cuda_getDeviceCount", nullptr) : nullptr;
  long devices = count ? PyLong_AsLong(count) : 0;
  for (long device = 0; device < devices; device++) {
    PyObject* stats = PyObject_CallMethod(functions, "_cuda_memoryStats", "l", device);
    if (!stats) break;
    PyObject* all = item_at(item_at(stats, "allocated_bytes"), "all");
    record(writer, MemoryOwner::kPytorch, static_cast<uint64_t>(device), number_of(item_at(all, "current")),
           number_of(item_at(all, "peak")));
    Py_DECREF(stats);
  }
  Py_XDECREF(count);
  Py_XDECREF(is_of_parent);
  Py_XDECREF(functions);
  Py_XDECREF(is_initialized);
  Py_XDECREF(cuda);
}

void record_jax_device(StreamWriter& writer, PyObject* device) {
  PyObject* number = attribute(device, "local_hardware_id");
  PyObject* stats = number ? PyObject_CallMethod(device, "memory_stats", nullptr) : nullptr;  // None of the host
  if (stats) {
    record(writer, MemoryOwner::kJax, number_of(number), number_of(item_at(stats, "bytes_in_use")),
           number_of(item_at(stats, "peak_bytes_in_use")));
  }
  Py_XDECREF(stats);
  Py_XDECREF(number);
}

void record_jax_client(StreamWriter& writer, PyObject* client) {
  PyObject* devices = PyObject_CallMethod(client, "local_devices", nullptr);
  for (Py_ssize_t i = 0; devices && PyList_Check(devices) && i < PyList_GET_SIZE(devices); i++) {
    record_jax_device(writer, PyList_GET_ITEM(devices, i));
    PyErr_Clear();
  }
  Py_XDECREF(devices);
}

// JAX's own functions would make clients, and wait for a lock that the main thread itself may hold, as it makes some right
// now. Those of a parent are not asked.
void record_jax(StreamWriter& writer) {
  static pid_t process_of_clients = 0;
  PyObject* bridge = module_if_imported("jax._src.xla_bridge");
  PyObject* by_platform = attribute(bridge, "_backends");
  PyObject* clients = by_platform && PyDict_Check(by_platform) ? PyDict_Values(by_platform) : nullptr;
  Py_ssize_t count = clients ? PyList_GET_SIZE(clients) : 0;
  if (count > 0 && process_of_clients == 0) process_of_clients = getpid();
  for (Py_ssize_t i = 0; i < count && process_of_clients == getpid(); i++) {
    record_jax_client(writer, PyList_GET_ITEM(clients, i));
    PyErr_Clear();
  }
  Py_XDECREF(clients);
  Py_XDECREF(by_platform);
  Py_XDECREF(bridge);
}

// ---- when

int look(void*) {
  StreamWriter* writer = Session::writer();
  if (writer && writer->is_recording()) {
    if (!g_is_host_known.exchange(false)) record_host(*writer);
    record_pytorch(*writer);
    PyErr_Clear();
    record_jax(*writer);
    PyErr_Clear();
  }
  g_due_ns = monotonic_ns() + kPeriod_ns;
  return 0;
}

void look_if_due() {
  uint64_t now = monotonic_ns(), due = g_due_ns.load(std::memory_order_relaxed);
  if (now < due || !g_due_ns.compare_exchange_strong(due, kNever)) return;
  if (t_is_leaving_scope && t_writer && t_writer->is_recording()) {
    record_host(*t_writer);
    g_is_host_known = true;
  }
  if (Py_AddPendingCall(look, nullptr) != 0) g_due_ns = now;
}

constexpr SessionListener kListener = {
    [] {
      g_due_ns = 0;
      g_is_host_known = false;
      StreamWriter::at_each_look = look_if_due;
    },
    [] { StreamWriter::at_each_look = nullptr; },
    [] {
      g_due_ns = 0;
      g_is_host_known = false;
    },
};

}  // namespace

void sample_memory() { Session::listen(Follower::kMemory, kListener); }

}  // namespace rlscope
