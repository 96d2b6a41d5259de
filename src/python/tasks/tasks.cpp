// Keeps, for each thread, the open operations that belong to tasks, and those of suspended tasks for all threads together.
#include "tasks.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "session.h"
#include "task_samples.h"

namespace rlscope {
namespace {

struct Operation {
  PyObject* task;  // borrowed: only compared; null: of a function that a task calls
  PyObject* root;  // what the task is a part of, as root_of() has it; borrowed likewise
  uint32_t depth;  // its place among the thread's frames
  bool was_suspended;
  bool encloses;  // another operation of the same root
  uint64_t opened;
  uint64_t running_ticks;  // until `since`
  uint64_t since;          // when it was opened or resumed
};

// A frame of a suspended task: one of its operations, or what stayed open inside one.
struct SuspendedFrame {
  StreamWriter::Frame frame;
  Operation operation;
};

// All that follows is guarded by the GIL. Outermost first.
struct Thread {
  StreamWriter* writer = nullptr;
  std::vector<Operation> running;
  PyObject* greenlet = nullptr;  // that runs, borrowed: only compared; null: the thread's own
  uint32_t base = 0;             // what lies above among the thread's frames is the greenlet's
};
thread_local Thread t_thread;
__thread bool t_has_tasks __attribute__((tls_model("initial-exec"))) = false;

using Suspended = std::unordered_map<PyObject*, std::vector<SuspendedFrame>>;
// Never destroyed: daemon threads may come here while the process ends.
Suspended& suspended() {
  static auto* suspended = new Suspended;
  return *suspended;
}

// Forgets the operations that something else has closed: the end of a native call, or of an operation around them.
void trim(Thread& thread) {
  auto is_closed = [&](const Operation& operation) {
    return operation.depth >= thread.writer->depth() || !thread.writer->frame(operation.depth).is_of_task;
  };
  while (!thread.running.empty() && is_closed(thread.running.back())) thread.running.pop_back();
  t_has_tasks = !thread.running.empty();
}

Thread& thread_of(StreamWriter* writer) {
  Thread& thread = t_thread;
  if (thread.writer != writer) {
    thread.writer = writer;
    thread.running.clear();
    thread.greenlet = nullptr;
  }
  trim(thread);
  return thread;
}

void push(Thread& thread, const Operation& operation) {
  thread.running.push_back(operation);
  t_has_tasks = true;
}

// The innermost frame of the thread is an operation of that task from now on.
void begin(StreamWriter* writer, Thread& thread, PyObject* task, PyObject* root) {
  uint32_t depth = writer->depth() - 1;
  uint64_t now = writer->last_ticks();
  writer->frame(depth).is_of_task = 1;
  if (!thread.running.empty() && thread.running.back().root == root) thread.running.back().encloses = true;
  begin_in_sample(root, now);
  push(thread, {task, root, depth, false, false, now, 0, now});
}

void write(StreamWriter* writer, uint32_t name, const Operation& operation, uint64_t now) {
  writer->report_with_last(TaskNumbers{name, now - std::min(operation.opened, now), operation.running_ticks});
}

// Closes what the thread has open from its frame number `base` on, until the task resumes.
void suspend(Thread& thread, PyObject* task, uint32_t base) {
  StreamWriter* writer = thread.writer;
  auto first = std::find_if(thread.running.begin(), thread.running.end(),
                            [&](const Operation& operation) { return operation.depth >= base; });
  std::vector<SuspendedFrame>& frames = suspended()[task];
  auto operation = first;
  for (uint32_t depth = base; depth < writer->depth(); depth++) {
    const StreamWriter::Frame& frame = writer->frame(depth);
    if (frame.is_guess) continue;  // nobody closes it, so that it ends here
    frames.push_back({frame, {}});
    if (frame.is_of_task && operation != thread.running.end()) frames.back().operation = *operation++;
  }
  while (writer->depth() > base) writer->end();
  for (SuspendedFrame& frame : frames) {
    frame.operation.running_ticks += writer->last_ticks() - frame.operation.since;
    frame.operation.was_suspended = true;
  }
  thread.running.erase(first, thread.running.end());
  trim(thread);
}

// Closes what a greenlet that has ended left open.
void end_with_greenlet(StreamWriter* writer, uint32_t base) {
  uint64_t misnested = 0;
  for (; writer->depth() > base; writer->end()) misnested += !writer->frame(writer->depth() - 1).is_guess;
  Session::losses().count_misnested_operations(misnested);
}

// What a process has forked off has none of its parent's tasks.
void after_fork_in_child() {
  suspended().clear();
  abandon_samples();
}

PyObject* contextlib_file;  // the file name in the code of contextlib's functions, once something has imported it

void find_contextlib() {
  PyObject* name = PyUnicode_FromString("contextlib");
  PyObject* module = name ? PyImport_GetModule(name) : nullptr;
  PyObject* function = module ? PyObject_GetAttrString(module, "contextmanager") : nullptr;  // not while it is imported
  if (function) {
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
    contextlib_file = Py_NewRef(code->co_filename);
  }
  Py_XDECREF(function);
  Py_XDECREF(module);
  Py_XDECREF(name);
  if (PyErr_Occurred()) PyErr_Clear();
}

bool is_contextlibs(PyCodeObject* code) {
  PyObject* file = code->co_filename;
  return contextlib_file && (file == contextlib_file || (PyUnicode_GET_LENGTH(file) == PyUnicode_GET_LENGTH(contextlib_file) &&
                                                         PyUnicode_Compare(file, contextlib_file) == 0));
}

// Whether the function runs a generator up to its yield and then something inside what the generator has opened: contextlib
// does for its context managers, pytest for its fixtures.
bool runs_inside_of_generators(PyCodeObject* code) {
  return is_contextlibs(code) || PyUnicode_CompareWithASCIIString(code->co_name, "call_fixture_func") == 0;
}

}  // namespace

PythonFrame* task_frame(PythonFrame* frame) {
  if (!contextlib_file) find_contextlib();
  PythonFrame* found = nullptr;
  for (; frame; frame = caller_of(frame)) {
    PyCodeObject* code = code_of(frame);
    if (is_contextlibs(code)) {
      if (runs_in_steps(code)) found = frame;
      continue;
    }
    if (!runs_in_steps(code)) return found;
    PythonFrame* caller = code->co_flags & CO_COROUTINE ? nullptr : caller_of(frame);
    if (!caller || !runs_inside_of_generators(code_of(caller))) return frame;
  }
  return found;
}

PythonFrame* root_of(PythonFrame* task) {
  for (PythonFrame* caller = caller_of(task); caller && runs_in_steps(code_of(caller)); caller = caller_of(task)) task = caller;
  return task;
}

PythonFrame* frame_outside_contextlib(PythonFrame* frame) {
  if (!contextlib_file) find_contextlib();
  while (frame && is_contextlibs(code_of(frame))) frame = caller_of(frame);
  return frame;
}

void begun_in_task(StreamWriter* writer, PythonFrame* task) try {
  begin(writer, thread_of(writer), generator_of(task), generator_of(root_of(task)));
} catch (const std::bad_alloc&) {
  Session::fail(ENOMEM);
}

void begun_inside_task(StreamWriter* writer) try {
  uint32_t depth = writer->depth() - 1;
  Thread& thread = thread_of(writer);
  if (!thread.running.empty() && thread.running.back().depth < depth) begin(writer, thread, nullptr, thread.running.back().root);
} catch (const std::bad_alloc&) {
  Session::fail(ENOMEM);
}

void sample_is_complete(StreamWriter* writer, SampleNumbers sample) try {
  PythonFrame* frame = current_frame();
  while (frame && !runs_in_steps(code_of(frame))) frame = caller_of(frame);
  if (frame) {
    PyObject* root = generator_of(root_of(frame));
    Thread& thread = thread_of(writer);
    uint64_t now = now_ticks();
    bool is_working = !thread.running.empty() && thread.running.back().root == root && !thread.running.back().encloses;
    if (is_working) work_in_sample(root, thread.running.back().opened, now);
    sample.flags |= kSampleOfTask;
    end_sample(root, now, sample);
  }
  writer->report(sample);
} catch (const std::bad_alloc&) {
  Session::fail(ENOMEM);
}

void ended_in_task(StreamWriter* writer, uint32_t depth) {
  Thread& thread = t_thread;
  if (thread.writer != writer) return;
  while (!thread.running.empty() && thread.running.back().depth > depth) thread.running.pop_back();
  if (!thread.running.empty() && thread.running.back().depth == depth) {
    Operation& operation = thread.running.back();
    operation.running_ticks += writer->last_ticks() - operation.since;
    if (!operation.encloses) work_in_sample(operation.root, operation.opened, writer->last_ticks());
    if (operation.was_suspended) write(writer, writer->frame(depth).id, operation, writer->last_ticks());
    thread.running.pop_back();
  }
  trim(thread);
}

// Another one may have been at this address before: what it left open is no task's any more.
void task_starts(PyObject* task) {
  suspended().erase(task);
  for (Operation& operation : t_thread.running) {
    if (operation.task == task) operation.task = nullptr;
  }
}

void task_suspends(PyObject* task) try {
  StreamWriter* writer = Session::writer();
  if (!writer) return;
  Thread& thread = thread_of(writer);
  auto first = std::find_if(thread.running.begin(), thread.running.end(),
                            [&](const Operation& operation) { return operation.task == task; });
  if (first != thread.running.end()) suspend(thread, task, first->depth);
} catch (const std::bad_alloc&) {
  Session::fail(ENOMEM);
}

void task_resumes(PyObject* task) try {
  auto found = suspended().find(task);
  StreamWriter* writer = Session::writer();
  if (found == suspended().end() || !writer) return;
  std::vector<SuspendedFrame> frames = std::move(found->second);
  suspended().erase(found);
  Thread& thread = thread_of(writer);
  for (SuspendedFrame& frame : frames) {
    if (frame.frame.is_stage && writer->is_guessing()) writer->end();
    if (!writer->begin(encode_id(frame.frame.id))) continue;
    uint32_t depth = writer->depth() - 1;
    writer->frame(depth) = frame.frame;
    if (!frame.frame.is_of_task) continue;
    frame.operation.depth = depth;
    frame.operation.since = writer->last_ticks();
    push(thread, frame.operation);
  }
} catch (const std::bad_alloc&) {
  Session::fail(ENOMEM);
}

void greenlet_switches(PyObject* from, bool goes_on, PyObject* to) try {
  StreamWriter* writer = Session::writer();
  if (!writer) return;
  Thread& thread = thread_of(writer);
  if (from && thread.greenlet == from && writer->depth() > thread.base) {
    if (goes_on) {
      suspend(thread, from, thread.base);
    } else {
      end_with_greenlet(writer, thread.base);
    }
  }
  thread.greenlet = to;
  thread.base = writer->depth();
  if (to) task_resumes(to);
} catch (const std::bad_alloc&) {
  Session::fail(ENOMEM);
}

bool are_tasks_suspended() { return !suspended().empty(); }
__attribute__((hot)) bool are_tasks_running() { return t_has_tasks; }

bool start_tasks() {
  static const bool is_installed = pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0;
  (void)is_installed;
  return start_task_events();
}

void stop_tasks() {
  StreamWriter* writer = t_writer;
  if (writer && !writer->is_closed()) {
    uint64_t now = now_ticks();
    for (Operation& operation : thread_of(writer).running) {
      operation.running_ticks += now - std::min(operation.since, now);
      if (operation.was_suspended) write(writer, writer->frame(operation.depth).id, operation, now);
    }
    for (const auto& [task, frames] : suspended()) {
      for (const SuspendedFrame& frame : frames) {
        if (frame.frame.is_of_task) write(writer, frame.frame.id, frame.operation, now);
      }
    }
  }
  suspended().clear();
  forget_samples();
  t_thread.running.clear();
  t_has_tasks = false;
  stop_task_events();
}

}  // namespace rlscope
