#include "guard/elf_view.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace berth::elf {

namespace {

constexpr std::uint64_t most_symbols = 1 << 20;

std::unexpected<Error> damaged(const char* what) {
  return fail(ErrorCode::invalid, "not a sound shared object: {}", what);
}

Result<Elf64_Ehdr> header_of(std::string_view file) {
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    return fail(ErrorCode::invalid, "not an ELF file");
  }
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return fail(ErrorCode::unsupported, "not for 64-bit programs");
  }
  return *header;
}

/// How many symbols a table of DT_GNU_HASH knows of: the last of the longest chain ends it.
std::optional<std::uint64_t> count_by_gnu_hash(const View& object, std::uint64_t address) {
  const auto start = object.offset_of(address, 4 * sizeof(std::uint32_t));
  if (!start) return std::nullopt;
  const auto number = [&](std::uint64_t at) { return read_at<std::uint32_t>(object.file, at); };
  const std::uint64_t buckets = *number(*start);
  const std::uint64_t first = *number(*start + 4);
  const std::uint64_t bloom_words = *number(*start + 8);
  const std::uint64_t bucket_at = *start + 16 + bloom_words * 8;
  const std::uint64_t chain_at = bucket_at + buckets * 4;
  if (chain_at > object.file.size()) return std::nullopt;
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < buckets; ++i) {
    last = std::max<std::uint64_t>(last, *number(bucket_at + i * 4));
  }
  if (last < first) return first;
  for (; last < most_symbols; ++last) {
    const auto hash = number(chain_at + (last - first) * 4);
    if (!hash) return std::nullopt;
    if ((*hash & 1U) != 0) return last + 1;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> count_by_sections(const View& object) {
  for (std::uint64_t i = 0; i < object.header.e_shnum; ++i) {
    const auto section =
        read_at<Elf64_Shdr>(object.file, object.header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return std::nullopt;
    if (section->sh_type == SHT_DYNSYM) return section->sh_size / sizeof(Elf64_Sym);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> symbol_count(const View& object) {
  if (const auto hash = object.dynamic_value(DT_HASH)) {
    const auto at = object.offset_of(*hash, 2 * sizeof(std::uint32_t));
    return at ? read_at<std::uint32_t>(object.file, *at + 4) : std::nullopt;
  }
  const auto hash = object.dynamic_value(DT_GNU_HASH);
  return hash ? count_by_gnu_hash(object, *hash) : count_by_sections(object);
}

Result<void> read_segments(View& object) {
  const Elf64_Ehdr& header = object.header;
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return damaged("its program headers");
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(object.file, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return damaged("its program headers");
    object.segments.push_back(*segment);
  }
  return {};
}

Result<void> read_dynamic(View& object) {
  const auto segment = std::ranges::find(object.segments, PT_DYNAMIC, &Elf64_Phdr::p_type);
  if (segment == object.segments.end()) return damaged("it has no dynamic section");
  for (std::uint64_t at = 0; at < segment->p_filesz; at += sizeof(Elf64_Dyn)) {
    const auto entry = read_at<Elf64_Dyn>(object.file, segment->p_offset + at);
    if (!entry) return damaged("its dynamic section");
    if (entry->d_tag == DT_NULL) return {};
    object.dynamic.push_back(*entry);
  }
  return damaged("its dynamic section has no end");
}

Result<void> read_symbols(View& object) {
  const auto strings = object.dynamic_value(DT_STRTAB);
  const std::uint64_t bytes = object.dynamic_value(DT_STRSZ).value_or(0);
  const auto strings_at = strings ? object.offset_of(*strings, bytes) : std::nullopt;
  if (!strings_at || bytes == 0) return damaged("its names");
  object.strings = object.file.substr(*strings_at, bytes);
  const auto table = object.dynamic_value(DT_SYMTAB);
  const auto count = symbol_count(object);
  if (!table || !count || *count == 0 || *count > most_symbols) return damaged("its symbols");
  const auto at = object.offset_of(*table, *count * sizeof(Elf64_Sym));
  if (!at) return damaged("its symbols");
  object.symbols.resize(*count);
  std::memcpy(object.symbols.data(), object.file.data() + *at, *count * sizeof(Elf64_Sym));
  return {};
}

}  // namespace

std::optional<std::uint64_t> View::offset_of(std::uint64_t address, std::uint64_t bytes) const {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t within = address - segment.p_vaddr;
    if (within > segment.p_filesz || segment.p_filesz - within < bytes) continue;
    if (segment.p_offset > file.size() || file.size() - segment.p_offset < segment.p_filesz) {
      return std::nullopt;
    }
    return segment.p_offset + within;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> View::dynamic_value(std::int64_t tag) const {
  const auto entry = std::ranges::find(dynamic, tag, &Elf64_Dyn::d_tag);
  return entry == dynamic.end() ? std::nullopt : std::optional(entry->d_un.d_val);
}

std::string_view View::text_at(std::uint64_t place) const {
  if (place >= strings.size()) return {};
  constexpr std::size_t longest = 4096;
  const std::string_view text = strings.substr(place, longest);
  const std::size_t end = text.find('\0');
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

Result<View> view(std::string_view file) {
  auto header = header_of(file);
  if (!header) return std::unexpected(std::move(header).error());
  View object{.file = file, .header = *header};
  for (const auto read : {read_segments, read_dynamic, read_symbols}) {
    if (auto done = read(object); !done) return std::unexpected(std::move(done).error());
  }
  return object;
}

}  // namespace berth::elf
