#include "plan.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace cortex {

namespace {

DType dtype_of(const std::string& name) {
  if (name == "int32") return DType::Int32;
  if (name == "int64") return DType::Int64;
  if (name == "float32") return DType::Float32;
  if (name == "float64") return DType::Float64;
  throw std::invalid_argument("no payload is of dtype " + name);
}

template <class T>
std::vector<char> repeat(T value, std::size_t count) {
  std::vector<char> bytes(count * sizeof value);
  for (std::size_t i = 0; i < count; ++i) std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  return bytes;
}

std::string text(nb::handle value) { return nb::cast<nb::str>(value).c_str(); }

ComparisonSpec::Op operator_of(const std::string& sign) {
  using Op = ComparisonSpec::Op;
  if (sign == "==") return Op::Equal;
  if (sign == "!=") return Op::NotEqual;
  if (sign == "<") return Op::Less;
  if (sign == "<=") return Op::LessEqual;
  if (sign == ">") return Op::Greater;
  if (sign == ">=") return Op::GreaterEqual;
  throw std::invalid_argument("nodes are not compared by " + sign);
}

ClassSpec class_of(nb::handle given, const std::vector<PayloadSpec>& payloads) {
  ClassSpec spec{nb::cast<bool>(given.attr("leaf")), {}};
  for (nb::handle condition : given.attr("conditions")) {
    int asked = -1;
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      if (payloads[i].name.equal(condition.attr("payload"))) asked = static_cast<int>(i);
    }
    spec.conditions.push_back(
        {asked, operator_of(text(condition.attr("op").attr("value"))), nb::cast<std::int64_t>(condition.attr("value"))});
  }
  return spec;
}

}  // namespace

PayloadSpec::PayloadSpec(nb::handle given)
    : payload(nb::borrow(given)),
      name(interned(nb::cast<nb::str>(given.attr("name")).c_str())),
      dtype(dtype_of(text(given.attr("dtype").attr("value")))) {
  for (nb::handle extent : given.attr("shape")) {
    shape.push_back(nb::cast<Py_ssize_t>(extent));
    size *= static_cast<std::size_t>(shape.back());
  }
  bytes = size * bytes_of(dtype);
  at_leaves = nb::cast<bool>(given.attr("required").attr("at")(true));
  at_inner = nb::cast<bool>(given.attr("required").attr("at")(false));
  double default_float = 0.0;
  if (is_int(dtype)) {
    default_int = nb::cast<std::int64_t>(given.attr("default"));
  } else {
    default_float = nb::cast<double>(given.attr("default"));
  }
  switch (dtype) {
    case DType::Int32: default_bytes = repeat(static_cast<std::int32_t>(default_int), size); break;
    case DType::Int64: default_bytes = repeat(default_int, size); break;
    case DType::Float32: default_bytes = repeat(static_cast<float>(default_float), size); break;
    case DType::Float64: default_bytes = repeat(default_float, size); break;
  }
  nb::object range = given.attr("range");
  has_range = !range.is_none();
  if (has_range) {
    low = nb::cast<std::int64_t>(range[0]);
    high = nb::cast<std::int64_t>(range[1]);
  }
  if (shape.empty()) plain = static_cast<Plain>(static_cast<int>(dtype) + 1);
  std::int64_t bits = dtype == DType::Int32 ? 31 : 62;
  plain_low = std::max(has_range ? low : -(std::int64_t{1} << bits), -(std::int64_t{1} << bits));
  plain_high = std::min(has_range ? high : std::int64_t{1} << bits, std::int64_t{1} << bits);
}

PlanSpec::PlanSpec(nb::handle given)
    : plan(nb::borrow(given)),
      is_dag(text(given.attr("kind").attr("value")) == "dag"),
      min_children(nb::cast<std::int64_t>(given.attr("min_children"))),
      unrolled(nb::cast<std::int32_t>(given.attr("unrolled"))) {
  nb::object most = given.attr("most_children");
  most_children = most.is_none() ? -1 : nb::cast<std::int64_t>(most);
  for (nb::handle position : given.attr("positions")) positions.push_back(nb::cast<std::int64_t>(position));
  for (nb::handle payload : given.attr("payloads")) {
    payloads.emplace_back(payload);
    if (text(payload.attr("name")) == "word") word = static_cast<int>(payloads.size()) - 1;
  }
  recycled = nb::cast<bool>(given.attr("recycled"));
  nb::object nodes = given.attr("widest");
  if (!nodes.is_none()) {
    int too_large = 0;
    long most = PyLong_AsLongAndOverflow(nodes.ptr(), &too_large);
    widest = too_large != 0 ? INT32_MAX : static_cast<std::int32_t>(std::min(most, long{INT32_MAX}));
  }
  for (nb::handle each : given.attr("classes")) classes.push_back(class_of(each, payloads));
}

bool ComparisonSpec::holds(std::int64_t found) const {
  switch (op) {
    case Op::Equal:
      return found == value;
    case Op::NotEqual:
      return found != value;
    case Op::Less:
      return found < value;
    case Op::LessEqual:
      return found <= value;
    case Op::Greater:
      return found > value;
    default:
      return found >= value;
  }
}

void check_odd_arity(const PlanSpec& plan, const std::int32_t* slots, std::size_t count, const Location& location,
                     const nb::object& key) {
  auto width = static_cast<std::int64_t>(count);
  if (plan.most_children >= 0 && width > plan.most_children) {
    fault("many_children", location.place(), width, plan.plan, key);
  }
  std::int64_t given = width - std::count_if(slots, slots + count, [](std::int32_t row) { return row < 0; });
  if (given < plan.min_children) fault("few_children", location.place(), given, plan.plan, key);
  if (given == width) return;
  for (std::int64_t position : plan.positions) {
    if (position < plan.min_children && slots[position] < 0) {
      fault("hole", location.place(), position, plan.plan, key);
    }
  }
}

}  // namespace cortex
