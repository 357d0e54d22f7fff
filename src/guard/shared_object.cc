#include "guard/shared_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "guard/elf_view.h"

namespace berth {

namespace {

constexpr std::uint64_t most_name_bytes = 1024;
constexpr std::uint64_t most_data_bytes = 1 << 20;  // of all names
constexpr std::size_t most_exports = 1 << 14;
constexpr std::uint64_t most_alignment = 64;

/// What a linker puts into each file: another's would hide a program's own.
bool is_linkers_own(std::string_view name) {
  constexpr std::string_view names[] = {"_init", "_fini",       "_edata", "edata", "_end",
                                        "end",   "__bss_start", "_etext", "etext"};
  return std::ranges::find(names, name) != std::end(names);
}

bool is_shown(const Elf64_Sym& symbol, std::string_view name) {
  const unsigned binding = ELF64_ST_BIND(symbol.st_info);
  const unsigned visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  // A thread's own data can be in no image; no driver shows any.
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS && binding != STB_LOCAL &&
         (visibility == STV_DEFAULT || visibility == STV_PROTECTED) &&
         ELF64_ST_TYPE(symbol.st_info) != STT_TLS && !name.empty() && !is_linkers_own(name);
}

/// The bytes that a name of data has in memory; what the file does not hold of them is zeros.
std::optional<std::string> bytes_of_data(const elf::View& object, const Elf64_Sym& symbol) {
  if (symbol.st_size > most_data_bytes) return std::nullopt;
  for (const Elf64_Phdr& segment : object.segments) {
    if (segment.p_type != PT_LOAD || symbol.st_value < segment.p_vaddr) continue;
    const std::uint64_t within = symbol.st_value - segment.p_vaddr;
    if (within > segment.p_memsz || segment.p_memsz - within < symbol.st_size) continue;
    const std::uint64_t held =
        std::min(segment.p_filesz - std::min(segment.p_filesz, within), symbol.st_size);
    std::string bytes;
    if (held > 0) {
      const auto at = object.offset_of(symbol.st_value, held);
      if (!at) return std::nullopt;
      bytes = object.file.substr(*at, held);
    }
    bytes.resize(symbol.st_size);
    return bytes;
  }
  return std::nullopt;
}

Result<ExportedSymbol> exported(const elf::View& object, const Elf64_Sym& symbol,
                                std::string_view name) {
  ExportedSymbol one{.name = std::string(name)};
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  const auto unusable = [&](std::string_view why) {
    return fail(ErrorCode::invalid, "{} {}", one.name.substr(0, 64), why);
  };
  if (name.size() > most_name_bytes) return unusable("… is too long a name");
  if (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) return one;
  if (type != STT_OBJECT) return unusable("is neither a function nor data");
  one.is_data = true;
  one.alignment = std::min(most_alignment,
                           std::uint64_t{1} << std::countr_zero(symbol.st_value | most_alignment));
  auto bytes = bytes_of_data(object, symbol);
  if (!bytes) return unusable("is data outside of the file's segments");
  one.bytes = *std::move(bytes);
  return one;
}

/// "3fa2…", from the note that a linker leaves.
std::string build_id_of(const elf::View& object) {
  for (const Elf64_Phdr& segment : object.segments) {
    if (segment.p_type != PT_NOTE) continue;
    std::uint64_t at = 0;
    while (at < segment.p_filesz) {
      const auto note = elf::read_at<Elf64_Nhdr>(object.file, segment.p_offset + at);
      if (!note || note->n_namesz > 64 || note->n_descsz > 4096) break;
      const std::uint64_t name_at = segment.p_offset + at + sizeof(Elf64_Nhdr);
      const std::uint64_t text_at = name_at + (note->n_namesz + 3U) / 4 * 4;
      if (text_at > object.file.size() || object.file.size() - text_at < note->n_descsz) break;
      if (note->n_type == NT_GNU_BUILD_ID && object.file.substr(name_at, 3) == "GNU") {
        std::string id;
        for (const char c : object.file.substr(text_at, note->n_descsz)) {
          id += fmt::format("{:02x}", static_cast<unsigned char>(c));
        }
        return id;
      }
      at = text_at - segment.p_offset + (note->n_descsz + 3U) / 4 * 4;
    }
  }
  return {};
}

}  // namespace

Result<SharedObject> read_shared_object(std::string_view file) {
  auto viewed = elf::view(file);
  if (!viewed) return std::unexpected(std::move(viewed).error());
  const elf::View& object = *viewed;
  SharedObject read{.machine = object.header.e_machine, .build_id = build_id_of(object)};
  for (const Elf64_Dyn& entry : object.dynamic) {
    const std::string_view text = object.text_at(entry.d_un.d_val);
    if (entry.d_tag == DT_SONAME) read.soname = text;
    if (entry.d_tag == DT_NEEDED) read.needed.emplace_back(text);
  }
  std::uint64_t data_bytes = 0;
  for (const Elf64_Sym& symbol : object.symbols) {
    const std::string_view name = object.text_at(symbol.st_name);
    if (!is_shown(symbol, name)) continue;
    auto one = exported(object, symbol, name);
    if (!one) return std::unexpected(std::move(one).error());
    data_bytes += one->bytes.size();
    if (data_bytes > most_data_bytes || read.exports.size() == most_exports) {
      return fail(ErrorCode::invalid, "it shows more than any driver does");
    }
    read.exports.push_back(*std::move(one));
  }
  std::ranges::stable_sort(read.exports, {}, &ExportedSymbol::name);
  const auto again = std::ranges::unique(read.exports, {}, &ExportedSymbol::name);
  read.exports.erase(again.begin(), again.end());
  return read;
}

}  // namespace berth
