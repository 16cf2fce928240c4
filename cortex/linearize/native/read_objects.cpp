// Objects that hold their children in attributes.
#include "objects.h"

namespace cortex {

namespace {

nb::object pack(std::vector<nb::object>& items) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  if (!tuple.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < items.size(); ++i) {
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), items[i].release().ptr());
  }
  return tuple;
}

Children find_pair(nb::handle object, nb::handle left_name, nb::handle right_name) {
  nb::object left = find(object, left_name);
  if (!left.is_valid()) return {{}, {}, false};
  nb::object right = find(object, right_name);
  if (!right.is_valid()) return {{}, {}, false};
  if (left.is_none() && right.is_none()) return {};
  return {nb::steal(PyTuple_Pack(2, left.ptr(), right.ptr())), {}};
}

// The attributes as they are, `items` not yet known to be a list or tuple.
Children find_children(const Context& context, nb::handle object) {
  if (!context.by_position) {
    nb::object items = find(object, context.names[0]);
    if (items.is_none()) return {{}, context.names[0]};
    if (items.is_valid()) return {std::move(items), context.names[0]};
    if (!context.children.is_none()) return {{}, {}, false};
    return find_pair(object, context.left, context.right);
  }
  std::vector<nb::object> items;
  for (const nb::object& name : context.names) {
    items.push_back(find(object, name));
    if (!items.back().is_valid()) return {{}, {}, false};
  }
  return {pack(items), {}};
}

class Attributes final : public ObjectSource {
 public:
  explicit Attributes(const Context& context) : context_(context) {}

  Children children(nb::handle object, const Spot& spot) const override {
    Children children = find_children(context_, object);
    if (!children.found) fault("not_a_node", spot.place(), object, context_.children);
    nb::object& items = children.items;
    if (!items.is_valid() || PyTuple_Check(items.ptr()) || PyList_Check(items.ptr())) return children;
    nb::object iterator = nb::steal(PyObject_GetIter(items.ptr()));
    if (!iterator.is_valid()) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
      PyErr_Clear();
      fault("children_not_iterable", spot.place(), object, children.name, items);
    }
    items = nb::steal(PySequence_List(iterator.ptr()));
    if (!items.is_valid()) throw nb::python_error();
    return children;
  }

  nb::object step(const Children& children, Py_ssize_t position) const override {
    if (children.name.is_valid()) {
      return nb::steal(PyUnicode_FromFormat(".%U[%zd]", children.name.ptr(), position));
    }
    nb::handle name = context_.by_position ? nb::handle(context_.names[static_cast<std::size_t>(position)])
                      : position == 0      ? context_.left
                                           : context_.right;
    return nb::steal(PyUnicode_FromFormat(".%U", name.ptr()));
  }

  void append(nb::handle object, bool leaf, const Spot& spot, Rows& rows) const override {
    append_attributes(context_.plan, object.ptr(), leaf, spot, rows);
  }

 private:
  const Context& context_;
};

}  // namespace

bool has_children(const Context& context, nb::handle item) { return find_children(context, item).found; }

void read_object(const Context& context, nb::handle root, Rows& rows) {
  walk_objects(context, Attributes(context), root, rows);
}

}  // namespace cortex
