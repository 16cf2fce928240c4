// Ints and tuples: values, so that nothing in them is ever shared.
#include "readers.h"

namespace cortex {

namespace {

struct Frame {
  PyObject* tuple;  // lives as long as the root, which the caller holds
  Py_ssize_t next;
  std::size_t pending_begin;
};

class TupleReader {
 public:
  TupleReader(const Context& context, Rows& rows)
      : context_(context), rows_(rows), pending_(context.scratch.pending) {}

  void read(PyObject* root);
  nb::object place(std::size_t depth, std::int64_t row) const;

 private:
  void visit(PyObject* element);
  void close();
  void finish(PyObject* node, PyObject* word, std::size_t pending_begin, std::size_t depth);

  const Context& context_;
  Rows& rows_;
  std::vector<Frame> frames_;
  GrowingArray<std::int32_t>& pending_;
};

struct TupleLocation final : Location {
  TupleLocation(const TupleReader& reader, std::size_t depth, std::int64_t row)
      : reader(reader), depth(depth), row(row) {}
  nb::object place() const override { return reader.place(depth, row); }
  const TupleReader& reader;
  std::size_t depth;
  std::int64_t row;
};

bool is_int_leaf(PyObject* value) {
  if (PyLong_Check(value)) return !PyBool_Check(value);
  return is_numpy_integer(value);
}

nb::object TupleReader::place(std::size_t depth, std::int64_t row) const {
  nb::list steps;
  steps.append("root");
  for (std::size_t i = 0; i < depth; ++i) {
    steps.append(nb::steal(PyUnicode_FromFormat("[%zd]", frames_[i].next - 1)));
  }
  return make_place(rows_.structures(), row, nb::module_::import_("cortex.linearize.faults").attr("path")(steps));
}

void TupleReader::read(PyObject* root) {
  frames_.reserve(32);
  visit(root);
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (frame.next == PyTuple_GET_SIZE(frame.tuple)) {
      close();
      continue;
    }
    PyObject* element = PyTuple_GET_ITEM(frame.tuple, frame.next++);
    if (element == Py_None) {
      pending_.push(-1);
    } else {
      visit(element);
    }
  }
  rows_.add_root(pending_.back());
  pending_.clear();
  rows_.end_structure();
}

void TupleReader::visit(PyObject* element) {
  TupleLocation location(*this, frames_.size(), -1);
  if (!PyTuple_CheckExact(element)) {
    if (!is_int_leaf(element)) fault("tuple_element", location.place(), nb::handle(element));
    finish(element, element, pending_.size(), frames_.size());
    return;
  }
  if (PyTuple_GET_SIZE(element) == 0) fault("empty_tuple", location.place());
  frames_.push_back({element, 0, pending_.size()});
}

void TupleReader::close() {
  Frame frame = frames_.back();
  while (pending_.size() > frame.pending_begin && pending_.back() < 0) pending_.pop();
  finish(frame.tuple, nullptr, frame.pending_begin, frames_.size() - 1);
  frames_.pop_back();
}

void TupleReader::finish(PyObject* node, PyObject* word, std::size_t pending_begin, std::size_t depth) {
  TupleLocation location(*this, depth, rows_.next_row());
  const std::int32_t* children = pending_.data() + pending_begin;
  std::size_t width = pending_.size() - pending_begin;
  check_arity(context_.plan, children, width, location, nb::handle(node));
  append_word(context_.plan, word, width == 0, node, location, rows_);
  std::int32_t row = rows_.finish(children, width, nb::borrow(node));
  pending_.shorten(pending_begin);
  pending_.push(row);
}

}  // namespace

bool is_tuple_or_int(nb::handle item) { return PyTuple_CheckExact(item.ptr()) || is_int_leaf(item.ptr()); }

void read_tuple(const Context& context, nb::handle root, Rows& rows) { TupleReader(context, rows).read(root.ptr()); }

}  // namespace cortex
