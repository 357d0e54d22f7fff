#include "guard/elf_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "guard/elf_view.h"
#include "guard/image.h"

namespace berth {

namespace {

constexpr std::string_view magic(BERTH_GUARD_IMAGE_MAGIC, sizeof(berth_guard_image::magic));
constexpr std::string_view first_trampoline = "berth_guard_tramp_0";
constexpr std::uint64_t most_template_bytes = 8 << 20;
constexpr std::uint16_t unversioned = 1;  // VER_NDX_GLOBAL

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}
template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
template <class T>
void overwrite(std::string& file, std::uint64_t offset, const T& value) {
  std::memcpy(file.data() + offset, &value, sizeof(T));
}

std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

std::unexpected<Error> bad_template(std::string_view why) {
  return fail(ErrorCode::invalid, "the shim's template: {}", why);
}

/// The table in which a loader finds the symbols from number `first` on, which are sorted by
/// bucket.
std::string gnu_hash_table(const std::vector<std::uint32_t>& hashes, std::uint32_t first,
                           std::uint32_t buckets) {
  constexpr std::uint32_t shift = 6;
  std::uint32_t words = 1;
  while (words * 64 < hashes.size() * 12) words *= 2;
  std::vector<std::uint64_t> bloom(words);
  std::vector<std::uint32_t> bucket(buckets);
  std::vector<std::uint32_t> chain;
  for (std::uint32_t i = 0; i < hashes.size(); ++i) {
    const std::uint32_t hash = hashes[i];
    bloom[hash / 64 % words] |= std::uint64_t{1} << hash % 64 | std::uint64_t{1}
                                                                    << (hash >> shift) % 64;
    if (bucket[hash % buckets] == 0) bucket[hash % buckets] = first + i;
    const bool ends = i + 1 == hashes.size() || hashes[i + 1] % buckets != hash % buckets;
    chain.push_back((hash & ~1U) | (ends ? 1U : 0U));
  }
  const std::array<std::uint32_t, 4> header = {buckets, first, words, shift};
  return fmt::format("{}{}{}{}", bytes_of(header), bytes_of(bloom), bytes_of(bucket),
                     bytes_of(chain));
}

/// A symbol of the image, still without the place of its name.
struct Shown {
  std::string name;
  Elf64_Sym symbol{};
  std::uint32_t hash = 0;
};

/// Writes one image. New parts are appended to the template's last segment, its data.
class ImageWriter {
 public:
  ImageWriter(elf::View from, const SharedObject& driver)
      : from_(std::move(from)), driver_(driver) {}

  Result<std::string> write(const std::string& driver_path, bool needs_libdl) {
    for (const auto step : {&ImageWriter::open_end, &ImageWriter::choose_symbols}) {
      if (auto done = (this->*step)(); !done) return std::unexpected(std::move(done).error());
    }
    place_symbols(needs_libdl);
    if (auto done = renumber_relocations(); !done) {
      return std::unexpected(std::move(done).error());
    }
    if (auto done = fill_in(driver_path); !done) return std::unexpected(std::move(done).error());
    place_dynamic(needs_libdl);
    close_end();
    return std::move(file_);
  }

 private:
  /// Finds the segment that grows, and lays out its zeros, which the file did not have.
  Result<void> open_end() {
    for (std::size_t i = 0; i < from_.segments.size(); ++i) {
      if (from_.segments[i].p_type == PT_LOAD) last_ = i;  // they ascend
    }
    const Elf64_Phdr& last = from_.segments[last_];
    if (last.p_type != PT_LOAD || (last.p_flags & PF_W) == 0) {
      return bad_template("its last segment is not its data");
    }
    const std::uint64_t bytes = from_.file.size();
    if (last.p_memsz < last.p_filesz || last.p_memsz > most_template_bytes ||
        last.p_offset > bytes || bytes - last.p_offset < last.p_filesz) {
      return bad_template("its data");
    }
    end_ = last.p_offset + last.p_filesz;
    const std::uint64_t headers = from_.segments.size() * sizeof(Elf64_Phdr);
    if (from_.header.e_phoff > end_ || end_ - from_.header.e_phoff < headers) {
      return bad_template("its program headers");
    }
    file_ = from_.file.substr(0, end_);
    file_.resize(last.p_offset + last.p_memsz);
    return {};
  }

  std::uint64_t address_of(std::uint64_t offset) const {
    return from_.segments[last_].p_vaddr + (offset - from_.segments[last_].p_offset);
  }
  /// Appends to the growing segment, and gives the address.
  std::uint64_t place(std::string_view bytes, std::uint64_t alignment) {
    // Addresses and offsets agree modulo the page.
    while (address_of(file_.size()) % alignment != 0) file_ += '\0';
    const std::uint64_t address = address_of(file_.size());
    file_ += bytes;
    return address;
  }

  /// What the template itself asks of others stays, in its order; then what the driver shows.
  Result<void> choose_symbols() {
    std::map<std::string_view, const Elf64_Sym*> ours;
    for (std::uint32_t i = 0; i < from_.symbols.size(); ++i) {
      const Elf64_Sym& symbol = from_.symbols[i];
      const std::string_view name = from_.text_at(symbol.st_name);
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) {
        renumbered_.emplace(i, static_cast<std::uint32_t>(kept_.size()));
        kept_.push_back(i);
      } else {
        ours.emplace(name, &symbol);
      }
    }
    const auto trampoline = ours.find(first_trampoline);
    if (trampoline == ours.end()) return bad_template("it shows no trampoline");
    for (const ExportedSymbol& wanted : driver_.exports) {
      const auto wrapper = ours.find(wanted.name);
      Shown shown{.name = wanted.name, .hash = gnu_hash(wanted.name)};
      if (wanted.is_data) {
        shown.symbol = *trampoline->second;
        shown.symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
        shown.symbol.st_value = place(wanted.bytes, wanted.alignment);
        shown.symbol.st_size = wanted.bytes.size();
      } else if (wrapper != ours.end()) {
        shown.symbol = *wrapper->second;
      } else {
        if (trampolines_.size() == BERTH_GUARD_TRAMPOLINES) {
          return fail(ErrorCode::unsupported, "the driver shows more than {} functions",
                      int{BERTH_GUARD_TRAMPOLINES});
        }
        shown.symbol = *trampoline->second;
        shown.symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
        shown.symbol.st_value += trampolines_.size() * BERTH_GUARD_TRAMPOLINE_BYTES;
        shown.symbol.st_size = BERTH_GUARD_TRAMPOLINE_BYTES;
        trampolines_.push_back(wanted.name);
      }
      shown_.push_back(std::move(shown));
    }
    return {};
  }

  /// The names after those that the template's own tables refer to, the symbols sorted by bucket.
  void place_symbols(bool needs_libdl) {
    const auto buckets = static_cast<std::uint32_t>(shown_.size() / 4 + 1);
    std::ranges::stable_sort(shown_, {}, [&](const Shown& one) { return one.hash % buckets; });
    std::string strings(from_.strings);
    std::vector<Elf64_Sym> symbols;
    std::vector<std::uint16_t> versions;
    std::vector<std::uint32_t> hashes;
    const auto own_versions = from_.dynamic_value(DT_VERSYM);
    for (const std::uint32_t number : kept_) {
      symbols.push_back(from_.symbols[number]);
      const auto at = own_versions ? from_.offset_of(*own_versions + 2 * number, 2) : std::nullopt;
      versions.push_back(at ? *elf::read_at<std::uint16_t>(from_.file, *at) : unversioned);
    }
    for (const Shown& one : shown_) {
      number_of_.emplace(one.name, static_cast<std::uint32_t>(symbols.size()));
      symbols.push_back(one.symbol);
      symbols.back().st_name = static_cast<std::uint32_t>(strings.size());
      name_places_.emplace(one.name, strings.size());
      strings += one.name;
      strings += '\0';
      versions.push_back(unversioned);
      hashes.push_back(one.hash);
    }
    libdl_ = strings.size();
    if (needs_libdl) strings += std::string_view("libdl.so.2", 11);
    const auto first = static_cast<std::uint32_t>(kept_.size());
    tables_[DT_STRTAB] = {place(strings, 1), strings.size()};
    tables_[DT_SYMTAB] = {place(bytes_of(symbols), 8), bytes_of(symbols).size()};
    const std::string hash = gnu_hash_table(hashes, first, buckets);
    tables_[DT_GNU_HASH] = {place(hash, 8), hash.size()};
    tables_[DT_VERSYM] = {place(bytes_of(versions), 2), bytes_of(versions).size()};
  }

  /// The template's relocations name symbols by number.
  Result<void> renumber_relocations() {
    for (const auto& [table, size] : {std::pair(DT_RELA, DT_RELASZ), {DT_JMPREL, DT_PLTRELSZ}}) {
      const std::uint64_t bytes = from_.dynamic_value(size).value_or(0);
      if (bytes == 0) continue;
      const auto at = from_.offset_of(from_.dynamic_value(table).value_or(0), bytes);
      if (!at || *at + bytes > end_) return bad_template("its relocations");
      for (std::uint64_t i = *at; i + sizeof(Elf64_Rela) <= *at + bytes; i += sizeof(Elf64_Rela)) {
        auto relocation = *elf::read_at<Elf64_Rela>(file_, i);
        const auto symbol = static_cast<std::uint32_t>(ELF64_R_SYM(relocation.r_info));
        const auto number = new_number(symbol);
        if (!number) return bad_template("it looks its own names up (it wants -Bsymbolic)");
        relocation.r_info = ELF64_R_INFO(std::uint64_t{*number}, ELF64_R_TYPE(relocation.r_info));
        overwrite(file_, i, relocation);
      }
    }
    return {};
  }
  std::optional<std::uint32_t> new_number(std::uint32_t old) const {
    if (const auto kept = renumbered_.find(old); kept != renumbered_.end()) return kept->second;
    if (old >= from_.symbols.size()) return std::nullopt;
    const auto shown = number_of_.find(from_.text_at(from_.symbols[old].st_name));
    return shown == number_of_.end() ? std::nullopt : std::optional(shown->second);
  }

  /// Tells the code inside which driver it opens, and each trampoline its name.
  Result<void> fill_in(const std::string& driver_path) {
    const std::size_t at = from_.file.find(magic);
    auto image = elf::read_at<berth_guard_image>(file_, at);
    const Elf64_Phdr& last = from_.segments[last_];
    if (!image || at < last.p_offset || at + sizeof *image > end_ ||
        from_.file.find(magic, at + 1) != std::string_view::npos || image->name_count != 0) {
      return bad_template("it has no place for the driver's path");
    }
    if (driver_path.size() >= sizeof image->driver) {
      return fail(ErrorCode::unsupported, "the driver's path is too long: {}", driver_path);
    }
    const std::uint64_t strings = tables_[DT_STRTAB].address;
    while (address_of(file_.size()) % sizeof(std::int32_t) != 0) file_ += '\0';
    const std::uint64_t names = address_of(file_.size());
    std::vector<std::int32_t> places;
    for (const std::string& name : trampolines_) {
      const std::uint64_t text = strings + name_places_.at(name);
      places.push_back(static_cast<std::int32_t>(text - names));
    }
    file_ += bytes_of(places);
    image->name_count = trampolines_.size();
    image->names_offset = static_cast<std::int64_t>(names - address_of(at));
    std::memset(image->driver, 0, sizeof image->driver);
    driver_path.copy(image->driver, driver_path.size());
    overwrite(file_, at, *image);
    return {};
  }

  void place_dynamic(bool needs_libdl) {
    std::vector<Elf64_Dyn> dynamic;
    for (Elf64_Dyn entry : from_.dynamic) {
      if (entry.d_tag == DT_HASH || entry.d_tag == DT_GNU_HASH || entry.d_tag == DT_VERSYM) {
        continue;
      }
      if (entry.d_tag == DT_STRTAB || entry.d_tag == DT_SYMTAB) {
        entry.d_un.d_ptr = tables_[entry.d_tag].address;
      }
      if (entry.d_tag == DT_STRSZ) entry.d_un.d_val = tables_[DT_STRTAB].bytes;
      dynamic.push_back(entry);
    }
    for (const std::int64_t tag : {std::int64_t{DT_GNU_HASH}, std::int64_t{DT_VERSYM}}) {
      dynamic.push_back({.d_tag = tag, .d_un = {.d_ptr = tables_[tag].address}});
    }
    if (needs_libdl) dynamic.push_back({.d_tag = DT_NEEDED, .d_un = {.d_val = libdl_}});
    dynamic.push_back({.d_tag = DT_NULL});
    const std::string_view bytes = bytes_of(dynamic);
    const auto old = std::ranges::find(from_.segments, PT_DYNAMIC, &Elf64_Phdr::p_type);
    const std::uint64_t begin = from_.segments[last_].p_offset;
    const bool fits = old->p_filesz >= bytes.size() && old->p_offset >= begin &&
                      old->p_offset <= end_ && end_ - old->p_offset >= bytes.size();
    if (!fits) {
      tables_[DT_NULL] = {place(bytes, 8), bytes.size()};
      return;
    }
    // In its old place, beside what the loader writes to as well: one page, not two.
    file_.replace(old->p_offset, bytes.size(), bytes);
    tables_[DT_NULL] = {address_of(old->p_offset), bytes.size()};
  }

  /// What the file had behind the segment follows it, and the headers say where all of it is now.
  void close_end() {
    for (std::size_t i = 0; i < from_.segments.size(); ++i) {
      Elf64_Phdr segment = from_.segments[i];
      if (i == last_) segment.p_filesz = segment.p_memsz = file_.size() - segment.p_offset;
      if (segment.p_type == PT_DYNAMIC) {
        segment.p_vaddr = segment.p_paddr = tables_[DT_NULL].address;
        segment.p_offset = offset_of(tables_[DT_NULL]);
        segment.p_filesz = segment.p_memsz = tables_[DT_NULL].bytes;
      }
      overwrite(file_, from_.header.e_phoff + i * sizeof(Elf64_Phdr), segment);
    }
    while ((file_.size() - end_) % 64 != 0) file_ += '\0';
    const std::uint64_t moved_by = file_.size() - end_;
    file_ += from_.file.substr(end_);
    move_sections(moved_by);
  }
  /// For people and their tools: a loader reads no section.
  void move_sections(std::uint64_t moved_by) {
    Elf64_Ehdr header = from_.header;
    const bool has_them =
        header.e_shoff >= end_ && header.e_shentsize == sizeof(Elf64_Shdr) &&
        elf::read_at<Elf64_Shdr>(from_.file,
                                 header.e_shoff + (header.e_shnum - 1) * sizeof(Elf64_Shdr));
    if (!has_them) {
      header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
      return overwrite(file_, 0, header);
    }
    header.e_shoff += moved_by;
    overwrite(file_, 0, header);
    for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
      const std::uint64_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
      auto section = *elf::read_at<Elf64_Shdr>(file_, at);
      const bool holds_names = section.sh_addr == from_.dynamic_value(DT_STRTAB);
      if (section.sh_offset >= end_ && section.sh_type != SHT_NOBITS) section.sh_offset += moved_by;
      if (section.sh_type == SHT_DYNSYM) {
        put(section, tables_[DT_SYMTAB]);
        section.sh_info = 1;
      } else if (section.sh_type == SHT_STRTAB && holds_names) {
        put(section, tables_[DT_STRTAB]);
      } else if (section.sh_type == SHT_GNU_HASH) {
        put(section, tables_[DT_GNU_HASH]);
      } else if (section.sh_type == SHT_GNU_versym) {
        put(section, tables_[DT_VERSYM]);
      } else if (section.sh_type == SHT_DYNAMIC) {
        put(section, tables_[DT_NULL]);
      } else if (section.sh_type == SHT_HASH) {
        section.sh_type = SHT_PROGBITS;  // left behind
      }
      overwrite(file_, at, section);
    }
  }

  struct Table {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  std::uint64_t offset_of(const Table& table) const {
    return table.address - from_.segments[last_].p_vaddr + from_.segments[last_].p_offset;
  }
  void put(Elf64_Shdr& section, const Table& table) const {
    section.sh_addr = table.address;
    section.sh_offset = offset_of(table);
    section.sh_size = table.bytes;
  }

  elf::View from_;
  const SharedObject& driver_;
  std::string file_;
  std::size_t last_ = 0;   // segment
  std::uint64_t end_ = 0;  // of that segment in the template's file
  std::vector<std::uint32_t> kept_;
  std::map<std::uint32_t, std::uint32_t> renumbered_;  // old number → new, of kept_
  std::vector<Shown> shown_;
  std::map<std::string, std::uint32_t, std::less<>> number_of_;
  std::map<std::string, std::uint64_t> name_places_;
  std::vector<std::string> trampolines_;  // the name of each
  std::map<std::int64_t, Table> tables_;  // by DT_…; DT_NULL: the dynamic section itself
  std::uint64_t libdl_ = 0;
};

}  // namespace

bool is_guard_image(std::string_view file) { return file.find(magic) != std::string_view::npos; }

Result<std::string> make_guard_image(std::string_view shim_template, const SharedObject& driver,
                                     const std::string& driver_path, bool needs_libdl) {
  auto from = elf::view(shim_template);
  if (!from) return std::unexpected(std::move(from).error().because("the shim's template"));
  if (from->header.e_machine != driver.machine) {
    return fail(ErrorCode::unsupported, "the driver is for another machine: {}", driver_path);
  }
  return ImageWriter(*std::move(from), driver).write(driver_path, needs_libdl);
}

std::string empty_object_for_32_bits(std::uint16_t machine) {
  struct {
    Elf32_Ehdr header;
    Elf32_Phdr segments[3];
    Elf32_Dyn dynamic[6];
    Elf32_Sym symbol;
    std::uint32_t hash[4];
    char strings[4];
  } object{};
  using Object = decltype(object);
  constexpr std::uint32_t page = 0x10000;  // also where pages are large
  Elf32_Ehdr& header = object.header;
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = machine == EM_AARCH64 ? EM_ARM : EM_386;
  header.e_flags = machine == EM_AARCH64 ? 0x05000000 : 0;  // EABI 5
  header.e_version = EV_CURRENT;
  header.e_phoff = offsetof(Object, segments);
  header.e_ehsize = sizeof(Elf32_Ehdr);
  header.e_phentsize = sizeof(Elf32_Phdr);
  header.e_phnum = 3;
  object.segments[0] = {PT_LOAD, 0, 0, 0, sizeof object, sizeof object, PF_R | PF_W, page};
  constexpr auto at = static_cast<std::uint32_t>(offsetof(Object, dynamic));
  object.segments[1] = {PT_DYNAMIC,  at, at, at, sizeof object.dynamic, sizeof object.dynamic,
                        PF_R | PF_W, 4};
  // Without it the loader would make the program's stack executable.
  object.segments[2] = {PT_GNU_STACK, 0, 0, 0, 0, 0, PF_R | PF_W, 16};
  const std::array<std::pair<int, std::uint32_t>, 6> entries = {
      {{DT_HASH, offsetof(Object, hash)},
       {DT_STRTAB, offsetof(Object, strings)},
       {DT_SYMTAB, offsetof(Object, symbol)},
       {DT_STRSZ, 1},
       {DT_SYMENT, sizeof(Elf32_Sym)},
       {DT_NULL, 0}}};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    object.dynamic[i] = {entries[i].first, {entries[i].second}};
  }
  object.hash[0] = object.hash[1] = 1;  // one bucket, empty, and the symbol that always is there
  return std::string(bytes_of(object));
}

}  // namespace berth
