// A parser of bracketed trees, for whoever makes something of their leaves and inner nodes.
#pragma once

#include "common.h"

namespace cortex {

struct Range {
  Py_ssize_t begin, end;  // of characters; empty: nothing was there
  bool empty() const { return begin == end; }
};

// A text, with positions in it for messages.
class Text {
 public:
  explicit Text(nb::handle text)
      : text_(text), data_(PyUnicode_DATA(text.ptr())), kind_(PyUnicode_KIND(text.ptr())),
        length_(PyUnicode_GET_LENGTH(text.ptr())) {}

  Py_ssize_t length() const { return length_; }
  Py_UCS4 at(Py_ssize_t i) const { return PyUnicode_READ(kind_, data_, i); }
  nb::object part(Range range) const;
  std::pair<Py_ssize_t, Py_ssize_t> line_and_column(Py_ssize_t at) const;  // each from one
  nb::handle object() const { return text_; }

 private:
  nb::handle text_;
  const void* data_;
  int kind_;
  Py_ssize_t length_;
};

// What is made of the nodes, in post-order. `open` is where a node's bracket is.
class TreeSink {
 public:
  virtual void leaf(Py_ssize_t open, Range label, Range word) = 0;  // a bare word has no label, and is at itself
  virtual void inner(Py_ssize_t open, Range label, Py_ssize_t children) = 0;
  virtual void tree_done() = 0;

 protected:
  ~TreeSink() = default;
};

class BracketParser {
 public:
  BracketParser(const Text& text, nb::object origin, bool many, TreeSink& sink)
      : text_(text), origin_(std::move(origin)), many_(many), sink_(sink) {}

  void parse();

 private:
  struct Open {
    Py_ssize_t at;
    Range label{0, 0}, word{0, 0};  // the word: of a leaf, unless something else follows
    Py_ssize_t children = 0;
  };

  template <class Character>
  void parse(const Character* text);
  void open(Py_ssize_t at);
  void close(Py_ssize_t at);
  void take_word(Range word);
  void add_bare_word(Open& node);
  [[noreturn]] void refuse(const char* name, Py_ssize_t at);
  [[noreturn]] void refuse_found(const char* name, Range found);

  const Text& text_;
  nb::object origin_;
  bool many_;
  TreeSink& sink_;
  std::vector<Open> stack_;
  bool done_ = false;  // a tree was read to its end
};

}  // namespace cortex
