// Forests: topology and payloads as flat arrays.
#include <string>

#include "flat.h"
#include "ordered.h"
#include "walk.h"

namespace cortex {

namespace {

class ForestReader {
 public:
  ForestReader(const Context& context, nb::handle forest, Rows& rows)
      : context_(context), rows_(rows), structure_(rows.structures()), begin_view_(forest.attr("child_begin")),
        child_view_(forest.attr("child")), begin_(begin_view_.int32s()), child_(child_view_.int32s()),
        nodes_(static_cast<std::int32_t>(begin_view_.extent(0) - 1)) {
    check_offsets("child_begin", begin_, begin_view_.extent(0), child_view_.extent(0));
    read_ranges(forest.attr("structure_begin"));
  }

  void read();
  const std::vector<std::int32_t>& sources() const { return sources_; }

  std::int32_t finish(std::int32_t node, const std::int32_t* slots, std::size_t width);
  void met_below_itself(std::int32_t node) const;
  void met_again(std::int32_t node, std::int32_t row) const;

 private:
  void check_offsets(const char* name, const std::int32_t* offsets, Py_ssize_t count, Py_ssize_t end) const;
  void read_ranges(nb::object given);
  void find_roots();
  void check_roots(std::size_t number, std::size_t first, std::size_t last) const;
  void check_reached(const Walk<ForestReader>& walk, std::int32_t low, std::int32_t high) const;

  const Context& context_;
  Rows& rows_;
  std::size_t structure_;  // the first one's index in the batch
  ArrayView begin_view_, child_view_;
  const std::int32_t* begin_;
  const std::int32_t* child_;
  std::int32_t nodes_;
  bool has_ranges_ = false;
  std::vector<std::int32_t> ranges_;
  std::vector<std::int32_t> roots_;
  std::vector<std::int32_t> sources_;
};

nb::object name_of(std::int32_t node) {
  return nb::steal(PyUnicode_FromFormat("number %d of the Forest", node));
}

struct NumberLocation final : Location {
  NumberLocation(std::size_t structure, std::int64_t row, std::int32_t node)
      : structure(structure), row(row), node(node) {}
  nb::object place() const override { return make_place(structure, row, name_of(node)); }
  std::size_t structure;
  std::int64_t row;
  std::int32_t node;
};

void ForestReader::check_offsets(const char* name, const std::int32_t* offsets, Py_ssize_t count,
                                 Py_ssize_t end) const {
  auto refuse = [&](const std::string& because) {
    fault("forest_begin", WholeStructure(structure_).place(), name, because.c_str());
  };
  if (count == 0 || offsets[0] != 0) refuse("it does not begin with 0");
  bool falls = false;
  for (Py_ssize_t i = 1; i < count; ++i) falls |= offsets[i] < offsets[i - 1];
  for (Py_ssize_t i = 1; falls && i < count; ++i) {
    if (offsets[i] < offsets[i - 1]) {
      refuse("it falls from " + std::to_string(offsets[i - 1]) + " to " + std::to_string(offsets[i]) + " at " +
             std::to_string(i));
    }
  }
  if (offsets[count - 1] != end) {
    refuse("it ends with " + std::to_string(offsets[count - 1]) + ", and divides " + std::to_string(end));
  }
}

void ForestReader::read_ranges(nb::object given) {
  if (given.is_none()) return;
  ArrayView view(given);
  const std::int32_t* ranges = view.int32s();
  check_offsets("structure_begin", ranges, view.extent(0), nodes_);
  ranges_.assign(ranges, ranges + view.extent(0));
  has_ranges_ = true;
  for (std::size_t i = 0; i + 1 < ranges_.size(); ++i) {
    if (ranges_[i] == ranges_[i + 1]) fault("forest_empty", WholeStructure(structure_ + i).place());
  }
}

// Check that children are nodes of their parents' structures, and collect the nodes without a parent.
void ForestReader::find_roots() {
  std::vector<std::int32_t> spans = has_ranges_ ? ranges_ : std::vector<std::int32_t>{0, nodes_};
  std::vector<char> has_parent(static_cast<std::size_t>(nodes_), 0);
  for (std::size_t s = 0; s + 1 < spans.size(); ++s) {
    std::int32_t low = spans[s], high = spans[s + 1];
    for (std::int32_t node = low; node < high; ++node) {
      for (std::int32_t edge = begin_[node]; edge < begin_[node + 1]; ++edge) {
        std::int32_t child = child_[edge];
        if (child == -1) continue;
        if (child < low || child >= high) {
          fault("forest_child", NumberLocation(structure_ + s, -1, node).place(), child, low, high);
        }
        has_parent[static_cast<std::size_t>(child)] = 1;
      }
    }
  }
  for (std::int32_t node = 0; node < nodes_; ++node) {
    if (has_parent[static_cast<std::size_t>(node)] == 0) roots_.push_back(node);
  }
}

void ForestReader::read() {
  if (!has_ranges_ && context_.plan.is_dag) {
    has_ranges_ = true;
    ranges_.push_back(0);
    if (nodes_ > 0) ranges_.push_back(nodes_);
  }
  if (OrderedTrees(context_.plan, {begin_, child_, nodes_, ranges_}).append(rows_, sources_)) return;
  find_roots();
  sources_.reserve(static_cast<std::size_t>(nodes_));
  Walk<ForestReader> walk(begin_, child_, nodes_, *this);
  if (!has_ranges_) {
    for (std::int32_t root : roots_) {
      rows_.add_root(walk.descend(root));
      rows_.end_structure();
    }
    check_reached(walk, 0, nodes_);
    return;
  }
  std::size_t root = 0;
  for (std::size_t s = 0; s + 1 < ranges_.size(); ++s) {
    std::size_t first = root;
    while (root < roots_.size() && roots_[root] < ranges_[s + 1]) ++root;
    check_roots(s, first, root);
    for (std::size_t i = first; i < root; ++i) rows_.add_root(walk.descend(roots_[i]));
    check_reached(walk, ranges_[s], ranges_[s + 1]);
    rows_.end_structure();
  }
}

void ForestReader::check_roots(std::size_t number, std::size_t first, std::size_t last) const {
  WholeStructure whole(structure_ + number);
  if (first == last) fault("forest_cycle", whole.place(), ranges_[number]);
  if (last - first > 1 && !context_.plan.is_dag) {
    fault("forest_roots", whole.place(), roots_[first], roots_[first + 1], context_.plan.plan);
  }
}

void ForestReader::check_reached(const Walk<ForestReader>& walk, std::int32_t low, std::int32_t high) const {
  std::size_t structure = has_ranges_ ? rows_.structures() : structure_;
  for (std::int32_t node = low; node < high; ++node) {
    if (!walk.reached(node)) fault("forest_cycle", WholeStructure(structure).place(), node);
  }
}

void ForestReader::met_below_itself(std::int32_t node) const {
  fault("cycle", NumberLocation(rows_.structures(), -1, node).place(), node);
}

void ForestReader::met_again(std::int32_t node, std::int32_t) const {
  if (!context_.plan.is_dag) fault("shared", NumberLocation(rows_.structures(), -1, node).place(), nb::none(), node);
}

std::int32_t ForestReader::finish(std::int32_t node, const std::int32_t* slots, std::size_t width) {
  NumberLocation location(rows_.structures(), rows_.next_row(), node);
  check_arity(context_.plan, slots, width, location, node);
  sources_.push_back(node);
  return rows_.finish(slots, width);
}

nb::object array_of(nb::handle given, Rows& rows) {
  if (is_ndarray(given)) return nb::borrow(given);
  rows.stop_borrowing();
  return as_array(given);
}

}  // namespace

void read_forest(const Context& context, nb::handle forest, Rows& rows) {
  std::size_t first_row = rows.count();
  std::size_t first_structure = rows.structures();
  ForestReader reader(context, forest, rows);
  reader.read();
  rows.keys.push_numbers(reader.sources().data(), reader.sources().size());
  FlatMember member{rows, first_row, first_structure, "number %d of the Forest", &reader.sources()};
  nb::object payloads = forest.attr("payloads");
  for (std::size_t i = 0; i < context.plan.payloads.size(); ++i) {
    const PayloadSpec& payload = context.plan.payloads[i];
    PyObject* given = PyDict_GetItemWithError(payloads.ptr(), payload.name.ptr());
    if (given == nullptr && PyErr_Occurred()) throw nb::python_error();
    append_column(payload, given == nullptr ? nb::object() : array_of(given, rows), member, rows.columns[i]);
  }
}

}  // namespace cortex
