#include "flat.h"

#include <algorithm>
#include <cstring>

namespace cortex {

namespace {

// The i-th row of a member.
struct FlatSpot final : Spot {
  FlatSpot(const FlatMember& member, std::size_t i) : member(member), i(i) {}
  nb::object place() const override {
    const std::vector<std::int32_t>& begin = member.rows.row_begin;
    auto row = static_cast<std::int32_t>(member.first_row + i);
    auto structure = std::upper_bound(begin.begin(), begin.end(), row) - begin.begin() - 1;
    nb::object where = nb::steal(PyUnicode_FromFormat(member.where, member.source(i)));
    return make_place(static_cast<std::size_t>(structure), row - begin[static_cast<std::size_t>(structure)], where);
  }
  const FlatMember& member;
  std::size_t i;
};

std::size_t count_of(const FlatMember& member) { return member.rows.count() - member.first_row; }

bool is_leaf(const FlatMember& member, std::size_t i) {
  const std::vector<std::int32_t>& begin = member.rows.slot_begin;
  return begin[member.first_row + i] == begin[member.first_row + i + 1];
}

nb::object key_of(const FlatMember& member, std::size_t i) { return nb::int_(member.source(i)); }

void append_absent(const PayloadSpec& payload, const FlatMember& member, Column& column) {
  for (std::size_t i = 0; i < count_of(member); ++i) {
    bool leaf = is_leaf(member, i);
    FlatSpot spot(member, i);
    if (payload.required(leaf)) fault("missing", spot.place(), payload.payload, key_of(member, i));
    append_default(payload, column);
  }
}

void append_integers(const PayloadSpec& payload, const ArrayView& view, const FlatMember& member,
                     Column& column) {
  std::size_t count = count_of(member);
  std::size_t width = bytes_of(payload.dtype);
  char* to = column.append(payload.bytes * count);
  bool plain = payload.shape.empty() && view.kind() == 'i' && view.itemsize() == 4;
  for (std::size_t i = 0; i < count; ++i) {
    FlatSpot spot(member, i);
    bool required = payload.required(is_leaf(member, i));
    if (plain) {
      std::int32_t value;
      std::memcpy(&value, view.entry(member.source(i)), sizeof value);
      append_integer(payload, value, false, required, spot, to);
      to += width;
      continue;
    }
    view.each_integer(member.source(i), false, [&](std::int64_t value, bool too_large) {
      append_integer(payload, value, too_large, required, spot, to);
      to += width;
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
  char* to = column.append(payload.bytes * count);
  for (std::size_t i = 0; i < count; ++i) {
    view.copy_floats(member.source(i), false, to);
    to += payload.bytes;
  }
}

}  // namespace cortex
