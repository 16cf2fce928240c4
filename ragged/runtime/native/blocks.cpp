#include "blocks.h"

#include <cstdlib>
#include <cstring>

namespace ragged {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;

std::size_t rounded(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

void release(const Block& block) { std::free(block.words); }

}  // namespace

Blocks::~Blocks() {
  for (const Block& block : free_) release(block);
}

Block Blocks::allocate(std::size_t size) const {
  const std::size_t head = rounded(words_ * sizeof(std::int64_t), kLine);
  const std::size_t all = rounded(head + size + size / 8, kPage);
  void* memory = nullptr;
  if (all < size || posix_memalign(&memory, kPage, all) != 0) return {nullptr, nullptr, 0};
  if (head > 0) std::memset(memory, 0, head);
  return {static_cast<std::int64_t*>(memory), static_cast<char*>(memory) + head, all - head};
}

Block Blocks::take(std::size_t size) {
  if (free_.empty()) return allocate(size);
  const Block block = free_.back();
  free_.pop_back();
  if (block.size >= size) return block;
  release(block);
  return allocate(size);
}

void Blocks::give(Block block, std::size_t needed) {
  if (words_ > 0 && block.words[0] != 0) std::memset(block.words, 0, words_ * sizeof(std::int64_t));
  note(needed);
  if (is_too_large(block)) {
    release(block);
  } else {
    if (free_.size() >= most_) drop_oldest();
    free_.push_back(block);
  }
}

void Blocks::drop_oldest() {
  release(free_.front());
  free_.erase(free_.begin());
}

void Blocks::note(std::size_t needed) {
  recent_.note(needed);
  // Blocks are taken last in, first out; the oldest idle block is checked here, one at each call.
  if (!free_.empty() && is_too_large(free_.front())) drop_oldest();
}

std::size_t Blocks::bytes() const {
  std::size_t sum = 0;
  for (const Block& block : free_) sum += block.size;
  return sum;
}

}  // namespace ragged
