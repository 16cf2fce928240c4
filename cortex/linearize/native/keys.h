// What the caller knows each row by.
#pragma once

#include "common.h"
#include "room.h"

namespace cortex {

// References that it owns, in the order of rows. While all are numbers they stay numbers.
class Keys {
 public:
  Keys() = default;
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  ~Keys() { clear(); }

  void push(nb::object object) {
    if (!numbers_.empty()) [[unlikely]] make_objects();
    objects_.push(object.ptr());
    object.release();
  }
  // The numbers first, first + 1, ...
  void push_range(std::int32_t first, std::size_t count);
  // Room for so many numbers, which is to be filled at once; only while `are_numbers()`.
  std::int32_t* append_numbers(std::size_t count) { return numbers_.append(count); }

  bool are_numbers() const { return objects_.empty(); }
  const Room<std::int32_t>& numbers() const { return numbers_; }
  nb::object release_as_list();
  void clear();
  std::size_t bytes() const { return objects_.bytes() + numbers_.bytes(); }

 private:
  void make_objects();

  Room<PyObject*> objects_;
  Room<std::int32_t> numbers_;
};

}  // namespace cortex
