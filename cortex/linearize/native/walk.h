// Post-order walk over numbered nodes with edges in compressed sparse rows, on an explicit stack.
#pragma once

#include <cstdint>
#include <vector>

namespace cortex {

// The edges of node v are child[begin[v]] to child[begin[v + 1] - 1]; a child below zero is missing. The visitor has
//   std::int32_t finish(node, slots, width)   gives a node its row; the slots are its children's rows
//   void met_below_itself(node)               refuses a cycle
//   void met_again(node, row)                 refuses, or not, a node that has its row already
template <class Visitor>
class Walk {
 public:
  Walk(const std::int32_t* begin, const std::int32_t* child, std::int32_t nodes, Visitor& visitor)
      : begin_(begin), child_(child), visitor_(visitor), row_of_(static_cast<std::size_t>(nodes), kUnseen) {}

  // Visit what a root reaches and was not visited before; return the root's row.
  std::int32_t descend(std::int32_t root) {
    open(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.next == begin_[frame.node + 1]) {
        finish(frame.node);
        frames_.pop_back();
        continue;
      }
      std::int32_t child = child_[frame.next++];
      if (child >= 0) visit(child);
    }
    return row(root);
  }

  bool reached(std::int32_t node) const { return row(node) != kUnseen; }

 private:
  static constexpr std::int32_t kUnseen = -1, kOpen = -2;

  struct Frame {
    std::int32_t node;
    std::int32_t next;  // the next of its edges
  };

  std::int32_t row(std::int32_t node) const { return row_of_[static_cast<std::size_t>(node)]; }

  void visit(std::int32_t child) {
    if (row(child) == kUnseen) return open(child);
    if (row(child) == kOpen) visitor_.met_below_itself(child);
    visitor_.met_again(child, row(child));
  }

  void open(std::int32_t node) {
    if (begin_[node] == begin_[node + 1]) return finish(node);
    row_of_[static_cast<std::size_t>(node)] = kOpen;
    frames_.push_back({node, begin_[node]});
  }

  void finish(std::int32_t node) {
    slots_.clear();
    for (std::int32_t edge = begin_[node]; edge < begin_[node + 1]; ++edge) {
      slots_.push_back(child_[edge] < 0 ? -1 : row(child_[edge]));
    }
    while (!slots_.empty() && slots_.back() < 0) slots_.pop_back();
    row_of_[static_cast<std::size_t>(node)] = visitor_.finish(node, slots_.data(), slots_.size());
  }

  const std::int32_t* begin_;
  const std::int32_t* child_;
  Visitor& visitor_;
  std::vector<std::int32_t> row_of_;  // in the batch, or kUnseen, or kOpen
  std::vector<Frame> frames_;
  std::vector<std::int32_t> slots_;
};

}  // namespace cortex
