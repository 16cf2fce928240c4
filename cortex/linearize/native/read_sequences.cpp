// Arrays as sequences: step t's only child is step t - 1.
#include "flat.h"

namespace cortex {

namespace {

nb::object array_of(nb::handle item, const Location& whole) {
  if (is_masked(item)) fault("masked", whole.place(), nb::none());
  if (is_ndarray(item)) return nb::borrow(item);
  try {
    return as_array(item);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    nb::object raised = nb::borrow(error.value());
    fault("unreadable", whole.place(), item, raised);
  }
}

// The index of the payload that the array's entries are, or -1 where the plan does not read it.
int payload_of(const PlanSpec& plan, nb::handle array, const Location& whole) {
  nb::object dtype = array.attr("dtype");
  auto kind = *nb::cast<nb::str>(dtype.attr("kind")).c_str();
  auto ndim = nb::cast<int>(array.attr("ndim"));
  if (ndim == 1 && (kind == 'i' || kind == 'u')) return plan.word;
  if (ndim != 2 || kind != 'f') fault("no_sequence", whole.place(), dtype, ndim, array);
  nb::list names;
  int found = -1;
  for (std::size_t i = 0; i < plan.payloads.size(); ++i) {
    if (plan.payloads[i].shape.size() != 1 || is_int(plan.payloads[i].dtype)) continue;
    names.append(plan.payloads[i].name);
    found = static_cast<int>(i);
  }
  if (names.size() != 1) fault("no_vector_payload", whole.place(), nb::tuple(names));
  return found;
}

struct StepLocation final : Location {
  StepLocation(const Rows& rows, std::size_t step) : rows(rows), step(step) {}
  nb::object place() const override {
    return make_place(rows.structures(), rows.next_row(), nb::steal(PyUnicode_FromFormat("step %zu", step)));
  }
  const Rows& rows;
  std::size_t step;
};

}  // namespace

void read_sequence(const Context& context, nb::handle item, Rows& rows) {
  std::size_t structure = rows.structures();
  WholeStructure whole(structure);
  nb::object array = array_of(item, whole);
  int payload = payload_of(context.plan, array, whole);
  Py_ssize_t length = PyObject_Length(array.ptr());
  if (length < 0) throw nb::python_error();
  if (length == 0) fault("empty_sequence", whole.place());
  std::size_t first_row = rows.count();
  std::int32_t last = -1;
  for (std::size_t step = 0; step < static_cast<std::size_t>(length); ++step) {
    check_arity(context.plan, &last, step == 0 ? 0 : 1, StepLocation(rows, step), step);
    last = rows.finish(&last, step == 0 ? 0 : 1);
  }
  rows.keys.push_range(static_cast<std::size_t>(length));
  rows.add_root(last);
  rows.end_structure();
  FlatMember member{rows, first_row, structure, "step %d", nullptr};
  for (std::size_t i = 0; i < context.plan.payloads.size(); ++i) {
    append_column(context.plan.payloads[i], static_cast<int>(i) == payload ? array : nb::object(), member,
                  rows.columns[i]);
  }
}

}  // namespace cortex
