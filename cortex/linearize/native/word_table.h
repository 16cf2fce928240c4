// The words of a vocabulary by their characters, so that a text's words are found without a string for each.
#pragma once

#include "brackets.h"

namespace cortex {

class WordTable {
 public:
  struct Word {
    nb::object text, row;  // of the vocabulary's dict
  };

  explicit WordTable(nb::handle rows);

  // The word in a range of a text; nothing where the vocabulary lacks it, or the text has characters beyond Latin-1.
  const Word* find(const Text& text, Range range) const;

 private:
  std::vector<Word> words_;
  std::vector<std::uint32_t> slots_;  // a word's number from one, or zero; a power of two of them
};

}  // namespace cortex
