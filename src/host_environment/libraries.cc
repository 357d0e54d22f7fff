#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/fd.h"
#include "base/loader.h"
#include "base/process.h"
#include "base/text.h"
#include "host_environment/machine_side.h"

namespace berth {

namespace {

constexpr std::string_view wanted[] = {"libcudart", "libcublas", "libcudnn",
                                       "libnccl",   "libcuda",   "libnvidia-ml"};

/// Those in one folder, each under its longest name (the file itself, not the links to it).
void add_from(const std::string& folder, std::string_view via, const std::string& root,
              std::vector<FoundLibrary>& found) {
  const auto names = list_directory(root + folder);
  if (!names) return;
  for (const std::string_view library : wanted) {
    const std::string beginning = std::string(library) + ".so";
    std::string best;
    for (const std::string& name : *names) {
      const bool fits = name == beginning || name.starts_with(beginning + ".");
      if (fits && name.size() > best.size()) best = name;
    }
    if (best.empty()) continue;
    const std::string version =
        best.size() > beginning.size() ? best.substr(beginning.size() + 1) : "";
    found.push_back({std::string(library), folder + "/" + best, version, std::string(via)});
    std::error_code unknown;
    if (!std::filesystem::is_symlink(root + folder + "/" + best, unknown)) continue;
    const auto real = std::filesystem::canonical(root + folder + "/" + best, unknown).string();
    if (!unknown && real.starts_with(root)) found.back().behind = real.substr(root.size());
  }
}

/// Folders in which the loader finds any of the wanted, each once whatever its names.
std::vector<std::string> loader_folders(const std::string& root) {
  std::vector<std::string> all;
  for (const auto& [name, path] : loader_cache(root)) {
    const bool is_wanted = std::ranges::any_of(wanted, [&](std::string_view library) {
      return name.starts_with(library) && name.substr(library.size()).starts_with(".so");
    });
    if (is_wanted) all.push_back(path.substr(0, path.rfind('/')));
  }
  std::ranges::copy(default_loader_folders(), std::back_inserter(all));
  std::vector<std::string> folders;
  std::vector<std::string> real;
  for (const std::string& folder : all) {
    std::error_code absent;
    const auto one = std::filesystem::canonical(root + folder, absent).string();
    if (absent || std::ranges::find(real, one) != real.end()) continue;
    real.push_back(one);
    folders.push_back(folder);
  }
  return folders;
}

/// The toolkit's version: "version" behind "cuda" in version.json, else "CUDA Version 11.0.3" in
/// version.txt, else the number in the folder's name.
std::optional<TwoPart> toolkit_version(const std::string& folder, const std::string& root) {
  if (const auto text = read_file(root + folder + "/version.json", 1 << 16)) {
    std::size_t at = text->find("\"cuda\"");
    at = at == text->npos ? at : text->find("\"version\"", at);
    at = at == text->npos ? at : text->find_first_of("0123456789", at);
    if (at != text->npos) return two_part(std::string_view(*text).substr(at));
  }
  if (const auto text = read_file(root + folder + "/version.txt", 4096)) {
    constexpr std::string_view words = "CUDA Version ";
    if (text->starts_with(words)) return two_part(std::string_view(*text).substr(words.size()));
  }
  const std::size_t at = folder.find("cuda-");
  return at == folder.npos ? std::nullopt : two_part(std::string_view(folder).substr(at + 5));
}

void find_toolkit(const std::string& root, const std::string& search_path, Libraries& libraries) {
  std::error_code unknown;
  if (is_there(root + "/usr/local/cuda")) {
    libraries.toolkit = "/usr/local/cuda";
    const auto real = std::filesystem::canonical(root + "/usr/local/cuda", unknown).string();
    if (!unknown && real.starts_with(root)) libraries.toolkit = real.substr(root.size());
  }
  if (!libraries.toolkit.empty()) {
    libraries.toolkit_version = toolkit_version(libraries.toolkit, root);
  }
  auto nvcc = find_executable("nvcc", search_path);
  libraries.nvcc_in_path = nvcc.has_value();
  if (!nvcc && is_there(root + libraries.toolkit + "/bin/nvcc") && !libraries.toolkit.empty()) {
    nvcc = root + libraries.toolkit + "/bin/nvcc";
  }
  if (!nvcc) return;
  libraries.nvcc = *nvcc;
  const std::string real = std::filesystem::canonical(*nvcc, unknown).string();
  const std::string bin = real.substr(0, real.rfind('/'));
  if (unknown || bin.size() < 4) return;
  std::string folder = bin.substr(0, bin.rfind('/'));
  if (folder.starts_with(root)) folder = folder.substr(root.size());
  libraries.nvcc_version = toolkit_version(folder, root);
}

/// One word of LD_PRELOAD. A word without a slash is looked for like any library.
void note_preloaded(const std::string& word, Libraries& libraries) {
  // The shim of the run that we are in (guard/shim_files.h).
  if (word.ends_with("/berth-shim.so") || word.ends_with("/$LIB/libcuda.so.1")) return;
  const std::string file = word.substr(word.rfind('/') + 1);
  if (file.size() != word.size() && !is_there(word)) {
    libraries.preload_missing.push_back(word);
    return;
  }
  std::error_code unknown;
  const std::string real = std::filesystem::canonical(word, unknown).filename().string();
  for (const std::string_view library : wanted) {
    const std::string beginning = std::string(library) + ".so";
    if (file != beginning && !file.starts_with(beginning + ".")) continue;
    // Of the file behind its links.
    const bool says = !unknown && real.starts_with(beginning + ".");
    libraries.preloaded.push_back(
        {std::string(library), word, says ? real.substr(beginning.size() + 1) : "", "LD_PRELOAD"});
  }
}

}  // namespace

CudaHome gather_cuda_home(const std::string& variable, const std::string& folder) {
  CudaHome home{.variable = variable, .folder = folder, .is_there = is_there(folder)};
  std::error_code unknown;
  const std::string real = std::filesystem::canonical(folder, unknown).string();
  if (home.is_there && !unknown) home.version = toolkit_version(real, "");
  return home;
}

Libraries gather_libraries(const std::string& root, const std::vector<std::string>& library_path,
                           const std::string& search_path, const std::string& preload) {
  Libraries libraries;
  for (const std::string& folder : library_path) {
    add_from(folder, "LD_LIBRARY_PATH", "", libraries.found);
  }
  for (const std::string& folder : loader_folders(root)) {
    add_from(folder, "loader", root, libraries.found);
  }
  find_toolkit(root, search_path, libraries);
  if (!libraries.toolkit.empty()) {
    add_from(libraries.toolkit + "/lib64", "/usr/local/cuda", root, libraries.found);
  }
  std::string words = preload;
  std::ranges::replace(words, ' ', ':');
  for (const std::string_view word : split(words, ':')) {
    note_preloaded(std::string(word), libraries);
  }
  return libraries;
}

}  // namespace berth
