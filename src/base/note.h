#pragma once
// Something that berth noticed about a run: for its record, and for the user who started it.

#include <string>

#include "base/sentence.h"

namespace berth {

struct Note {
  std::string kind;  // a word for programs: "memory_over_cap"
  Sentence text;
  friend bool operator==(const Note&, const Note&) = default;
};

}  // namespace berth
