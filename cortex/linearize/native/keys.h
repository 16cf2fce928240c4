// What the caller knows each row by.
#pragma once

#include "arrays.h"
#include "growing_array.h"

namespace cortex {

// References that it owns, in the order of rows; numbers where all are numbers.
class Keys {
 public:
  Keys() = default;
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  ~Keys() { clear(); }

  void push(nb::object object) {
    if (!numbers_.empty()) [[unlikely]] make_objects();
    reserve(1);
    take(std::move(object));
  }
  // The same in what was reserved; only where none is a number.
  void take(nb::object object) { *objects_.take(1) = object.release().ptr(); }
  void reserve(std::size_t count) {
    if (!numbers_.empty()) [[unlikely]] make_objects();
    objects_.reserve(count);
  }
  void push_numbers(const std::int32_t* numbers, std::size_t count);
  // The numbers 0 to count - 1.
  void push_range(std::size_t count);

  // The first object; None where there is none, or where all are numbers.
  nb::object first() const { return objects_.empty() ? nb::object(nb::none()) : nb::borrow(*objects_.begin()); }
  // An int32 array where all are numbers, else a list. No object is left.
  nb::object release(Arrays& arrays);
  void clear();
  std::size_t bytes() const { return objects_.bytes() + numbers_.bytes(); }
  std::size_t used() const { return objects_.used() + numbers_.used(); }

 private:
  void make_objects();

  GrowingArray<PyObject*> objects_;
  GrowingArray<std::int32_t> numbers_;
};

}  // namespace cortex
