// Keeps an entry for each coroutine or generator that lives and has had an operation since its last sample.
#include "task_samples.h"

#include <algorithm>
#include <unordered_map>

namespace rlscope {
namespace {

// All that follows is guarded by the GIL.
struct Making {
  PyObject* reference;  // weak: another object may be at the same address later
  uint64_t begun;
  uint64_t working_ticks;
};
using Samples = std::unordered_map<PyObject*, Making>;
// Never destroyed: daemon threads may come here while the process ends.
Samples& samples() {
  static auto* samples = new Samples;
  return *samples;
}
constexpr size_t kFewSamples = 64;
size_t looked_through_at = kFewSamples;

bool is_of(const Making& making, PyObject* root) {
#if PY_VERSION_HEX < 0x030D0000
  return PyWeakref_GET_OBJECT(making.reference) == root;
#else
  PyObject* referent = nullptr;
  PyWeakref_GetRef(making.reference, &referent);
  Py_XDECREF(referent);  // only compared
  return referent == root;
#endif
}

Samples::iterator erase(Samples::iterator place) {
  Py_DECREF(place->second.reference);
  return samples().erase(place);
}

// Tasks that end without a report leave an entry behind: gone before there are twice as many as tasks that live.
void forget_ended() {
  for (auto place = samples().begin(); place != samples().end();) {
    place = is_of(place->second, place->first) ? std::next(place) : erase(place);
  }
  looked_through_at = std::max(kFewSamples, 2 * samples().size());
}

Making* find(PyObject* root) {
  auto found = samples().find(root);
  return found != samples().end() && is_of(found->second, root) ? &found->second : nullptr;
}

}  // namespace

void begin_in_sample(PyObject* root, uint64_t now) {
  if (find(root)) return;
  PyObject* reference = PyWeakref_NewRef(root, nullptr);
  if (!reference) {
    PyErr_Clear();
    return;
  }
  auto [place, is_new] = samples().try_emplace(root, Making{reference, now, 0});
  if (!is_new) {
    Py_DECREF(place->second.reference);
    place->second = {reference, now, 0};
  }
  if (samples().size() > looked_through_at) forget_ended();
}

void work_in_sample(PyObject* root, uint64_t opened, uint64_t now) {
  Making* making = find(root);
  if (making) making->working_ticks += now - std::min(std::max(opened, making->begun), now);
}

void end_sample(PyObject* root, uint64_t now, SampleNumbers& sample) {
  Making* making = find(root);
  if (!making) return;
  sample.elapsed_ticks = now - std::min(making->begun, now);
  sample.working_ticks = std::min(making->working_ticks, sample.elapsed_ticks);
  erase(samples().find(root));
}

void abandon_samples() { samples().clear(); }

void forget_samples() {
  while (!samples().empty()) erase(samples().begin());
  looked_through_at = kFewSamples;
}

}  // namespace rlscope
