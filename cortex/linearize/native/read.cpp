#include "readers.h"

namespace cortex {

namespace {

bool is_instance(nb::handle item, const char* module, const char* name) {
  nb::object type = nb::module_::import_(module).attr(name);
  return nb::isinstance(item, type);
}

bool is_forest(nb::handle item) {
  static PyObject* const type = nb::module_::import_("cortex.linearize.forest").attr("Forest").inc_ref().ptr();
  return PyObject_TypeCheck(item.ptr(), reinterpret_cast<PyTypeObject*>(type)) != 0;
}

bool is_numberless(nb::handle item) {  // what is no array although its memory can be read as one
  return PyBytes_Check(item.ptr()) || PyByteArray_Check(item.ptr()) || PyTuple_Check(item.ptr());
}

}  // namespace

AttributeNames::AttributeNames(nb::handle children, const PlanSpec& plan)
    : by_position(nb::isinstance<nb::tuple>(children)), or_pair(children.is_none()) {
  auto add = [&](nb::handle name) { all.push_back(interned(nb::cast<nb::str>(name).c_str())); };
  if (by_position) {
    for (nb::handle name : children) add(name);
  } else if (or_pair) {
    for (const char* name : {"children", "left", "right"}) all.push_back(interned(name));
  } else {
    add(children);
  }
  first_payload = all.size();
  for (const PayloadSpec& payload : plan.payloads) all.push_back(payload.name);
}

void read_member(const Context& context, nb::handle item, Rows& rows) {
  WholeStructure whole(rows.structures());
  PyObject* object = item.ptr();
  if (PyUnicode_Check(object)) return read_text(context, item, rows);
  if (is_tuple_or_int(item)) return read_tuple(context, item, rows);
  if (PyList_CheckExact(object)) fault("batch_in_batch", whole.place(), item);
  if (is_ndarray(item)) return read_sequence(context, item, rows);
  // Before attributes are looked up, which ends borrowing where they may be code.
  if (is_forest(item)) return read_forest(context, item, rows);
  if (has_children(context, item)) return read_object(context, item, rows);
  rows.stop_borrowing();
  if (is_labelled(item)) return read_labelled(context, item, rows);
  if (is_graph(item)) return read_graph(context, item, rows);
  if (is_instance(item, "cortex.linearize.result", "Linearized")) fault("linearized_in_batch", whole.place());
  if (is_array_like(item) && !is_numberless(item)) return read_sequence(context, item, rows);
  fault("not_a_structure", whole.place(), item, context.children);
}

}  // namespace cortex
