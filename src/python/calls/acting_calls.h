// Tells which calls of compiled functions act: those of which an environment takes what they return.
#pragma once
#include <Python.h>

#include <cstdint>

#include "stream_writer.h"
#include "vocabulary.h"

namespace rlscope {

// Where an object came from: the first of the calls that led to it since the environment last stepped.
struct Origin {
  uint64_t place = 0;   // from which that call was made; 0: nothing is known
  uint64_t turn = 0;    // the thread's, between two steps of the environment
  uint64_t number = 0;  // of the call in the thread

  bool is_known() const { return place != 0; }
};

// In which call the thread is now.
extern thread_local Origin t_origin;

// What the objects that a call is given came from.
struct Inputs {
  static constexpr size_t kMost = 8;
  Origin origins[kMost];
  size_t count = 0;
  bool are_learned = false;  // an update has made one

  void add(const Origin& origin, Stage stage) {
    are_learned |= stage == Stage::kBackpropagation;
    if (origin.is_known() && count < kMost) origins[count++] = origin;
  }
};

// How calls of a function are followed.
struct Following {
  PyObject* acting = nullptr;   // the guessed stage of those that act; null: they are not followed
  PyObject* package = nullptr;  // that compiled it, through which the program may have called it
  bool is_library = false;      // it serves all purposes: what it makes of what an update has computed is no action
};

// A call of a function of which no stage is known: opens the guessed stage if calls from its place have acted. Returns
// what its results come from.
Origin follow_call(StreamWriter* writer, const Following& following, const Inputs& inputs);

// A call of a function whose stage is known: an update, or a simulation, which takes what it is given.
void follow_labelled(StreamWriter* writer, Stage stage, const Inputs& inputs);

// The program has got a value of this origin: where it acts, that is over.
void note_read(StreamWriter* writer, const Origin& origin);

}  // namespace rlscope
