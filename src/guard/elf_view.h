#pragma once
// An ELF64 shared object as a loader sees it: segments, dynamic section, symbols. Every number of
// the file is checked before it is followed. For guard/elf_*.cc, who need the system's <elf.h>
// anyway.

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::elf {

/// A T from the bytes at `offset`, however they are aligned.
template <class T>
[[nodiscard]] std::optional<T> read_at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

/// The machine that this program is built for (e_machine), and that of its 32-bit programs.
#if defined(__aarch64__)
inline constexpr std::uint16_t our_machine = EM_AARCH64;
#else
inline constexpr std::uint16_t our_machine = EM_X86_64;
#endif

struct View {
  std::string_view file;
  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> segments;
  std::vector<Elf64_Dyn> dynamic;  // without the DT_NULL
  std::vector<Elf64_Sym> symbols;  // those of the dynamic symbol table, number 0 included
  std::string_view strings;        // theirs

  /// Where in the file this many bytes at `address` are; nothing: not all of them are in it.
  [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t address,
                                                       std::uint64_t bytes) const;
  [[nodiscard]] std::optional<std::uint64_t> dynamic_value(std::int64_t tag) const;
  /// The text at this place of `strings`; empty: there is none, or it is very long.
  [[nodiscard]] std::string_view text_at(std::uint64_t place) const;
};

[[nodiscard]] Result<View> view(std::string_view file);

}  // namespace berth::elf
