// Depth-first walk over structures of Python objects, with children in a list, a tuple or attributes.
#pragma once

#include "readers.h"

namespace cortex {

// What a source says of the children of an object. They are in `items`, or else those that it pushed to a vector.
struct Children {
  nb::object items;   // a list or a tuple; invalid: there is none
  bool once = false;  // nothing but the object holds what holds them
};

// A Source knows a kind of node:
//   Children children(nb::handle object, const Location& location, std::vector<nb::object>& pushed)
//                                                        raises a fault for what is no node
//   nb::object step(bool from_items, Py_ssize_t position)  the text of the step to a child: ".left", "[1]"
//   void append(nb::handle object, bool leaf, const Location& location, Rows& rows)  appends what it carries
template <class Source>
class ObjectWalk {
 public:
  ObjectWalk(const Context& context, const Source& source, Rows& rows)
      : context_(context), source_(source), rows_(rows), seen_(context.scratch.seen), frames_(context.scratch.frames),
        pushed_(context.scratch.pushed), pending_(context.scratch.pending) {}

  // Read one structure; an object that is met twice is one node.
  void read(nb::handle root) {
    seen_.begin_structure();
    visit(nb::borrow(root), false);
    while (!frames_.empty()) step();
    rows_.add_root(pending_.back());
    pending_.clear();
    rows_.end_structure();
  }

 private:
  // The node below the frames that there are, along the children that they have reached.
  struct NodeLocation final : Location {
    NodeLocation(const ObjectWalk& walk, bool finishing) : walk(walk), finishing(finishing) {}
    nb::object place() const override {
      return make_place(walk.rows_.structures(), finishing ? walk.rows_.next_row() : -1, walk.path());
    }
    const ObjectWalk& walk;
    bool finishing;
  };

  nb::object path() const {
    nb::list steps;
    steps.append("root");
    for (const ObjectFrame& frame : frames_) steps.append(source_.step(frame.items.is_valid(), frame.next - 1));
    return nb::module_::import_("cortex.linearize.faults").attr("path")(steps);
  }

  void step() {
    ObjectFrame& frame = frames_.back();
    PyObject* items = frame.items.ptr();
    // A list may change while attributes are read, so its length is asked for each time.
    if (frame.next >= (items == nullptr ? frame.pushed : PySequence_Fast_GET_SIZE(items))) return close();
    Py_ssize_t position = frame.next++;
    nb::object child = items == nullptr ? std::move(pushed_[frame.pushed_begin + static_cast<std::size_t>(position)])
                                        : nb::borrow(PySequence_Fast_GET_ITEM(items, position));
    if (child.is_none()) {
      pending_.push(-1);
    } else {
      visit(std::move(child), frame.once);
    }
  }

  // An object to which this is the only way in the structure cannot be met again, and need not be known: besides us
  // nothing holds it but what its parent alone holds.
  void visit(nb::object object, bool once) {
    if (once && Py_REFCNT(object.ptr()) == 2) return open(std::move(object), Seen::kUnknown);
    visit_known(std::move(object));
  }

  // One that may have been met before.
  [[gnu::noinline]] void visit_known(nb::object object) {
    auto [index, known] = seen_.meet(object.ptr());
    if (!known) return open(std::move(object), index);
    std::int32_t row = seen_.row(index);
    if (row < 0) fault("cycle", meeting_.place(), object);
    if (!context_.plan.is_dag) fault("shared", meeting_.place(), row - rows_.row_begin.back(), object);
    pending_.push(row);
  }

  void open(nb::object object, std::uint32_t index) {
    std::size_t pushed_begin = pushed_.size();
    Children children = source_.children(object, meeting_, pushed_);
    const nb::object& items = children.items;
    std::size_t pushed = pushed_.size() - pushed_begin;
    if (items.is_valid() ? PySequence_Fast_GET_SIZE(items.ptr()) == 0 : pushed == 0) {
      source_.append(object, true, finishing_, rows_);
      keep(rows_.take(nullptr, 0, std::move(object)), index);
    } else {
      rows_.require(frames_.size() + 1);
      frames_.push_back({std::move(object), std::move(children.items), 0, static_cast<Py_ssize_t>(pushed), pushed_begin,
                         pending_.size(), index, children.once});
    }
  }

  void close() {
    ObjectFrame frame = std::move(frames_.back());
    frames_.pop_back();
    while (pushed_.size() > frame.pushed_begin) pushed_.pop_back();
    while (pending_.size() > frame.pending_begin && pending_.back() < 0) pending_.pop();
    const std::int32_t* children = pending_.data() + frame.pending_begin;
    std::size_t width = pending_.size() - frame.pending_begin;
    check_arity(context_.plan, children, width, finishing_, frame.object);
    source_.append(frame.object, width == 0, finishing_, rows_);
    std::int32_t row = rows_.take(children, width, std::move(frame.object));
    pending_.shorten(frame.pending_begin);
    keep(row, frame.index);
  }

  void keep(std::int32_t row, std::uint32_t index) {
    if (index != Seen::kUnknown) seen_.set_row(index, row);
    pending_.push(row);
  }

  const Context& context_;
  const Source& source_;
  Rows& rows_;
  Seen& seen_;
  std::vector<ObjectFrame>& frames_;
  std::vector<nb::object>& pushed_;
  GrowingArray<std::int32_t>& pending_;
  NodeLocation meeting_{*this, false}, finishing_{*this, true};
};

}  // namespace cortex
