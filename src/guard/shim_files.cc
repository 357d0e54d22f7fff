#include "guard/shim_files.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "base/fd.h"
#include "base/gzip.h"
#include "base/loader.h"
#include "base/text.h"
#include "base/variables.h"
#include "guard/elf_image.h"
#include "guard/elf_view.h"
#include "guard/shim_folder.h"

extern "C" {
extern const char berth_shim_template[];
extern const char berth_shim_template_end[];
}

namespace berth {

namespace {

constexpr std::string_view soname = "libcuda.so.1";
constexpr std::string_view preloaded = "berth-shim.so";
// What LD_PRELOAD's word has behind the folder: where 64-bit programs alone run, and elsewhere.
constexpr std::array<std::string_view, 2> preload_ends = {"/berth-shim.so", "/$LIB/libcuda.so.1"};

std::string value_in(const std::vector<std::string>& environment, std::string_view name) {
  return value_of(environment, name).value_or("");
}

/// LD_PRELOAD's words, and the folders of earlier shims among them.
struct Preloads {
  std::vector<std::string> users;
  std::vector<std::string> our_folders;
};
Preloads preloads_in(std::string list) {
  Preloads found;
  std::ranges::replace(list, ' ', ':');
  for (const std::string_view word : split(list, ':')) {
    const auto* end = std::ranges::find_if(
        preload_ends, [&](std::string_view one) { return word.ends_with(one); });
    if (end != preload_ends.end()) {
      found.our_folders.emplace_back(word.substr(0, word.size() - end->size()));
    } else if (!word.empty()) {
      found.users.emplace_back(word);
    }
  }
  return found;
}

/// What the job itself speaks against; empty: nothing.
Sentence why_step_aside(const ShimQuestion& question) {
  constexpr std::array<std::string_view, 7> injectors = {
      "nsys", "ncu", "nvprof", "compute-sanitizer", "cuda-memcheck", "cuda-gdb", "cuda-gdbserver"};
  if (value_in(question.environment, "BERTH_GUARD") == "off") {
    return sentence("BERTH_GUARD=off is set");
  }
  const auto injects = std::ranges::find_first_of(question.programs, injectors);
  if (injects != question.programs.end()) {
    return sentence("{} injects itself into CUDA, and the shim steps aside", *injects);
  }
  if (!value_in(question.environment, "CUDA_INJECTION64_PATH").empty()) {
    return sentence("CUDA_INJECTION64_PATH is set, and the shim steps aside for that tool");
  }
  const auto of_all = read_file(question.root + "/etc/ld.so.preload", 1 << 16);
  for (const std::string& list :
       {value_in(question.environment, "LD_PRELOAD"), of_all ? *of_all : std::string()}) {
    if (list.find("libvgpu.so") != list.npos) {
      return sentence("HAMi's libvgpu caps memory here: {}", trimmed(list));
    }
  }
  return {};
}

/// A name only: the bytes themselves are compared.
std::string name_by_content(std::string_view bytes) {
  return fmt::format("{:016x}", hash_of(bytes));
}

bool dlopen_is_in_libdl(const std::string& glibc) {
  const std::string version = glibc.empty() ? ::gnu_get_libc_version() : glibc;  // "2.36"
  const auto parts = split(version, '.');
  constexpr std::uint64_t moved_in = 34;
  return parts.size() >= 2 && parts[0] == "2" && parse_unsigned(parts[1]).value_or(0) < moved_in;
}

/// Which values "$LIB" has: in loaders of 64-bit programs, and of 32-bit ones. Where a distribution
/// has its 64-bit libraries in lib64, "lib" has the others.
struct LibNames {
  std::vector<std::string> wide;
  std::vector<std::string> narrow;
};
LibNames lib_names(const std::string& own) {
  const bool is_arm = elf::our_machine == EM_AARCH64;
  LibNames names{.wide = {"lib64", is_arm ? "lib/aarch64-linux-gnu" : "lib/x86_64-linux-gnu"},
                 .narrow = {"lib32", is_arm ? "lib/arm-linux-gnueabihf" : "lib/i386-linux-gnu"}};
  (own == "lib64" ? names.narrow : names.wide).emplace_back("lib");
  if (std::ranges::find(names.wide, own) == names.wide.end()) names.wide.push_back(own);
  std::erase(names.narrow, own);
  return names;
}

/// By their loader; also where a distribution has it in a place that its programs alone know.
bool can_run_32_bit_programs(const std::string& root) {
  constexpr std::array<const char*, 5> signs = {"/lib/ld-linux.so.2", "/lib/ld-linux.so.3",
                                                "/lib/ld-linux-armhf.so.3", "/nix/store",
                                                "/gnu/store"};
  return std::ranges::any_of(signs, [&](const char* sign) {
    std::error_code unknown;
    return std::filesystem::exists(root + sign, unknown);
  });
}

/// "../../libcuda.so.1" in "lib/x86_64-linux-gnu".
std::string from_within(const std::string& lib, std::string_view target) {
  std::string up;
  for (std::size_t i = 0; i < split(lib, '/').size(); ++i) up += "../";
  return up + std::string(target);
}

/// All files of a shim. True: one of them had been changed.
std::expected<bool, Sentence> write_files(const std::string& folder, const std::string& image) {
  constexpr std::string_view empty = "none-for-32-bits.so";
  bool is_anew = false;
  const auto note = [&](const std::expected<Written, Sentence>& done) -> Sentence {
    if (!done) return done.error();
    is_anew = is_anew || *done == Written::anew;
    return {};
  };
  const auto file = [&](std::string_view name, std::string_view bytes) {
    return note(write_shim_file(folder + "/" + std::string(name), bytes));
  };
  Sentence failed = file(soname, image);
  if (failed.empty()) failed = file(empty, empty_object_for_32_bits(elf::our_machine));
  for (const std::string_view link : {std::string_view("libcuda.so"), preloaded}) {
    if (!failed.empty()) break;
    failed = note(write_shim_link(fmt::format("{}/{}", folder, link), std::string(soname)));
  }
  const LibNames names = lib_names(loader_lib());
  for (const auto& [libs, target] : {std::pair(&names.wide, soname), {&names.narrow, empty}}) {
    for (const std::string& lib : *libs) {
      if (!failed.empty()) break;
      const std::string within = folder + "/" + lib;
      if (const auto made = make_shim_folder(within); !made) {
        failed = made.error();
        continue;
      }
      failed = note(write_shim_link(within + "/" + std::string(soname), from_within(lib, target)));
    }
  }
  if (!failed.empty()) return std::unexpected(std::move(failed));
  return is_anew;
}

/// In the first folder that will do.
std::expected<Shim, Sentence> place_image(const ShimQuestion& question, const std::string& image) {
  Sentence why;
  for (const std::string& parent : question.folders) {
    auto folder = make_shim_folder(parent);
    if (folder) folder = make_shim_folder(*folder + "/" + name_by_content(image));
    Sentence failed;
    if (!folder) failed = folder.error();
    if (failed.empty()) {
      const std::string_view end = preload_ends[can_run_32_bit_programs(question.root) ? 1 : 0];
      Shim shim{.folder = *folder,
                .image = fmt::format("{}/{}", *folder, soname),
                .preload = fmt::format("{}{}", *folder, end)};
      const auto is_anew = write_files(*folder, image);
      failed = is_anew ? why_not_executable(shim.image) : is_anew.error();
      if (failed.empty()) {
        if (*is_anew) {
          shim.said.push_back(sentence("{} had been changed; it was written anew", *folder));
        }
        sweep_shim_folders(*folder, "/proc");
        return shim;
      }
    }
    why = why.empty() ? failed : sentence("{}; {}", why, failed);
  }
  return std::unexpected(sentence("no folder can hold the shim: {}", why));
}

}  // namespace

std::string shim_template() {
  const std::string_view packed(
      berth_shim_template, static_cast<std::size_t>(berth_shim_template_end - berth_shim_template));
  constexpr std::size_t most_bytes = 16 << 20;
  return gunzipped(packed, most_bytes).value_or("");
}

std::vector<std::string> shim_folders(const std::vector<std::string>& environment, uid_t user) {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& base, std::string_view below) {
    if (base.starts_with('/')) folders.push_back(fmt::format("{}{}", base, below));
  };
  if (user != 0) {
    const std::string cache = value_in(environment, "XDG_CACHE_HOME");
    add(cache.starts_with('/') ? cache : value_in(environment, "HOME"),
        cache.starts_with('/') ? "/berth/guard" : "/.cache/berth/guard");
  }
  add("/var/tmp", fmt::format("/berth-guard-{}", user));
  add("/tmp", fmt::format("/berth-guard-{}", user));
  add(value_in(environment, "XDG_RUNTIME_DIR"), "/berth/guard");
  return folders;
}

std::expected<Shim, Sentence> prepare_shim(const ShimQuestion& question) {
  if (Sentence why = why_step_aside(question); !why.empty()) return std::unexpected(why);
  if (question.shim_template.empty()) {
    return std::unexpected(sentence("this program was built without the shim"));
  }
  auto driver = find_driver({.library_path = value_in(question.environment, "LD_LIBRARY_PATH"),
                             .working_directory = question.working_directory,
                             .root = question.root});
  if (!driver) return std::unexpected(std::move(driver).error());
  const auto image = make_guard_image(question.shim_template, driver->object, driver->path,
                                      dlopen_is_in_libdl(question.glibc));
  if (!image) {
    return std::unexpected(sentence("no shim fits {}: {}", driver->path, image.error().said()));
  }
  auto shim = place_image(question, *image);
  if (!shim) return shim;
  shim->driver = driver->path;
  shim->driver_build_id = driver->object.build_id;
  const Preloads preloads = preloads_in(value_in(question.environment, "LD_PRELOAD"));
  if (!preloads.users.empty()) {
    shim->said.push_back(sentence("LD_PRELOAD has what you chose first, then the shim: {}",
                                  joined(preloads.users, ":")));
  }
  return shim;
}

std::vector<Variable> shim_variables(const std::vector<std::string>& environment, const Shim& shim,
                                     const std::string& account_file) {
  Preloads preloads = preloads_in(value_in(environment, "LD_PRELOAD"));
  preloads.users.push_back(shim.preload);
  std::vector<std::string> folders = {shim.folder};
  // An empty entry is the working directory: none is added, those of the user stay.
  if (const std::string list = value_in(environment, "LD_LIBRARY_PATH"); !list.empty()) {
    for (const std::string_view folder : split(list, ':')) {
      if (std::ranges::find(preloads.our_folders, folder) == preloads.our_folders.end()) {
        folders.emplace_back(folder);
      }
    }
  }
  std::vector<Variable> set = {{"LD_PRELOAD", joined(preloads.users, ":")},
                               {"LD_LIBRARY_PATH", joined(folders, ":")},
                               {"BERTH_GUARD_ACCOUNT", account_file}};
  // A program built with AddressSanitizer ends where anything was loaded before its library.
  const std::string others = value_in(environment, "ASAN_OPTIONS");
  constexpr std::string_view order = "verify_asan_link_order";
  if (others.find(order) == others.npos) {
    set.emplace_back("ASAN_OPTIONS",
                     fmt::format("{}=0{}{}", order, others.empty() ? "" : ":", others));
  }
  return set;
}

}  // namespace berth
