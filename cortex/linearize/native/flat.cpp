#include "flat.h"

#include <algorithm>
#include <cstring>

namespace cortex {

namespace {

// The i-th row of a member.
struct FlatLocation final : Location {
  FlatLocation(const FlatMember& member, std::size_t i) : member(member), i(i) {}
  nb::object place() const override {
    const GrowingArray<std::int32_t>& begin = member.rows.row_begin;
    auto row = static_cast<std::int32_t>(member.first_row + i);
    auto structure = std::upper_bound(begin.begin(), begin.end(), row) - begin.begin() - 1;
    nb::object where = nb::steal(PyUnicode_FromFormat(member.where, member.source(i)));
    return make_place(static_cast<std::size_t>(structure), row - begin[static_cast<std::size_t>(structure)], where);
  }
  const FlatMember& member;
  std::size_t i;
};

std::size_t count_of(const FlatMember& member) { return member.rows.count() - member.first_row; }

bool is_leaf(const FlatMember& member, std::size_t i) { return member.rows.is_leaf(member.first_row + i); }

nb::object key_of(const FlatMember& member, std::size_t i) { return nb::int_(member.source(i)); }

void append_absent(const PayloadSpec& payload, const FlatMember& member, Column& column) {
  for (std::size_t i = 0; i < count_of(member); ++i) {
    bool leaf = is_leaf(member, i);
    FlatLocation location(member, i);
    if (payload.required(leaf)) fault("missing", location.place(), payload.payload, key_of(member, i));
    column.append_default(false);
  }
}

// Scalars of a contiguous array of the payload's own width, where nothing is wrong with any; false, and nothing is
// appended, otherwise.
template <class T>
bool append_scalars(const PayloadSpec& payload, const ArrayView& view, const FlatMember& member, Column& column) {
  std::size_t count = count_of(member);
  const std::int32_t* heights = member.rows.heights.data() + member.first_row;
  const std::int32_t* sources = member.sources == nullptr ? nullptr : member.sources->data();
  const char* from = count == 0 ? nullptr : view.entry(0);
  Py_ssize_t stride = view.stride();
  std::int64_t low = payload.plain_low, high = payload.plain_high, left_out = payload.default_int;
  bool at_leaves = payload.at_leaves, at_inner = payload.at_inner;
  bool fits = true;
  column.reserve(member.first_row + count);
  char* to = column.take(0);
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + (sources == nullptr ? static_cast<std::int32_t>(i) : sources[i]) * stride, sizeof value);
    bool required = heights[i] == 0 ? at_leaves : at_inner;
    fits &= (value >= low && value < high) | (value == left_out && !required);
    std::memcpy(to + i * sizeof(T), &value, sizeof value);
  }
  if (fits) column.take(count * sizeof(T));
  return fits;
}

void append_integers(const PayloadSpec& payload, const ArrayView& view, const FlatMember& member,
                     Column& column) {
  bool own_width = view.kind() == 'i' && view.itemsize() == bytes_of(payload.dtype);
  if (own_width && payload.plain == PayloadSpec::Plain::Int32) {
    if (append_scalars<std::int32_t>(payload, view, member, column)) return;
  } else if (own_width && payload.plain == PayloadSpec::Plain::Int64) {
    if (append_scalars<std::int64_t>(payload, view, member, column)) return;
  }
  std::size_t count = count_of(member);
  char* to = column.append(count);
  for (std::size_t i = 0; i < count; ++i) {
    FlatLocation location(member, i);
    bool required = payload.required(is_leaf(member, i));
    view.each_integer(member.source(i), false, [&](std::int64_t value, bool too_large) {
      append_integer(payload, value, too_large, required, location, to);
      to += bytes_of(payload.dtype);
    });
  }
}

}  // namespace

void append_column(const PayloadSpec& payload, nb::object array, const FlatMember& member, Column& column) {
  if (!array.is_valid()) return append_absent(payload, member, column);
  WholeStructure whole(member.first_structure);
  std::size_t count = count_of(member);
  Py_ssize_t length = PyObject_Length(array.ptr());
  if (length < 0) throw nb::python_error();
  if (static_cast<std::size_t>(length) != count) {
    fault("column_length", whole.place(), payload.name, length, count);
  }
  ArrayView view(std::move(array));
  check_array(payload, view, 1, whole);
  if (is_int(payload.dtype)) return append_integers(payload, view, member, column);
  if (column.borrows() && view.has_contiguous_entries(1)) {
    column.add_owner(view.array());
    for (std::size_t i = 0; i < count; ++i) column.borrow(view.entry(member.source(i)));
    return;
  }
  char* to = column.append(count);
  for (std::size_t i = 0; i < count; ++i) {
    view.copy_floats(member.source(i), false, to);
    to += payload.bytes;
  }
}

}  // namespace cortex
