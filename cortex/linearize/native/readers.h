// One function for each kind of structure. Each reads a member of a batch into rows, on a stack of its own,
// and raises a fault where the plan forbids it. A new kind is one more function and one more line in read.cpp.
#pragma once

#include "payloads.h"
#include "seen.h"

namespace cortex {

// Room to work in, kept from one structure of a batch to the next.
struct Scratch {
  Seen seen;
  std::vector<std::int32_t> pending;  // the rows of finished nodes whose parents are not finished
};

// What readers know beside the object that they read.
struct Context {
  const PlanSpec& plan;
  nb::handle vocab;           // cortex.Vocab or None
  nb::handle words;           // its dict, if there is one
  nb::handle unknown;         // the row of unknown words, or None
  nb::handle children;        // as the caller gave it: None, a name, or a tuple of names
  const std::vector<nb::object>& names;  // interned: of the list of children, or of each child
  bool by_position;           // names has one for each child
  nb::handle left, right;     // what is tried where `children` is None and the object has no such attribute
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
nb::object word_number(const Context& context, nb::handle word, const Spot& spot);

}  // namespace cortex
