// One function for each kind of structure. Each reads a member of a batch into rows, on a stack of its own,
// and raises a fault where the plan forbids it. A new kind is one more function and one more line in read.cpp.
#pragma once

#include <memory>

#include "attributes.h"
#include "payloads.h"
#include "seen.h"
#include "word_table.h"

namespace cortex {

// A node on the stack of the walk: its children are being read.
struct ObjectFrame {
  nb::object object;
  nb::object items;  // its children; invalid: they were pushed
  Py_ssize_t next;   // the next of them
  Py_ssize_t pushed;
  std::size_t pushed_begin;
  std::size_t pending_begin;
  std::uint32_t index;  // among the objects that were met
  bool once;            // nothing but the object holds what holds them
};

// Working memory, kept from one batch to the next.
struct Scratch {
  Scratch(const PlanSpec& plan, std::int64_t limit) : rows(plan, limit) {}
  std::size_t bytes() const { return rows.bytes() + seen.bytes(); }

  Rows rows;
  Seen seen;
  AttributeReaders attribute_readers;
  std::vector<ObjectFrame> frames;
  std::vector<nb::object> pushed;     // children that no list or tuple holds
  GrowingArray<std::int32_t> pending;         // the rows of finished nodes with unfinished parents
};

// The attributes that are asked for: those of children, then a payload each.
struct AttributeNames {
  AttributeNames(nb::handle children, const PlanSpec& plan);
  const nb::object& payload(std::size_t i) const { return all[first_payload + i]; }

  std::vector<nb::object> all;  // interned
  std::size_t first_payload;
  bool by_position;  // those of children have one each; else the first has a list of them
  bool or_pair;      // where there is no such list, the next two have one each
};

// Working memory that no call uses. Reading attributes may run any code, other calls in the same thread too: each call has
// its own. The caller of take and give holds the interpreter's lock.
class Scratches {
 public:
  std::unique_ptr<Scratch> take(const PlanSpec& plan, std::int64_t limit) {
    if (idle_.empty()) return std::make_unique<Scratch>(plan, limit);
    std::unique_ptr<Scratch> scratch = std::move(idle_.back());
    idle_.pop_back();
    return scratch;
  }
  void give(std::unique_ptr<Scratch> scratch) {
    recent_.note(scratch->rows.used());
    scratch->rows.clear();
    scratch->frames.clear();  // these three are not empty where reading ended early
    scratch->pushed.clear();
    scratch->pending.clear();
    if (idle_.size() < kMost && !recent_.is_too_large(scratch->bytes())) idle_.push_back(std::move(scratch));
  }

 private:
  static constexpr std::size_t kMost = 8;
  // Bytes by which it may exceed what recent batches needed.
  static constexpr std::size_t kSlack = 4 << 20;

  ragged::Recent recent_{kSlack};
  std::vector<std::unique_ptr<Scratch>> idle_;
};

// The words of a vocabulary's dict, found when the first text is read.
class LazyWords {
 public:
  const WordTable& of(nb::handle words) {
    if (table_ == nullptr) table_ = std::make_unique<WordTable>(words);
    return *table_;
  }

 private:
  std::unique_ptr<WordTable> table_;
};

// What readers know beside the object that they read.
struct Context {
  const PlanSpec& plan;
  nb::handle vocab;           // cortex.Vocab or None
  nb::handle words;           // its dict, if there is one
  nb::handle unknown;         // the row of unknown words, or None
  LazyWords& table;           // its words by their characters
  nb::handle children;        // as the caller gave it: None, a name, or a tuple of names
  const AttributeNames& names;
  Scratch& scratch;
};

void read_member(const Context& context, nb::handle item, Rows& rows);

bool is_tuple_or_int(nb::handle item);
bool has_children(const Context& context, nb::handle item);
void read_object(const Context& context, nb::handle root, Rows& rows);
bool is_labelled(nb::handle item);
void read_labelled(const Context& context, nb::handle root, Rows& rows);
bool is_graph(nb::handle item);
void read_graph(const Context& context, nb::handle graph, Rows& rows);
void read_tuple(const Context& context, nb::handle root, Rows& rows);
void read_text(const Context& context, nb::handle text, Rows& rows);
void read_sequence(const Context& context, nb::handle item, Rows& rows);
void read_forest(const Context& context, nb::handle forest, Rows& rows);

// The number that the vocabulary gives a word, or unknown words; raises a fault where it gives none.
nb::object word_number(const Context& context, nb::handle word, const Location& location);

}  // namespace cortex
