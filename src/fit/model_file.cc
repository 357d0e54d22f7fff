#include "fit/model_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "fit/safetensors.h"

namespace berth {

namespace {

constexpr std::size_t longest_config = 4 << 20;
constexpr std::size_t longest_index = 64 << 20;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

/// A regular file's descriptor and size; a FIFO somebody put there is not waited for.
Result<std::pair<Fd, std::uint64_t>> open_regular(const std::string& path) {
  auto file = open_fd(path, O_RDONLY | O_NONBLOCK);
  if (!file) return std::unexpected(std::move(file).error());
  struct stat status{};
  if (::fstat(file->get(), &status) != 0) return fail_system(errno, "stat {}", path);
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::invalid, "{} is no ordinary file", printable(path));
  }
  return std::pair(std::move(*file), static_cast<std::uint64_t>(status.st_size));
}

Result<std::string> read_start(int fd, std::uint64_t offset, std::uint64_t length,
                               const std::string& path) {
  std::string bytes(length, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got =
        ::pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_system(errno, "read {}", path);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

Result<std::string> read_whole(const std::string& path, std::size_t limit) {
  auto file = open_regular(path);
  if (!file) return std::unexpected(std::move(file).error());
  if (file->second > limit) {
    return fail(ErrorCode::invalid, "{} is too large to be what it is named", printable(path));
  }
  return read_start(file->first.get(), 0, file->second, path);
}

Result<StoredTensors> read_tensors(const std::string& path) {
  auto file = open_regular(path);
  if (!file) return std::unexpected(std::move(file).error());
  const auto& [fd, size] = *file;
  const auto first = read_start(fd.get(), 0, std::min<std::uint64_t>(size, 8), path);
  if (!first) return std::unexpected(first.error());
  auto length = safetensors_header_length(*first, size);
  if (!length) return std::unexpected(std::move(length).error().at(printable(path)));
  const auto header = read_start(fd.get(), 8, *length, path);
  if (!header) return std::unexpected(header.error());
  auto tensors = parse_safetensors_header(*header, size - 8 - *length);
  if (!tensors) return std::unexpected(std::move(tensors).error().at(printable(path)));
  return tensors;
}

Result<StoredTensors> read_all_tensors(const std::string& folder,
                                       const std::vector<std::string>& names) {
  StoredTensors all;
  for (const std::string& name : names) {
    auto one = read_tensors(folder + "/" + name);
    if (!one) return one;
    if (!all.add(*one)) {
      return fail(ErrorCode::invalid, "{}: its sizes are those of no model", printable(name));
    }
  }
  return all;
}

Result<StoredTensors> read_index(const std::string& path) {
  const auto text = read_whole(path, longest_index);
  if (!text) return std::unexpected(text.error());
  auto names = parse_safetensors_index(*text);
  if (!names) return std::unexpected(std::move(names).error().at(printable(path)));
  // Without its files, the index still says what they take; how many weights that is it does not.
  const bool any_here = std::ranges::any_of(*names, [&](const std::string& name) {
    return ::access((folder_of(path) + "/" + name).c_str(), F_OK) == 0;
  });
  if (const auto total = total_size_in_index(*text); total && !any_here) {
    return StoredTensors{.bytes = *total, .packed = true};
  }
  return read_all_tensors(folder_of(path), *names);
}

Result<Model> read_config(const std::string& path) {
  const auto text = read_whole(path, longest_config);
  if (!text) return std::unexpected(text.error());
  auto model = parse_model_config(*text);
  if (!model) return std::unexpected(std::move(model).error().at(printable(path)));
  return model;
}

Model model_of_tensors(const StoredTensors& tensors, const std::string& folder) {
  const auto count = tensors.parameters();
  // The config beside them knows the shape; where it does not, the nearest known model's is used.
  Model model = count ? model_of_size(std::max<std::uint64_t>(*count, 1)) : Model{};
  if (const auto config = read_config(folder + "/config.json")) model = *config;
  if (count) model.parameters = count;
  model.stored_bytes = tensors.bytes;
  if (!tensors.bytes_of_type.empty()) model.stored_as = tensors.prevailing();
  return model;
}

Result<Model> read_folder(const std::string& path) {
  const auto names = list_directory(path);
  if (!names) return std::unexpected(names.error());
  std::vector<std::string> weights;
  for (const std::string& name : *names) {
    const bool is_index = name.ends_with(".safetensors.index.json");
    if (is_index) {
      const auto tensors = read_index(path + "/" + name);
      if (!tensors) return std::unexpected(tensors.error());
      return model_of_tensors(*tensors, path);
    }
    if (name.ends_with(".safetensors")) weights.push_back(name);
  }
  if (weights.empty()) return read_config(path + "/config.json");
  const auto tensors = read_all_tensors(path, weights);
  if (!tensors) return std::unexpected(tensors.error());
  return model_of_tensors(*tensors, path);
}

}  // namespace

bool names_a_file(const std::string& word) {
  struct stat status{};
  return word.find('/') != std::string::npos || word.ends_with(".json") ||
         word.ends_with(".safetensors") || ::stat(word.c_str(), &status) == 0;
}

Result<Model> read_model(const std::string& path) {
  Result<Model> model = fail(ErrorCode::invalid, "");
  if (is_directory(path)) {
    model = read_folder(path);
  } else if (path.ends_with(".safetensors.index.json")) {
    const auto tensors = read_index(path);
    if (!tensors) return std::unexpected(tensors.error());
    model = model_of_tensors(*tensors, folder_of(path));
  } else if (path.ends_with(".safetensors")) {
    const auto tensors = read_tensors(path);
    if (!tensors) return std::unexpected(tensors.error());
    model = model_of_tensors(*tensors, folder_of(path));
  } else {
    model = read_config(path);
  }
  if (model) model->name = path;
  return model;
}

}  // namespace berth
