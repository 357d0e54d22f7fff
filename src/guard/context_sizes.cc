#include "guard/context_sizes.h"

#include "base/fd.h"
#include "base/json_archive.h"

namespace berth {

namespace {

constexpr int format_version = 1;
constexpr std::size_t most_sizes = 32;
constexpr std::size_t longest_file = 64 << 10;
/// What is measured beyond it is memory of the program, which something has hidden from the shim.
constexpr Bytes largest_context{std::uint64_t{1} << 30};

std::string file_in(const std::string& state_directory) {
  return state_directory + "/contexts.json";
}

}  // namespace

// Found by the namespace of what it walks, hence not in the nameless one.
static void walk(Archive& archive, ContextSize& size) {
  archive.member("device", size.device, Form::required);
  archive.member("driver_version", size.driver_version, Form::required);
  archive.member("bytes", size.size, Form::required);
  if (archive.is_reading() && size.size > largest_context)
    archive.mistake(sentence("no context's size"));
}

static void walk(Archive& archive, std::vector<ContextSize>& sizes, int& version) {
  archive.member("berth_contexts", version, Form::required);
  archive.member("contexts", sizes, Form::required);
}

ContextSizes ContextSizes::load(const std::string& state_directory) {
  ContextSizes known;
  if (state_directory.empty()) return known;
  const auto text = read_file(file_in(state_directory), longest_file);
  if (!text) return known;
  int version = 0;
  const auto read =
      read_json(*text, [&](Archive& archive) { walk(archive, known.sizes_, version); });
  if (!read || version != format_version) known.sizes_.clear();
  return known;
}

std::optional<Bytes> ContextSizes::of(const Device& device,
                                      const Reading<std::string>& driver_version) const {
  for (const ContextSize& one : sizes_) {
    if (device.name.get() == one.device && driver_version.get() == one.driver_version) {
      return one.size;
    }
  }
  return std::nullopt;
}

bool ContextSizes::note(const Device& device, const Reading<std::string>& driver_version,
                        Bytes size) {
  const auto& name = device.name.get();
  const auto& driver = driver_version.get();
  if (!name || !driver || size == Bytes{0} || size > largest_context) return false;
  const auto known = of(device, driver_version);
  if (known && *known <= size) return false;
  std::erase_if(sizes_, [&](const ContextSize& one) {
    return one.device == *name && one.driver_version == *driver;
  });
  if (sizes_.size() >= most_sizes) sizes_.erase(sizes_.begin());
  sizes_.push_back({*name, *driver, size});
  return true;
}

Result<void> ContextSizes::save(const std::string& state_directory) const {
  int version = format_version;
  std::vector<ContextSize> sizes = sizes_;
  const std::string text =
      write_json(JsonLayout::narrow, [&](Archive& archive) { walk(archive, sizes, version); });
  return write_file_atomically(file_in(state_directory), text + "\n", 0600);
}

}  // namespace berth
