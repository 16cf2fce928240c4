// The walk over structures whose nodes are Python objects, whatever holds their children.
#pragma once

#include "readers.h"

namespace cortex {

// The children of an object: a list or tuple, and how a step down to one of them is called.
struct Children {
  nb::object items;       // invalid: none
  nb::handle name;        // of the attribute that holds them all; invalid where each has its own
  bool found = true;
};

// What is known of a kind of node.
struct ObjectSource {
  // Its children, `items` a list or a tuple; raises a fault for what is no node.
  virtual Children children(nb::handle object, const Spot& spot) const = 0;
  // The text of the step to the child at a position: ".left", "[1]".
  virtual nb::object step(const Children& children, Py_ssize_t position) const = 0;
  // Append what it carries.
  virtual void append(nb::handle object, bool leaf, const Spot& spot, Rows& rows) const = 0;

 protected:
  ~ObjectSource() = default;
};

// Read one structure; an object that is met twice is one node.
void walk_objects(const Context& context, const ObjectSource& source, nb::handle root, Rows& rows);

}  // namespace cortex
