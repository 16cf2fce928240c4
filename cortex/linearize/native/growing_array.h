// An array that grows, keeps its capacity from one batch to the next, and is not initialised.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace cortex {

template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~GrowingArray() { std::free(data_); }

  // Return the memory of `count` more elements.
  T* append(std::size_t count) {
    reserve(count);
    return take(count);
  }
  // The same in what was reserved.
  T* take(std::size_t count) {
    T* taken = data_ + size_;
    size_ += count;
    return taken;
  }
  void reserve(std::size_t count) {
    if (count > capacity_ - size_) [[unlikely]] grow(count);
  }
  void push(T value) { *append(1) = value; }
  void clear() { size_ = 0; }
  void shorten(std::size_t size) { size_ = size; }
  void pop() { --size_; }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return capacity_ * sizeof(T); }
  std::size_t used() const { return size_ * sizeof(T); }
  bool empty() const { return size_ == 0; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  [[gnu::noinline]] void grow(std::size_t count) {
    std::size_t capacity = std::max({capacity_ * 2, size_ + count, std::size_t{256}});
    void* moved = std::realloc(data_, capacity * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace cortex
