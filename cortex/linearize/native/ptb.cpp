#include "ptb.h"

#include "brackets.h"

namespace cortex {

namespace {

bool is_number(const Text& text, Range range) {
  if (range.end - range.begin > 18) return false;  // such a label names nothing that is counted
  Py_ssize_t i = range.begin;
  if (text.at(i) == '-' && range.end - i > 1) ++i;
  for (; i < range.end; ++i) {
    if (text.at(i) < '0' || text.at(i) > '9') return false;
  }
  return true;
}

class NodeSink final : public TreeSink {
 public:
  NodeSink(const Text& text, nb::handle origin, nb::handle vocab)
      : text_(text), origin_(origin), make_node_(nb::module_::import_("cortex.linearize.node").attr("Node")) {
    if (vocab.is_none()) return;
    words_ = vocab.attr("rows");
    unknown_ = vocab.attr("unknown");
  }

  void leaf(Py_ssize_t open, Range label, Range word) override {
    nb::object token = text_.part(word);
    if (words_.is_valid()) {
      nb::object number = look_up(token, open);
      open_.push_back(make_node_(nb::arg("label") = label_of(label), nb::arg("token") = token,
                                 nb::arg("word") = number));
    } else {
      open_.push_back(make_node_(nb::arg("label") = label_of(label), nb::arg("token") = token));
    }
  }

  void inner(Py_ssize_t, Range label, Py_ssize_t width) override {
    nb::list children;
    std::size_t begin = open_.size() - static_cast<std::size_t>(width);
    for (std::size_t i = begin; i < open_.size(); ++i) children.append(open_[i]);
    open_.resize(begin);
    open_.push_back(make_node_(children, nb::arg("label") = label_of(label)));
  }

  void tree_done() override {
    trees_.append(open_.back());
    open_.clear();
  }
  nb::list trees() const { return trees_; }

 private:
  nb::object label_of(Range range) const {
    if (range.empty()) return nb::none();
    nb::object label = text_.part(range);
    if (!is_number(text_, range)) return label;
    nb::object number = nb::steal(PyLong_FromUnicodeObject(label.ptr(), 10));
    if (!number.is_valid()) throw nb::python_error();
    return number;
  }

  nb::object look_up(nb::handle token, Py_ssize_t open) const {
    PyObject* number = PyDict_GetItemWithError(words_.ptr(), token.ptr());
    if (number != nullptr) return nb::borrow(number);
    if (PyErr_Occurred()) throw nb::python_error();
    if (!unknown_.is_none()) return unknown_;
    auto [line, column] = text_.line_and_column(open);
    fault("unknown_word", nb::steal(PyUnicode_FromFormat("%U, line %zd, column %zd", origin_.ptr(), line, column)),
          token);
  }

  const Text& text_;
  nb::handle origin_;
  nb::object make_node_, words_, unknown_;
  std::vector<nb::object> open_;  // finished nodes that have no parent yet
  nb::list trees_;
};

}  // namespace

nb::list parse_ptb(nb::str text, nb::str origin, nb::object vocab) {
  Text characters(text);
  NodeSink sink(characters, origin, vocab);
  BracketParser(characters, origin, true, sink).parse();
  return sink.trees();
}

}  // namespace cortex
