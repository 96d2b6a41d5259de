// A call acts if a value that came from it was read, or given to a compiled simulation, and the environment stepped before
// anything was learned. The place in the program from which the first of such calls was made opens inference from then on,
// until the value is read. Where an update comes first, the place opens it no longer.
#include "acting_calls.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "python_frames.h"
#include "scope.h"
#include "session.h"
#include "sites.h"

namespace rlscope {

thread_local Origin t_origin;

namespace {

// Guarded by the GIL.
std::unordered_set<uint64_t>& places_that_act() {
  static auto* places = new std::unordered_set<uint64_t>;
  return *places;
}

struct Thread {
  uint64_t simulations = 0;  // as the writer counted them when the turn began
  uint64_t turn = 1;
  uint64_t calls = 0;
  std::vector<uint64_t> begun, read;  // places of this turn: of calls, and of those of which a value was read
};
thread_local Thread t_thread;

// How many places of a turn are remembered: a program that calls more has not been stepping an environment.
constexpr size_t kPlaces = 64;

void add(std::vector<uint64_t>& places, uint64_t place) {
  if (places.size() < kPlaces && std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
}

void begin_turn(Thread& thread) {
  thread.turn++;
  thread.begun.clear();
  thread.read.clear();
}

// If the environment has stepped since, what was read before it was for it.
void settle(Thread& thread, StreamWriter* writer) {
  if (thread.simulations == writer->simulations()) return;
  thread.simulations = writer->simulations();
  for (uint64_t place : thread.read) places_that_act().insert(place);
  begin_turn(thread);
}

// What was called before something is learned was for that.
void learn(Thread& thread) {
  for (uint64_t place : thread.begun) places_that_act().erase(place);
  begin_turn(thread);
}

bool is_of(PythonFrame* frame, PyObject* package) {
  static PyObject* name = PyUnicode_InternFromString("__name__");
  PyObject* module = name ? PyDict_GetItemWithError(globals_of(frame), name) : nullptr;
  if (!module || !PyUnicode_Check(module) || PyUnicode_Tailmatch(module, package, 0, PY_SSIZE_T_MAX, -1) != 1) return false;
  Py_ssize_t length = PyUnicode_GET_LENGTH(package);
  return PyUnicode_GET_LENGTH(module) == length || PyUnicode_READ_CHAR(module, length) == '.';
}

// The package's own functions may have called it in turn.
uint64_t place_of_program(PyObject* package) {
  PythonFrame* frame = current_frame();
  while (frame && is_of(frame, package)) frame = caller_of(frame);
  return site_of(frame);
}

bool is_learning(Stage stage) { return stage == Stage::kBackpropagation || stage == Stage::kSynchronisation; }

}  // namespace

Origin follow_call(StreamWriter* writer, const Following& following, const Inputs& inputs) {
  if (t_origin.is_known()) return t_origin;  // one inside of another
  Thread& thread = t_thread;
  settle(thread, writer);
  Stage stage = Session::place_of(*writer).stage;
  if (is_learning(stage)) learn(thread);
  if (stage > Stage::kTrainingLoop && !writer->is_guessing()) return {};
  if (following.is_library && inputs.are_learned) return {};
  Origin first;
  for (size_t i = 0; i < inputs.count; i++) {
    const Origin& origin = inputs.origins[i];
    if (origin.turn == thread.turn && (!first.is_known() || origin.number < first.number)) first = origin;
  }
  if (!first.is_known()) first = {place_of_program(following.package), thread.turn, thread.calls++};
  add(thread.begun, first.place);
  if (places_that_act().count(first.place) && !enter_scope(following.acting)) PyErr_Clear();
  return first;
}

void follow_labelled(StreamWriter* writer, Stage stage, const Inputs& inputs) {
  Thread& thread = t_thread;
  settle(thread, writer);
  if (is_learning(stage)) learn(thread);
  if (stage != Stage::kSimulation) return;
  for (size_t i = 0; i < inputs.count; i++) {
    if (inputs.origins[i].turn == thread.turn) add(thread.read, inputs.origins[i].place);
  }
}

void note_read(StreamWriter* writer, const Origin& origin) {
  Thread& thread = t_thread;
  settle(thread, writer);
  // A simulation may read what it was given when it has begun.
  bool is_inside = Session::place_of(*writer).stage == Stage::kSimulation;
  if (is_inside && origin.turn + 1 == thread.turn) places_that_act().insert(origin.place);
  if (origin.turn != thread.turn) return;
  add(thread.read, origin.place);
  if (writer->is_guessing()) writer->end();
}

}  // namespace rlscope
