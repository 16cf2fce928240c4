// Read bracketed strings; a vocabulary numbers their words.
#include "brackets.h"
#include "readers.h"

namespace cortex {

namespace {

struct TextLocation final : Location {
  TextLocation(const Text& text, Py_ssize_t at, const Rows& rows) : text(text), at(at), rows(rows) {}
  nb::object place() const override {
    auto [line, column] = text.line_and_column(at);
    nb::object where = nb::steal(PyUnicode_FromFormat("line %zd, column %zd", line, column));
    return make_place(rows.structures(), rows.next_row(), where);
  }
  const Text& text;
  Py_ssize_t at;
  const Rows& rows;
};

// A word's number, which has to be a row of the model's table.
nb::object checked_number(const Context& context, nb::handle word, nb::object number, const Location& location) {
  const PayloadSpec& payload = context.plan.payloads[static_cast<std::size_t>(context.plan.word)];
  std::int64_t row;
  if (payload.has_range && (!read_small(number.ptr(), row) || row >= payload.high)) {
    fault("no_row", location.place(), payload.payload, word, number);
  }
  return number;
}

class RowSink final : public TreeSink {
 public:
  RowSink(const Context& context, const Text& text, Rows& rows)
      : context_(context), text_(text), words_(context.words.is_none() ? nullptr : &context.table.of(context.words)),
        rows_(rows) {}

  void leaf(Py_ssize_t open, Range, Range word) override {
    TextLocation location(text_, open, rows_);
    nb::object token, number;
    const WordTable::Word* known = words_ == nullptr ? nullptr : words_->find(text_, word);
    if (known != nullptr) {
      token = known->text;
      if (context_.plan.word >= 0) number = checked_number(context_, known->text, known->row, location);
    } else {
      token = text_.part(word);
      if (context_.plan.word >= 0) number = word_number(context_, token, location);
    }
    append_word(context_.plan, number.ptr(), true, token, location, rows_);
    pending_.push(rows_.finish(nullptr, 0, std::move(token)));
  }

  void inner(Py_ssize_t open, Range label, Py_ssize_t children) override {
    TextLocation location(text_, open, rows_);
    auto width = static_cast<std::size_t>(children);
    std::size_t begin = pending_.size() - width;
    nb::object key = text_.part(label);
    check_arity(context_.plan, pending_.data() + begin, width, location, key);
    append_word(context_.plan, nullptr, false, key, location, rows_);
    std::int32_t row = rows_.finish(pending_.data() + begin, width, std::move(key));
    pending_.shorten(begin);
    pending_.push(row);
  }

  void tree_done() override {}
  std::int32_t root() const { return pending_.back(); }

 private:
  const Context& context_;
  const Text& text_;
  const WordTable* words_;
  Rows& rows_;
  GrowingArray<std::int32_t> pending_;
};

}  // namespace

nb::object word_number(const Context& context, nb::handle word, const Location& location) {
  nb::object number = nb::borrow(PyDict_GetItemWithError(context.words.ptr(), word.ptr()));
  if (!number.is_valid() && PyErr_Occurred()) throw nb::python_error();
  if (!number.is_valid() && !context.unknown.is_none()) number = nb::borrow(context.unknown);
  if (number.is_valid()) return checked_number(context, word, std::move(number), location);
  nb::object origin = nb::steal(PyUnicode_FromFormat("linearize: %S", location.place().ptr()));
  fault("unknown_word", origin, word);
}

void read_text(const Context& context, nb::handle object, Rows& rows) {
  nb::object origin = nb::steal(PyUnicode_FromFormat("linearize: structure %zu", rows.structures()));
  if (context.vocab.is_none() && context.plan.word >= 0) fault("no_vocabulary", origin, object);
  Text text(object);
  RowSink sink(context, text, rows);
  BracketParser(text, std::move(origin), false, sink).parse();
  rows.add_root(sink.root());
  rows.end_structure();
}

}  // namespace cortex
