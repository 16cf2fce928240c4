// Memory that calls take turns with: their scratch memory, and that of results that nobody has any more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ragged {

// Memory of one call at a time: zeroed words in front, if any, then room, both beginning at a cache line.
struct Block {
  std::int64_t* words;
  char* room;
  std::size_t size;  // of the room, in bytes
};

// What calls needed of late, so that what is kept for later ones is not far larger.
class Recent {
 public:
  explicit Recent(std::size_t slack) : slack_(slack) {}

  // A call needed so much. It counts for a while: with each later call one part of so many less.
  void note(std::size_t needed) { most_ = std::max(needed, most_ - most_ / kMemory); }
  bool is_too_large(std::size_t size) const { return size > kTimes * most_ + slack_; }

 private:
  static constexpr std::size_t kTimes = 4;
  static constexpr std::size_t kMemory = 16;

  std::size_t slack_;
  std::size_t most_ = 0;
};

// Blocks that calls take and give back, so that a call finds the memory of an earlier one, already mapped. There are as
// many as calls run at once, `most` at most while nobody has them. One that is far larger than what calls needed of late
// is given back to the system.
//
// Not made for several threads at once: who calls holds the GIL.
class Blocks {
 public:
  explicit Blocks(std::size_t words, std::size_t most = SIZE_MAX) : words_(words), most_(most) {}
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks();

  // A block with at least so much room, whose words are zero; its `words` are null if there is no memory.
  Block take(std::size_t size);

  // Take back a block that a call needed so much of.
  void give(Block block, std::size_t needed);

  // A call was, or is, without a block, which it needed so much of.
  void note(std::size_t needed);

  std::size_t count() const { return free_.size(); }
  std::size_t bytes() const;
  std::size_t words() const { return words_; }

 private:
  // A block may be this much larger than what is needed of late.
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
