#pragma once
// What a shared object is and shows to others, read from the bytes of its file. Pure; a damaged or
// hostile file is an error. Only a few pages of a file are looked at, however large it is.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth {

/// A name that a shared object shows to others.
struct ExportedSymbol {
  std::string name;
  bool is_data = false;  // else a function
  // For data:
  std::uint64_t alignment = 1;
  std::string bytes;  // as it is before anything has run, zeros included
  friend bool operator==(const ExportedSymbol&, const ExportedSymbol&) = default;
};

struct SharedObject {
  std::uint16_t machine = 0;  // EM_X86_64, EM_AARCH64
  std::string soname;
  std::string build_id;                 // small hexadecimal letters; empty: it has none
  std::vector<std::string> needed;      // DT_NEEDED
  std::vector<ExportedSymbol> exports;  // by name, each once
};

/// invalid: it is none, or damaged. unsupported: it is for 32-bit programs, or another byte order.
[[nodiscard]] Result<SharedObject> read_shared_object(std::string_view file);

}  // namespace berth
