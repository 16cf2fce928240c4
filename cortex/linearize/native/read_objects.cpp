// Objects that hold their children in attributes.
#include "readers.h"

namespace cortex {

namespace {

// The children of an object: a list or tuple, and how a step down to one of them is called.
struct Children {
  nb::object items;       // invalid: none
  nb::handle name;        // of the attribute that holds them all; invalid where each has its own
  bool found = true;
};

struct Frame {
  nb::object object;
  Children children;
  Py_ssize_t next = 0;
  std::size_t pending_begin = 0;
  std::uint32_t index = 0;
};

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

class ObjectReader {
 public:
  ObjectReader(const Context& context, Rows& rows)
      : context_(context), rows_(rows), seen_(context.scratch.seen), pending_(context.scratch.pending) {}

  void read(nb::handle root);
  nb::object path(std::size_t depth) const;
  std::size_t structure() const { return rows_.structures(); }

 private:
  void visit(PyObject* child);
  void open(nb::object object, std::uint32_t index);
  void close();
  void finish(nb::object object, std::size_t pending_begin, std::uint32_t index, std::size_t depth);
  nb::object step(const Frame& frame) const;

  const Context& context_;
  Rows& rows_;
  Seen& seen_;
  std::vector<Frame> frames_;
  std::vector<std::int32_t>& pending_;
};

// A node so many steps below the root, along the children that the frames have reached.
struct ObjectSpot final : Spot {
  ObjectSpot(const ObjectReader& reader, std::size_t depth, std::int64_t row)
      : reader(reader), depth(depth), row(row) {}
  nb::object place() const override { return make_place(reader.structure(), row, reader.path(depth)); }
  const ObjectReader& reader;
  std::size_t depth;
  std::int64_t row;
};

nb::object ObjectReader::step(const Frame& frame) const {
  Py_ssize_t position = frame.next - 1;
  if (frame.children.name.is_valid()) {
    return nb::steal(PyUnicode_FromFormat(".%U[%zd]", frame.children.name.ptr(), position));
  }
  nb::handle name = context_.by_position ? nb::handle(context_.names[static_cast<std::size_t>(position)])
                    : position == 0      ? context_.left
                                         : context_.right;
  return nb::steal(PyUnicode_FromFormat(".%U", name.ptr()));
}

nb::object ObjectReader::path(std::size_t depth) const {
  nb::list steps;
  steps.append("root");
  for (std::size_t i = 0; i < depth; ++i) steps.append(step(frames_[i]));
  return nb::module_::import_("cortex.linearize.faults").attr("path")(steps);
}

void ObjectReader::read(nb::handle root) {
  seen_.begin_structure();
  frames_.reserve(32);
  open(nb::borrow(root), seen_.meet(root.ptr()).first);
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    PyObject* items = frame.children.items.ptr();
    // A list may change while attributes are read, so its length is asked for each time.
    if (frame.next == PySequence_Fast_GET_SIZE(items)) {
      close();
      continue;
    }
    PyObject* child = PySequence_Fast_GET_ITEM(items, frame.next++);
    if (child == Py_None) {
      pending_.push_back(-1);
    } else {
      visit(child);
    }
  }
  rows_.add_root(pending_.back());
  pending_.clear();
  rows_.end_structure();
}

void ObjectReader::visit(PyObject* child) {
  auto [index, known] = seen_.meet(child);
  if (!known) {
    open(nb::borrow(child), index);
    return;
  }
  std::int32_t row = seen_.row(index);
  ObjectSpot spot(*this, frames_.size(), -1);
  if (row < 0) fault("cycle", spot.place(), nb::handle(child));
  if (!context_.plan.is_dag) fault("shared", spot.place(), row - rows_.row_begin.back(), nb::handle(child));
  pending_.push_back(row);
}

void ObjectReader::open(nb::object object, std::uint32_t index) {
  Children children = find_children(context_, object);
  ObjectSpot spot(*this, frames_.size(), -1);
  if (!children.found) fault("not_a_node", spot.place(), object, context_.children);
  nb::object& items = children.items;
  if (items.is_valid() && !PyTuple_Check(items.ptr()) && !PyList_Check(items.ptr())) {
    nb::object iterator = nb::steal(PyObject_GetIter(items.ptr()));
    if (!iterator.is_valid()) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
      PyErr_Clear();
      fault("children_not_iterable", spot.place(), object, children.name, items);
    }
    items = nb::steal(PySequence_List(iterator.ptr()));
    if (!items.is_valid()) throw nb::python_error();
  }
  if (!items.is_valid() || PySequence_Fast_GET_SIZE(items.ptr()) == 0) {
    finish(std::move(object), pending_.size(), index, frames_.size());
  } else {
    frames_.push_back({std::move(object), std::move(children), 0, pending_.size(), index});
  }
}

void ObjectReader::close() {
  Frame& frame = frames_.back();
  while (pending_.size() > frame.pending_begin && pending_.back() < 0) pending_.pop_back();
  finish(frame.object, frame.pending_begin, frame.index, frames_.size() - 1);
  frames_.pop_back();
}

void ObjectReader::finish(nb::object object, std::size_t pending_begin, std::uint32_t index,
                          std::size_t depth) {
  ObjectSpot spot(*this, depth, rows_.next_row());
  const std::int32_t* children = pending_.data() + pending_begin;
  std::size_t width = pending_.size() - pending_begin;
  check_arity(context_.plan, children, width, spot, object);
  append_attributes(context_.plan, object.ptr(), width == 0, spot, rows_);
  std::int32_t row = rows_.finish(children, width, std::move(object));
  seen_.set_row(index, row);
  pending_.resize(pending_begin);
  pending_.push_back(row);
}

}  // namespace

bool has_children(const Context& context, nb::handle item) { return find_children(context, item).found; }

void read_object(const Context& context, nb::handle root, Rows& rows) { ObjectReader(context, rows).read(root); }

}  // namespace cortex
