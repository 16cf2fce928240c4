// Structures of objects, depth first.
#include "objects.h"

namespace cortex {

namespace {

struct Frame {
  nb::object object;
  Children children;
  Py_ssize_t next = 0;
  std::size_t pending_begin = 0;
  std::uint32_t index = 0;
};

class ObjectWalk {
 public:
  ObjectWalk(const Context& context, const ObjectSource& source, Rows& rows)
      : context_(context), source_(source), rows_(rows), seen_(context.scratch.seen), pending_(context.scratch.pending) {}

  void read(nb::handle root);
  nb::object path(std::size_t depth) const;
  std::size_t structure() const { return rows_.structures(); }

 private:
  void visit(PyObject* child);
  void open(nb::object object, std::uint32_t index);
  void close();
  void finish(nb::object object, std::size_t pending_begin, std::uint32_t index, std::size_t depth);

  const Context& context_;
  const ObjectSource& source_;
  Rows& rows_;
  Seen& seen_;
  std::vector<Frame> frames_;
  std::vector<std::int32_t>& pending_;
};

// A node so many steps below the root, along the children that the frames have reached.
struct ObjectSpot final : Spot {
  ObjectSpot(const ObjectWalk& reader, std::size_t depth, std::int64_t row)
      : reader(reader), depth(depth), row(row) {}
  nb::object place() const override { return make_place(reader.structure(), row, reader.path(depth)); }
  const ObjectWalk& reader;
  std::size_t depth;
  std::int64_t row;
};

nb::object ObjectWalk::path(std::size_t depth) const {
  nb::list steps;
  steps.append("root");
  for (std::size_t i = 0; i < depth; ++i) steps.append(source_.step(frames_[i].children, frames_[i].next - 1));
  return nb::module_::import_("cortex.linearize.faults").attr("path")(steps);
}

void ObjectWalk::read(nb::handle root) {
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

void ObjectWalk::visit(PyObject* child) {
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

void ObjectWalk::open(nb::object object, std::uint32_t index) {
  ObjectSpot spot(*this, frames_.size(), -1);
  Children children = source_.children(object, spot);
  const nb::object& items = children.items;
  if (!items.is_valid() || PySequence_Fast_GET_SIZE(items.ptr()) == 0) {
    finish(std::move(object), pending_.size(), index, frames_.size());
  } else {
    frames_.push_back({std::move(object), std::move(children), 0, pending_.size(), index});
  }
}

void ObjectWalk::close() {
  Frame& frame = frames_.back();
  while (pending_.size() > frame.pending_begin && pending_.back() < 0) pending_.pop_back();
  finish(frame.object, frame.pending_begin, frame.index, frames_.size() - 1);
  frames_.pop_back();
}

void ObjectWalk::finish(nb::object object, std::size_t pending_begin, std::uint32_t index,
                          std::size_t depth) {
  ObjectSpot spot(*this, depth, rows_.next_row());
  const std::int32_t* children = pending_.data() + pending_begin;
  std::size_t width = pending_.size() - pending_begin;
  check_arity(context_.plan, children, width, spot, object);
  source_.append(object, width == 0, spot, rows_);
  std::int32_t row = rows_.finish(children, width, std::move(object));
  seen_.set_row(index, row);
  pending_.resize(pending_begin);
  pending_.push_back(row);
}

}  // namespace

void walk_objects(const Context& context, const ObjectSource& source, nb::handle root, Rows& rows) {
  ObjectWalk(context, source, rows).read(root);
}

}  // namespace cortex
