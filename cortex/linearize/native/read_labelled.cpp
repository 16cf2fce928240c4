// nltk.Tree, and what is like it: a list with a label, over subtrees or over the one word of a leaf.
#include "objects.h"

namespace cortex {

namespace {

// The word of a leaf, borrowed from it, or an invalid handle where it has none.
nb::handle word_of(nb::handle tree) {
  if (!PyList_Check(tree.ptr()) || PyList_GET_SIZE(tree.ptr()) != 1) return {};
  nb::handle only = PyList_GET_ITEM(tree.ptr(), 0);
  return PyUnicode_Check(only.ptr()) ? only : nb::handle();
}

class Labelled {
 public:
  explicit Labelled(const Context& context) : context_(context) {}

  Children children(nb::handle object, const Location& location, std::vector<nb::object>&) const {
    if (!is_labelled(object)) fault("labelled_child", location.place(), object);
    if (PyList_GET_SIZE(object.ptr()) == 0) fault("labelled_content", location.place(), object);
    if (word_of(object).is_valid()) return {};
    return {nb::borrow(object)};
  }

  nb::object step(bool, Py_ssize_t position) const {
    return nb::steal(PyUnicode_FromFormat("[%zd]", position));
  }

  void append(nb::handle object, bool leaf, const Location& location, Rows& rows) const {
    nb::object word = nb::borrow(word_of(object));
    nb::object number;
    if (leaf && word.is_valid() && context_.plan.word >= 0) number = word_number(context_, word, location);
    append_word(context_.plan, number.ptr(), leaf, object, location, rows);
  }

 private:
  const Context& context_;
};

}  // namespace

bool is_labelled(nb::handle item) {
  if (!PyList_Check(item.ptr()) || PyList_CheckExact(item.ptr())) return false;
  return find(item.type(), nb::str("label")).is_valid();
}

void read_labelled(const Context& context, nb::handle root, Rows& rows) {
  if (context.vocab.is_none() && context.plan.word >= 0) fault("labelled_vocabulary", WholeStructure(rows.structures()).place(), root);
  Labelled source(context);
  ObjectWalk(context, source, rows).read(root);
}

}  // namespace cortex
