#include "brackets.h"

namespace cortex {

namespace {

bool is_space(Py_UCS4 c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

nb::object Text::part(Range range) const {
  nb::object part = nb::steal(PyUnicode_Substring(text_.ptr(), range.begin, range.end));
  if (!part.is_valid()) throw nb::python_error();
  return part;
}

std::pair<Py_ssize_t, Py_ssize_t> Text::line_and_column(Py_ssize_t position) const {
  Py_ssize_t line = 1, line_begin = 0;
  for (Py_ssize_t i = 0; i < position; ++i) {
    if (at(i) == '\n') {
      ++line;
      line_begin = i + 1;
    }
  }
  return {line, position - line_begin + 1};
}

void BracketParser::parse() {
  switch (PyUnicode_KIND(text_.object().ptr())) {
    case PyUnicode_1BYTE_KIND:
      parse(PyUnicode_1BYTE_DATA(text_.object().ptr()));
      break;
    case PyUnicode_2BYTE_KIND:
      parse(PyUnicode_2BYTE_DATA(text_.object().ptr()));
      break;
    default:
      parse(PyUnicode_4BYTE_DATA(text_.object().ptr()));
  }
}

template <class Character>
void BracketParser::parse(const Character* text) {
  Py_ssize_t i = 0, length = text_.length();
  while (i < length) {
    Py_UCS4 c = text[i];
    if (is_space(c)) {
      ++i;
    } else if (c == '(') {
      open(i++);
    } else if (c == ')') {
      close(i++);
    } else {
      Py_ssize_t begin = i;
      do {
        ++i;
      } while (i < length && text[i] != '(' && text[i] != ')' && !is_space(text[i]));
      take_word({begin, i});
    }
  }
  if (!stack_.empty()) {
    auto [line, column] = text_.line_and_column(stack_.back().at);
    fault("unclosed", origin_, line, column, stack_.size());
  }
  if (!done_) fault("empty_text", origin_);
}

void BracketParser::open(Py_ssize_t at) {
  if (stack_.empty()) {
    if (done_ && !many_) refuse_found("trailing", {at, at + 1});
  } else {
    Open& top = stack_.back();
    add_bare_word(top);
    // Brackets without a label may stand around the whole tree, as in the Penn Treebank.
    if (top.label.empty() && (stack_.size() > 1 || top.children > 0)) refuse("no_label", top.at);
  }
  stack_.push_back({at});
}

void BracketParser::take_word(Range word) {
  if (stack_.empty()) refuse_found(done_ && !many_ ? "trailing" : "no_bracket", word);
  Open& top = stack_.back();
  if (top.label.empty()) {
    if (top.children > 0) refuse_found("bare_word", word);
    top.label = word;
    return;
  }
  add_bare_word(top);
  top.word = word;
  if (top.children > 0) add_bare_word(top);
}

void BracketParser::add_bare_word(Open& node) {
  if (node.word.empty()) return;
  sink_.leaf(node.word.begin, {0, 0}, node.word);
  node.word = {0, 0};
  ++node.children;
}

void BracketParser::close(Py_ssize_t at) {
  if (stack_.empty()) refuse("unmatched", at);
  Open top = stack_.back();
  stack_.pop_back();
  if (top.label.empty()) {
    if (top.children == 0) refuse("empty_brackets", top.at);
  } else if (top.children > 0) {
    sink_.inner(top.at, top.label, top.children);
  } else if (!top.word.empty()) {
    sink_.leaf(top.at, top.label, top.word);
  } else {
    auto [line, column] = text_.line_and_column(top.at);
    fault("no_content", origin_, line, column, text_.part(top.label));
  }
  if (stack_.empty()) {
    done_ = true;
    sink_.tree_done();
  } else {
    ++stack_.back().children;
  }
}

void BracketParser::refuse(const char* name, Py_ssize_t at) {
  auto [line, column] = text_.line_and_column(at);
  fault(name, origin_, line, column);
}

void BracketParser::refuse_found(const char* name, Range found) {
  auto [line, column] = text_.line_and_column(found.begin);
  fault(name, origin_, line, column, text_.part(found));
}

}  // namespace cortex
