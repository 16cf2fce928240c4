#include "word_table.h"

#include <algorithm>
#include <cstring>

namespace cortex {

namespace {

std::size_t hash_of(const Py_UCS1* data, std::size_t length) {
  std::uint64_t hash = length;
  while (length > 0) {
    std::uint64_t part = 0;
    std::size_t taken = std::min<std::size_t>(length, 8);
    std::memcpy(&part, data, taken);
    hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    data += taken;
    length -= taken;
  }
  return static_cast<std::size_t>(hash);
}

bool is_narrow(PyObject* text) { return PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND; }

}  // namespace

WordTable::WordTable(nb::handle rows) {
  Py_ssize_t position = 0;
  PyObject *text, *row;
  while (PyDict_Next(rows.ptr(), &position, &text, &row)) {
    if (is_narrow(text)) words_.push_back({nb::borrow(text), nb::borrow(row)});
  }
  std::size_t size = 16;
  while (size < 2 * words_.size()) size *= 2;
  slots_.resize(size);
  for (std::size_t number = 0; number < words_.size(); ++number) {
    text = words_[number].text.ptr();
    std::size_t slot = hash_of(PyUnicode_1BYTE_DATA(text), static_cast<std::size_t>(PyUnicode_GET_LENGTH(text)));
    while (slots_[slot &= size - 1] != 0) ++slot;
    slots_[slot] = static_cast<std::uint32_t>(number + 1);
  }
}

const WordTable::Word* WordTable::find(const Text& text, Range range) const {
  if (!is_narrow(text.object().ptr())) return nullptr;
  const Py_UCS1* data = PyUnicode_1BYTE_DATA(text.object().ptr()) + range.begin;
  auto length = static_cast<std::size_t>(range.end - range.begin);
  for (std::size_t slot = hash_of(data, length);; ++slot) {
    std::uint32_t number = slots_[slot &= slots_.size() - 1];
    if (number == 0) return nullptr;
    const Word& word = words_[number - 1];
    PyObject* found = word.text.ptr();
    if (static_cast<std::size_t>(PyUnicode_GET_LENGTH(found)) == length &&
        std::memcmp(PyUnicode_1BYTE_DATA(found), data, length) == 0) {
      return &word;
    }
  }
}

}  // namespace cortex
