// The operations that coroutines and generators have open: closed for the thread while these are suspended, and opened
// again where they go on.
#pragma once
#include <Python.h>

#include "python_frames.h"
#include "stream_writer.h"

namespace rlscope {

// The frame of the coroutine or generator to which an operation belongs that is opened in `frame`; null: to the thread.
PythonFrame* task_frame(PythonFrame* frame);
// The frame of the outermost of the coroutines that wait for this one, each for the next: of asyncio's task, say.
PythonFrame* root_of(PythonFrame* task);
// The innermost frame from `frame` on that is not the standard library's contextlib's.
PythonFrame* frame_outside_contextlib(PythonFrame* frame);

// The innermost frame of the thread is an operation of that coroutine from now on.
void begun_in_task(StreamWriter* writer, PythonFrame* task);
// The operation of a task has ended that was the thread's frame number `depth`.
void ended_in_task(StreamWriter* writer, uint32_t depth);

// The innermost frame is an operation that a function has opened, which a task calls: it ends before the task is suspended.
void begun_inside_task(StreamWriter* writer);

// The sample is complete that the caller's coroutine or generator makes, or where there is none, its thread.
void sample_is_complete(StreamWriter* writer, SampleNumbers sample);

// What the interpreter reports; `task` is the coroutine or generator.
void task_starts(PyObject* task);
void task_suspends(PyObject* task);
void task_resumes(PyObject* task);

// A greenlet of this thread gives way to another one, and `goes_on` later or has ended. Null is the thread's own greenlet:
// what that has open is open around all others.
void greenlet_switches(PyObject* from, bool goes_on, PyObject* to);

// Whether there is anything to do when a task is resumed, or suspended on this thread.
bool are_tasks_suspended();
bool are_tasks_running();

// The recording begins, and ends: writes down the operations of tasks that are still open.
bool start_tasks();
void stop_tasks();

// Who calls the above differs between versions of Python: task_slots.cpp up to 3.11, task_monitoring.cpp since. After a
// false start an exception is set.
bool start_task_events();
// Whether it will be said when the task is suspended and resumed.
bool follow_task_events(PythonFrame* task);
void stop_task_events();

}  // namespace rlscope
