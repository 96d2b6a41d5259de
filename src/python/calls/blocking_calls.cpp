// Stand-ins for functions whose arguments or state decide whether they block.
#include "blocking_calls.h"

#include <climits>
#include <cstring>
#include <string>
#include <type_traits>

#include "method_definitions.h"
#include "pointer_swaps.h"
#include "session.h"
#include "awaited.h"
#include "channels.h"
#include "ended_processes.h"
#include "scope.h"
#include "tasks.h"

namespace rlscope {
namespace {

struct BlockingCall {
  const char* name;
  int flags;
  void* replacement;
  void* original;
  CodedId id;
  CodedId file_id = {};  // of a call on a file
};
extern BlockingCall calls[];
constexpr int kFirstChannelCall = 10;  // a place in `calls`

template <int index, class... Arguments>
PyObject* pass(Arguments... arguments) {
  return reinterpret_cast<PyObject* (*)(Arguments...)>(calls[index].original)(arguments...);
}

template <int index, class... Arguments>
PyObject* record(StreamWriter* writer, const CodedId& id, Arguments... arguments) {
  uint32_t depth = writer->depth();
  if (!writer->begin(id)) return pass<index>(arguments...);
  writer->begin_wait();
  PyObject* result = pass<index>(arguments...);
  if (t_writer == writer) writer->end_to(depth);
  return result;
}

// What this thread waits for, whatever function it waits in, unless the channel says it: a scope, which lives as long as the
// process.
thread_local PyObject* t_waits_named;

// Runs the original as time spent waiting.
template <int index, class... Arguments>
PyObject* wait(Arguments... arguments) {
  BlockingCall& call = calls[index];
  StreamWriter* writer = Session::recording_writer();
  if (!writer) return pass<index>(arguments...);
  if (uint32_t named = t_waits_named ? id_of_scope(t_waits_named) : 0) return record<index>(writer, encode_id(named), arguments...);
  if (call.id.id == 0) call.id = Session::intern(NameKind::kBoundary, Category::kWait, call.name);
  return record<index>(writer, call.id, arguments...);
}

// The bytes of an object with a buffer, else 0.
size_t bytes_in(PyObject* object) {
  if (PyBytes_CheckExact(object)) return static_cast<size_t>(PyBytes_GET_SIZE(object));
  Py_buffer buffer;
  if (PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE) != 0) {
    PyErr_Clear();
    return 0;
  }
  auto bytes = static_cast<size_t>(buffer.len);
  PyBuffer_Release(&buffer);
  return bytes;
}

// How many bytes a call moved, by what it returned: their number, or themselves, or a tuple that begins with either. One that
// returns None has moved all of its first argument.
size_t bytes_moved(PyObject* result, PyObject* first) {
  if (PyTuple_Check(result) && PyTuple_GET_SIZE(result) > 0) result = PyTuple_GET_ITEM(result, 0);
  if (PyLong_CheckExact(result)) return PyLong_AsSize_t(result);
  if (result != Py_None) return bytes_in(result);
  return first ? bytes_in(first) : 0;
}

// What follows `self` where functions take their arguments as a tuple or an array, else null.
template <class... Rest>
PyObject* first_argument(PyObject* args, Rest...) {
  return args && PyTuple_Check(args) && PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : nullptr;
}
template <class... Rest>
PyObject* first_argument(PyObject* const* args, Py_ssize_t given, Rest...) {
  return given > 0 ? args[0] : nullptr;
}
template <class... Rest>
PyObject* first_argument(PyTypeObject*, Rest...) {
  return nullptr;
}

// As wait, and the trace names the channel and what was moved. A channel without a name leaves the bare function.
template <int index, class... Rest>
PyObject* wait_at(Channel* channel, PyObject* self, Rest... rest) {
  StreamWriter* writer = Session::recording_writer();
  if (!channel || !writer) return wait<index>(self, rest...);
  static_assert(index >= kFirstChannelCall && index < kFirstChannelCall + kMostChannelCalls);
  CodedId& id = channel->ids[index - kFirstChannelCall];
  if (id.id == 0) {
    id = Session::intern(NameKind::kBoundary, Category::kWait, std::string(calls[index].name) + " " + channel->name);
  }
  PyObject* result = record<index>(writer, id, self, rest...);
  if (!result || t_writer != writer) return result;
  if (size_t bytes = bytes_moved(result, first_argument(rest...))) writer->report_with_last(MessageNumbers{id.id, bytes});
  return result;
}

// Files are mostly in memory: only what took long is recorded, and waits for as long as the thread was blocked.
template <int index, class... Arguments>
PyObject* use_disk(StreamWriter* writer, Arguments... arguments) {
  uint64_t start = writer->look();
  PyObject* result = pass<index>(arguments...);
  if (now_ticks() - start < BlockedMeter::kShortestTicks || t_writer != writer) return result;
  BlockingCall& call = calls[index];
  if (call.file_id.id == 0) {
    call.file_id = Session::intern(NameKind::kBoundary, Category::kPython, std::string(call.name) + " file");
  }
  if (writer->begin_at(call.file_id, start)) writer->end();
  return result;
}

PyObject* only_false() {
  static PyObject* arguments = PyTuple_Pack(1, Py_False);
  return arguments;
}

// A thread is joined, up to Python 3.12, by acquiring a lock for as long as it takes, which is said by numbers.
uint64_t thread_joined_by(PyObject* lock, PyObject* args) {
  if (PyTuple_GET_SIZE(args) != 2 || !PyLong_CheckExact(PyTuple_GET_ITEM(args, 1))) return 0;
  return thread_with("_tstate_lock", lock);
}

struct ThreadLock {
  static constexpr ObjectKind kKind = ObjectKind::kLock;
  static uint64_t object_of(PyObject* lock) { return object_of_lock(lock); }
  static bool has_holder(PyObject*) { return true; }
};

// Between processes. Of one that counts, whoever acquires it need not be whom the next one waits for.
struct Semaphore {
  static constexpr ObjectKind kKind = ObjectKind::kSemaphore;
  static uint64_t object_of(PyObject* semaphore) { return object_of_semaphore(semaphore); }
  static bool has_holder(PyObject* semaphore) { return is_mutex(semaphore); }
};

template <class Kind>
PyObject* taken(PyObject* self, PyObject* is_acquired) {
  if (is_acquired == Py_True && Kind::has_holder(self)) note_taken(Kind::object_of(self));
  return is_acquired;
}

template <int index>
PyObject* wait_for_lock(PyObject* self, PyObject* args, PyObject* keywords) {
  uint64_t joined = thread_joined_by(self, args);
  AwaitedScope awaited(joined ? ObjectKind::kThread : ObjectKind::kLock, joined ? joined : object_of_lock(self));
  return taken<ThreadLock>(self, wait<index>(self, args, keywords));
}

// The usual call has no arguments: an attempt that does not block shows whether another thread holds the lock.
template <int index>
PyObject* acquire_with_keywords(PyObject* self, PyObject* args, PyObject* keywords) {
  Py_ssize_t given = PyTuple_GET_SIZE(args);
  if (given == 0 && (!keywords || PyDict_GET_SIZE(keywords) == 0)) {
    PyObject* is_acquired = pass<index>(self, only_false(), static_cast<PyObject*>(nullptr));
    if (is_acquired != Py_False) return taken<ThreadLock>(self, is_acquired);
    Py_DECREF(is_acquired);
    return wait_for_lock<index>(self, args, keywords);
  }
  PyObject* blocking = given > 0 ? PyTuple_GET_ITEM(args, 0) : PyDict_GetItemString(keywords, "blocking");
  if (blocking != Py_False) return wait_for_lock<index>(self, args, keywords);
  return taken<ThreadLock>(self, pass<index>(self, args, keywords));
}

// The argument that says whether to block; null where it is not given.
PyObject* find_blocking(PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  if (given > 0) return args[0];
  for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); i++) {
    PyObject* name = PyTuple_GET_ITEM(keywords, i);
    bool is_it = PyUnicode_CompareWithASCIIString(name, "blocking") == 0 || PyUnicode_CompareWithASCIIString(name, "block") == 0;
    if (is_it) return args[i];
  }
  return nullptr;
}

template <int index>
PyObject* try_to_acquire(PyObject* self) {
  PyObject* attempt[] = {Py_False};
  return pass<index>(self, static_cast<PyObject* const*>(attempt), Py_ssize_t{1}, static_cast<PyObject*>(nullptr));
}

template <class Kind, int index>
PyObject* acquire(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  if (given == 0 && !keywords) {
    PyObject* is_acquired = try_to_acquire<index>(self);
    if (is_acquired != Py_False) return taken<Kind>(self, is_acquired);
    Py_DECREF(is_acquired);
  } else if (find_blocking(args, given, keywords) == Py_False) {
    return taken<Kind>(self, pass<index>(self, args, given, keywords));
  }
  AwaitedScope awaited(Kind::kKind, Kind::object_of(self));
  return taken<Kind>(self, wait<index>(self, args, given, keywords));
}

// `acquiring` is the type's `acquire`.
template <class Kind, int index, int acquiring>
PyObject* enter(PyObject* self, PyObject* unused) {
  PyObject* is_acquired = calls[acquiring].original ? try_to_acquire<acquiring>(self) : Py_NewRef(Py_False);
  if (is_acquired != Py_False) return taken<Kind>(self, is_acquired);
  Py_DECREF(is_acquired);
  AwaitedScope awaited(Kind::kKind, Kind::object_of(self));
  return taken<Kind>(self, wait<index>(self, unused));
}

template <int index>
PyObject* get_from_queue(PyObject* self, PyTypeObject* type, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  PyObject* is_empty = PyObject_CallMethod(self, "empty", nullptr);
  if (!is_empty) return nullptr;
  Py_DECREF(is_empty);
  if (is_empty == Py_False) return pass<index>(self, type, args, given, keywords);
  return wait<index>(self, type, args, given, keywords);
}

int descriptor_of(PyObject* number) {
  if (!PyLong_CheckExact(number)) return -1;
  int overflow;
  long descriptor = PyLong_AsLongAndOverflow(number, &overflow);
  return overflow == 0 && descriptor >= 0 && descriptor <= INT_MAX ? static_cast<int>(descriptor) : -1;
}

enum class Use { kRead, kWrite };

// Pipes, sockets and terminals are what programs wait at; of files see above.
template <int index, Use use, class... Arguments>
PyObject* wait_if_blocking(const Descriptor& descriptor, Arguments... arguments) {
  if (descriptor.kind == Descriptor::kChannel) return wait_at<index>(descriptor.channel, arguments...);
  if (descriptor.kind == Descriptor::kFile) {
    StreamWriter* writer = Session::recording_writer();
    return writer ? use_disk<index>(writer, arguments...) : pass<index>(arguments...);
  }
  bool is_terminal_read = descriptor.kind == Descriptor::kDevice && use == Use::kRead;
  return is_terminal_read ? wait<index>(arguments...) : pass<index>(arguments...);
}

template <int index, Use use>
PyObject* use_descriptor(PyObject* module, PyObject* const* args, Py_ssize_t given) {
  if (given == 0 || !Session::recording_writer()) return pass<index>(module, args, given);
  return wait_if_blocking<index, use>(look_up(descriptor_of(args[0])), module, args, given);
}

// `fileno` of the types, whatever a subclass has made of it.
PyCFunction socket_fileno;
PyCFunction file_fileno;

PyCFunction find_fileno(const char* module_name, const char* type_name) {
  PyObject* module = PyImport_ImportModule(module_name);
  PyObject* type = module ? PyObject_GetAttrString(module, type_name) : nullptr;
  PyObject* method = type ? PyObject_GetAttrString(type, "fileno") : nullptr;
  PyMethodDef* def = method ? method_def_of(method) : nullptr;
  PyCFunction fileno = def && def->ml_flags == METH_NOARGS ? def->ml_meth : nullptr;
  PyErr_Clear();
  Py_XDECREF(method);
  Py_XDECREF(type);
  Py_XDECREF(module);
  return fileno;
}

// Whether the calls of this name can be told by what their object leads to.
bool can_look_up(const char* name) {
  if (std::strncmp(name, "_socket.", 8) == 0) {
    if (!socket_fileno) socket_fileno = find_fileno("_socket", "socket");
    return socket_fileno;
  }
  if (std::strncmp(name, "_io.", 4) == 0) {
    if (!file_fileno) file_fileno = find_fileno("_io", "FileIO");
    return file_fileno;
  }
  return true;
}

Descriptor look_up_object(PyObject* object, PyCFunction fileno) {
  PyObject* number = fileno(object, nullptr);
  if (!number) {
    PyErr_Clear();
    return {Descriptor::kOther, nullptr};
  }
  Descriptor descriptor = look_up(descriptor_of(number));
  Py_DECREF(number);
  return descriptor;
}

template <int index, class... Rest>
PyObject* use_socket(PyObject* self, Rest... rest) {
  if (!Session::recording_writer()) return pass<index>(self, rest...);
  return wait_at<index>(look_up_object(self, socket_fileno).channel, self, rest...);
}

// All buffered files and text files read and write through these methods of the raw file.
template <int index, Use use, class... Rest>
PyObject* use_file(PyObject* self, Rest... rest) {
  if (!Session::recording_writer()) return pass<index>(self, rest...);
  return wait_if_blocking<index, use>(look_up_object(self, file_fileno), self, rest...);
}
template <int index, Use use>
constexpr auto use_file_since_312 = use_file<index, use, PyTypeObject*, PyObject* const*, Py_ssize_t, PyObject*>;

// Not a wait. Later it can be too late to ask which two sockets belong together: one may be closed.
template <int index>
PyObject* make_socketpair(PyObject* module, PyObject* args) {
  PyObject* pair = pass<index>(module, args);
  if (pair && Session::recording_writer() && PyTuple_CheckExact(pair)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pair); i++) look_up_object(PyTuple_GET_ITEM(pair, i), socket_fileno);
  }
  return pair;
}

// The number of the one process that these calls are asked for, 0 for any.
constexpr int kWaitPid = 33, kWait4 = 36;
template <int index, class... Rest>
uint64_t awaited_process(PyObject*, PyObject* const* args, Py_ssize_t given, Rest...) {
  bool is_number = (index == kWaitPid || index == kWait4) && given > 0 && PyLong_CheckExact(args[0]);
  int overflow;
  long process = is_number ? PyLong_AsLongAndOverflow(args[0], &overflow) : 0;
  return process > 0 ? static_cast<uint64_t>(process) : 0;
}
template <int index>
uint64_t awaited_process(PyObject*, PyObject*) {
  return 0;
}

template <int index>
PyObject* join_thread(PyObject* handle, PyObject* args) {
  AwaitedScope awaited(ObjectKind::kThread, thread_with("_handle", handle));
  return wait<index>(handle, args);
}

// How a child ended, whoever ended it, nobody but its parent is told.
template <int index, class... Arguments>
PyObject* wait_for_child(Arguments... arguments) {
  AwaitedScope awaited(ObjectKind::kProcess, awaited_process<index>(arguments...));
  PyObject* ended = wait<index>(arguments...);
  if (ended && PyTuple_Check(ended) && PyTuple_GET_SIZE(ended) >= 2) {
    note_ended_child(PyTuple_GET_ITEM(ended, 0), PyTuple_GET_ITEM(ended, 1));
  }
  return ended;
}

// No interpreter shutdown follows: the trace is completed here.
template <int index>
PyObject* exit_process(PyObject* module, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  PyObject* status = given > 0 ? args[0] : nullptr;
  if (status && PyLong_Check(status)) {
    int overflow;
    stop_tasks();
    Session::stop(EndReason::kExit);
    Session::note_exit(static_cast<int32_t>(PyLong_AsLongAndOverflow(status, &overflow) & 0xFF));
  }
  return pass<index>(module, args, given, keywords);
}

template <class Function>
void* pointer_to(Function function) {
  return reinterpret_cast<void*>(function);
}

constexpr int kKeywords = METH_VARARGS | METH_KEYWORDS;
constexpr int kFastKeywords = METH_FASTCALL | METH_KEYWORDS;
BlockingCall calls[] = {
    {"_thread.lock.acquire", kKeywords, pointer_to(acquire_with_keywords<0>), nullptr, {}},
    {"_thread.lock.acquire_lock", kKeywords, pointer_to(acquire_with_keywords<1>), nullptr, {}},
    {"_thread.lock.__enter__", kKeywords, pointer_to(acquire_with_keywords<2>), nullptr, {}},
    {"_thread.RLock.acquire", kKeywords, pointer_to(acquire_with_keywords<3>), nullptr, {}},
    {"_thread.RLock.__enter__", kKeywords, pointer_to(acquire_with_keywords<4>), nullptr, {}},
    {"_multiprocessing.SemLock.acquire", kFastKeywords, pointer_to(acquire<Semaphore, 5>), nullptr, {}},
    {"_multiprocessing.SemLock.__enter__", METH_NOARGS, pointer_to(enter<Semaphore, 6, 5>), nullptr, {}},
    {"_queue.SimpleQueue.get", METH_METHOD | kFastKeywords, pointer_to(get_from_queue<7>), nullptr, {}},
    {"posix._exit", kFastKeywords, pointer_to(exit_process<8>), nullptr, {}},
    {"_socket.socketpair", METH_VARARGS, pointer_to(make_socketpair<9>), nullptr, {}},
    {"posix.read", METH_FASTCALL, pointer_to(use_descriptor<10, Use::kRead>), nullptr, {}},
    {"posix.write", METH_FASTCALL, pointer_to(use_descriptor<11, Use::kWrite>), nullptr, {}},
    {"_socket.socket.recv", METH_VARARGS, pointer_to(use_socket<12, PyObject*>), nullptr, {}},
    {"_socket.socket.recvfrom", METH_VARARGS, pointer_to(use_socket<13, PyObject*>), nullptr, {}},
    {"_socket.socket.recvmsg", METH_VARARGS, pointer_to(use_socket<14, PyObject*>), nullptr, {}},
    {"_socket.socket.recvmsg_into", METH_VARARGS, pointer_to(use_socket<15, PyObject*>), nullptr, {}},
    {"_socket.socket.send", METH_VARARGS, pointer_to(use_socket<16, PyObject*>), nullptr, {}},
    {"_socket.socket.sendall", METH_VARARGS, pointer_to(use_socket<17, PyObject*>), nullptr, {}},
    {"_socket.socket.sendto", METH_VARARGS, pointer_to(use_socket<18, PyObject*>), nullptr, {}},
    {"_socket.socket.sendmsg", METH_VARARGS, pointer_to(use_socket<19, PyObject*>), nullptr, {}},
    {"_socket.socket.recv_into", kKeywords, pointer_to(use_socket<20, PyObject*, PyObject*>), nullptr, {}},
    {"_socket.socket.recvfrom_into", kKeywords, pointer_to(use_socket<21, PyObject*, PyObject*>), nullptr, {}},
    {"_io.FileIO.readall", METH_NOARGS, pointer_to(use_file<22, Use::kRead, PyObject*>), nullptr, {}},
    {"_io.FileIO.read", METH_FASTCALL, pointer_to(use_file<23, Use::kRead, PyObject* const*, Py_ssize_t>), nullptr, {}},
    {"_io.FileIO.read", METH_METHOD | kFastKeywords, pointer_to(use_file_since_312<24, Use::kRead>), nullptr, {}},
    {"_io.FileIO.readinto", METH_O, pointer_to(use_file<25, Use::kRead, PyObject*>), nullptr, {}},
    {"_io.FileIO.readinto", METH_METHOD | kFastKeywords, pointer_to(use_file_since_312<26, Use::kRead>), nullptr, {}},
    {"_io.FileIO.write", METH_O, pointer_to(use_file<27, Use::kWrite, PyObject*>), nullptr, {}},
    {"_io.FileIO.write", METH_METHOD | kFastKeywords, pointer_to(use_file_since_312<28, Use::kWrite>), nullptr, {}},
    // Since Python 3.15 more of them take an array.
    {"_socket.socket.send", METH_FASTCALL, pointer_to(use_socket<29, PyObject* const*, Py_ssize_t>), nullptr, {}},
    {"_socket.socket.sendall", METH_FASTCALL, pointer_to(use_socket<30, PyObject* const*, Py_ssize_t>), nullptr, {}},
    {"_socket.socket.sendmsg", METH_FASTCALL, pointer_to(use_socket<31, PyObject* const*, Py_ssize_t>), nullptr, {}},
    {"_io.FileIO.readall", METH_METHOD | kFastKeywords, pointer_to(use_file_since_312<32, Use::kRead>), nullptr, {}},
    {"posix.waitpid", METH_FASTCALL, pointer_to(wait_for_child<33, PyObject*, PyObject* const*, Py_ssize_t>), nullptr, {}},
    {"posix.wait", METH_NOARGS, pointer_to(wait_for_child<34, PyObject*, PyObject*>), nullptr, {}},
    {"posix.wait3", kFastKeywords, pointer_to(wait_for_child<35, PyObject*, PyObject* const*, Py_ssize_t, PyObject*>), nullptr, {}},
    {"posix.wait4", kFastKeywords, pointer_to(wait_for_child<36, PyObject*, PyObject* const*, Py_ssize_t, PyObject*>), nullptr, {}},
    {"select.poll.poll", METH_FASTCALL, pointer_to(wait<37, PyObject*, PyObject* const*, Py_ssize_t>), nullptr, {}},
    // Since Python 3.15:
    {"_thread.lock.acquire", kFastKeywords, pointer_to(acquire<ThreadLock, 38>), nullptr, {}},
    {"_thread.lock.acquire_lock", kFastKeywords, pointer_to(acquire<ThreadLock, 39>), nullptr, {}},
    {"_thread.lock.__enter__", METH_NOARGS, pointer_to(enter<ThreadLock, 40, 38>), nullptr, {}},
    {"_thread.RLock.acquire", kFastKeywords, pointer_to(acquire<ThreadLock, 41>), nullptr, {}},
    {"_thread.RLock.__enter__", METH_NOARGS, pointer_to(enter<ThreadLock, 42, 41>), nullptr, {}},
    {"_thread._ThreadHandle.join", METH_VARARGS, pointer_to(join_thread<43>), nullptr, {}},  // since Python 3.13
};

PyObject* name_waits(PyObject*, PyObject* scope) {
  if (scope != Py_None && !is_scope(scope)) return PyErr_Format(PyExc_TypeError, "a scope or None was expected, not %R", scope);
  PyObject* outer = t_waits_named;
  t_waits_named = scope == Py_None ? nullptr : scope;
  return Py_NewRef(outer ? outer : Py_None);
}

PyMethodDef functions[] = {
    {"name_waits", name_waits, METH_O,
     "name_waits(scope)\n--\n\nCall what this thread waits in from now on by the name of a wait_call, unless a channel is known; "
     "None ends that. Returns what was said before."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_blocking_calls(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

bool intercept_blocking_call(PyMethodDef* def, const char* name, PyObject* owner) {
  for (BlockingCall& call : calls) {
    // How a function takes its arguments may differ between versions of Python.
    bool is_this = std::strcmp(call.name, name) == 0;
    if (!is_this || (def->ml_flags & ~(METH_CLASS | METH_STATIC | METH_COEXIST)) != call.flags) continue;
    if (!can_look_up(name)) return false;
    auto** where = reinterpret_cast<void**>(&def->ml_meth);
    if (*where != call.replacement) call.original = *where;
    swap_pointer(where, call.replacement, owner);
    return true;
  }
  return false;
}

}  // namespace rlscope
