// networkx graphs: an edge from each node to each of its children, payloads as attributes of nodes, the position of a
// child as that of its edge.
#include "readers.h"
#include "walk.h"

namespace cortex {

namespace {

// networkx.<name>, or an invalid object where networkx is not imported: then no object is one of its graphs.
nb::object networkx(const char* name) {
  nb::object module = nb::steal(PyImport_GetModule(nb::str("networkx").ptr()));
  if (module.is_valid()) return find(module, nb::str(name));
  if (PyErr_Occurred()) throw nb::python_error();
  return {};
}

bool are_dicts(const std::vector<nb::object>& values) {
  for (const nb::object& value : values) {
    if (!PyDict_Check(value.ptr())) return false;
  }
  return true;
}

// The keys and the values of a dict, held: what is done with them may run code that changes it.
struct Items {
  explicit Items(nb::handle dict) {
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(dict.ptr(), &at, &key, &value);) {
      keys.push_back(nb::borrow(key));
      values.push_back(nb::borrow(value));
    }
  }
  std::vector<nb::object> keys, values;
};

constexpr Py_ssize_t kMostPositions = 1 << 16;

nb::object item(nb::handle dict, nb::handle key) {
  nb::object value = nb::borrow(PyDict_GetItemWithError(dict.ptr(), key.ptr()));
  if (!value.is_valid() && !PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, key.ptr());
  if (!value.is_valid()) throw nb::python_error();
  return value;
}

class GraphReader {
 public:
  GraphReader(const Context& context, nb::handle graph, Rows& rows) : context_(context), rows_(rows) {
    nb::object plain = nb::borrow(graph);
    // A view, or a graph over mappings of its own, is copied to one over dicts.
    if (!collect(plain) && !collect(networkx("DiGraph")(plain))) throw nb::type_error("networkx.DiGraph of no dicts");
  }

  void read();
  nb::object place(std::int32_t node, std::int64_t row) const;

  std::int32_t finish(std::int32_t node, const std::int32_t* slots, std::size_t width);
  void met_below_itself(std::int32_t node) const { fault("cycle", place(node, -1), key(node)); }
  void met_again(std::int32_t node, std::int32_t row) const {
    if (!context_.plan.is_dag) fault("shared", place(node, -1), row - rows_.row_begin.back(), key(node));
  }

 private:
  bool collect(nb::handle graph);
  void append_children(const nb::object& parent, const Items& edges, const nb::dict& numbers);
  bool are_positioned(const Items& edges) const;
  std::vector<std::int32_t> find_roots() const;
  const nb::object& key(std::int32_t node) const { return keys_[static_cast<std::size_t>(node)]; }

  const Context& context_;
  Rows& rows_;
  std::vector<nb::object> keys_, attributes_;
  std::vector<std::int32_t> begin_, child_;
};

struct GraphLocation final : Location {
  GraphLocation(const GraphReader& reader, std::int32_t node, std::int64_t row) : reader(reader), node(node), row(row) {}
  nb::object place() const override { return reader.place(node, row); }
  const GraphReader& reader;
  std::int32_t node;
  std::int64_t row;
};

nb::object GraphReader::place(std::int32_t node, std::int64_t row) const {
  nb::object where = nb::module_::import_("cortex.linearize.faults").attr("graph_node")(key(node));
  return make_place(rows_.structures(), row, where);
}

// Take nodes, attributes and edges; return whether all mappings are dicts, without which nothing is taken.
bool GraphReader::collect(nb::handle graph) {
  nb::object nodes = graph.attr("_node"), successors = graph.attr("_succ");
  if (!are_dicts({nodes, successors})) return false;
  Items items(nodes);
  std::vector<nb::object> below;
  for (const nb::object& key : items.keys) below.push_back(item(successors, key));
  if (!are_dicts(items.values) || !are_dicts(below)) return false;
  std::vector<Items> edges(below.begin(), below.end());
  for (const Items& each : edges) {
    if (!context_.plan.positions.empty() && !are_dicts(each.values)) return false;
  }
  nb::dict numbers;
  for (std::size_t i = 0; i < items.keys.size(); ++i) numbers[items.keys[i]] = i;
  begin_.push_back(0);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    append_children(items.keys[i], edges[i], numbers);
    begin_.push_back(static_cast<std::int32_t>(child_.size()));
  }
  keys_ = std::move(items.keys);
  attributes_ = std::move(items.values);
  return true;
}

// Whether the model reads children by position, and an edge of a node says which position its child has.
bool GraphReader::are_positioned(const Items& edges) const {
  if (context_.plan.positions.empty()) return false;
  for (const nb::object& edge : edges.values) {
    if (PyDict_Contains(edge.ptr(), nb::str("position").ptr()) == 1) return true;
  }
  return false;
}

void GraphReader::append_children(const nb::object& parent, const Items& edges, const nb::dict& numbers) {
  std::size_t first = child_.size();
  bool positioned = are_positioned(edges);
  for (std::size_t i = 0; i < edges.keys.size(); ++i) {
    auto child = static_cast<std::int32_t>(PyLong_AsLong(item(numbers, edges.keys[i]).ptr()));
    if (!positioned) {
      child_.push_back(child);
      continue;
    }
    nb::object given = nb::borrow(PyDict_GetItemString(edges.values[i].ptr(), "position"));
    Py_ssize_t position = given.is_valid() && PyIndex_Check(given.ptr()) ? PyNumber_AsSsize_t(given.ptr(), nullptr) : -1;
    if (PyErr_Occurred()) throw nb::python_error();
    std::size_t at = first + static_cast<std::size_t>(position);
    if (position < 0 || position >= kMostPositions || (at < child_.size() && child_[at] >= 0)) {
      nb::object where = nb::module_::import_("cortex.linearize.faults").attr("graph_node")(parent);
      nb::object value = given.is_valid() ? given : nb::none();
      fault("graph_position", make_place(rows_.structures(), -1, where), edges.keys[i], value);
    }
    while (child_.size() <= at) child_.push_back(-1);
    child_[at] = child;
  }
}

std::vector<std::int32_t> GraphReader::find_roots() const {
  std::vector<char> has_parent(keys_.size(), 0);
  for (std::int32_t child : child_) {
    if (child >= 0) has_parent[static_cast<std::size_t>(child)] = 1;
  }
  std::vector<std::int32_t> roots;
  for (std::size_t node = 0; node < keys_.size(); ++node) {
    if (has_parent[node] == 0) roots.push_back(static_cast<std::int32_t>(node));
  }
  return roots;
}

void GraphReader::read() {
  WholeStructure whole(rows_.structures());
  if (keys_.empty()) fault("graph_empty", whole.place());
  std::vector<std::int32_t> roots = find_roots();
  if (roots.size() > 1 && !context_.plan.is_dag) {
    fault("graph_roots", whole.place(), key(roots[0]), key(roots[1]), context_.plan.plan);
  }
  auto nodes = static_cast<std::int32_t>(keys_.size());
  Walk<GraphReader> walk(begin_.data(), child_.data(), nodes, *this);
  for (std::int32_t root : roots) rows_.add_root(walk.descend(root));
  for (std::int32_t node = 0; node < nodes; ++node) {
    if (!walk.reached(node)) fault("graph_cycle", whole.place(), key(node));
  }
  rows_.end_structure();
}

std::int32_t GraphReader::finish(std::int32_t node, const std::int32_t* slots, std::size_t width) {
  GraphLocation location(*this, node, rows_.next_row());
  check_arity(context_.plan, slots, width, location, key(node));
  const nb::object& attributes = attributes_[static_cast<std::size_t>(node)];
  for (std::size_t i = 0; i < context_.plan.payloads.size(); ++i) {
    const PayloadSpec& payload = context_.plan.payloads[i];
    nb::object value = nb::borrow(PyDict_GetItemWithError(attributes.ptr(), context_.names.payload(i).ptr()));
    if (!value.is_valid() && PyErr_Occurred()) throw nb::python_error();
    append_payload(payload, value.ptr(), width == 0, key(node), location, rows_, i);
  }
  return rows_.finish(slots, width, key(node));
}

}  // namespace

bool is_graph(nb::handle item) {
  nb::object type = networkx("Graph");
  return type.is_valid() && nb::isinstance(item, type);
}

void read_graph(const Context& context, nb::handle graph, Rows& rows) {
  bool multiple = nb::cast<bool>(graph.attr("is_multigraph")());
  if (multiple || !nb::cast<bool>(graph.attr("is_directed")())) {
    fault("graph_kind", WholeStructure(rows.structures()).place(), graph, multiple);
  }
  GraphReader(context, graph, rows).read();
}

}  // namespace cortex
