// Memory blocks that calls reuse: workspaces, and the memory of freed results.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ragged {

// Memory of one call at a time: zeroed status words, if any, then data; both start at a cache line.
struct Block {
  std::int64_t* words;
  char* data;
  std::size_t size;  // bytes of data
};

// The decaying maximum of recent requests (bytes), so that idle blocks are not far larger.
class Recent {
 public:
  explicit Recent(std::size_t slack) : slack_(slack) {}

  // Record a request; each later one lowers its weight by 1 / kMemory.
  void note(std::size_t needed) { most_ = std::max(needed, most_ - most_ / kMemory); }
  bool is_too_large(std::size_t size) const { return size > kTimes * most_ + slack_; }

 private:
  static constexpr std::size_t kTimes = 4;
  static constexpr std::size_t kMemory = 16;

  std::size_t slack_;
  std::size_t most_ = 0;
};

// A free list of blocks, already mapped. At most `most` blocks are idle; a block far larger than recent requests is
// returned to the system. Not thread-safe: callers hold the GIL.
class Blocks {
 public:
  explicit Blocks(std::size_t words, std::size_t most = SIZE_MAX) : words_(words), most_(most) {}
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks();

  // A block of at least `size` bytes with all words zero; `words` is null if there is no memory.
  Block take(std::size_t size);

  // Return a block of which a call used `needed` bytes.
  void give(Block block, std::size_t needed);

  // Record a request of a call that used no block.
  void note(std::size_t needed);

  std::size_t count() const { return free_.size(); }
  std::size_t bytes() const;
  std::size_t words() const { return words_; }

 private:
  // Bytes by which a block may exceed recent requests.
  static constexpr std::size_t kSlack = 1 << 20;

  Block allocate(std::size_t size) const;
  void drop_oldest();
  bool is_too_large(const Block& block) const { return recent_.is_too_large(block.size); }

  std::size_t words_;
  std::size_t most_;
  Recent recent_{kSlack};
  std::vector<Block> free_;
};

}  // namespace ragged
