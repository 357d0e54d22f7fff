#include "record/sample.h"

#include "base/json_archive.h"

namespace berth {

namespace {

// A broken disk may leave anything in the file: no line of it may cost more than this.
constexpr std::size_t longest_line = 4 << 20;
constexpr std::size_t most_devices = 4096;

const std::vector<std::string>& column_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const RecordedReading& one : recorded_readings) all.emplace_back(one.key);
    return all;
  }();
  return names;
}

}  // namespace

// Found by the namespace of what they put, hence not in the nameless one.
static void put(Archive& archive, ProcessSample& process) {
  put_row(archive, 3, process.device, process.pid, process.memory);
}

static void put(Archive& archive, OthersSample& others) {
  constexpr std::size_t longest_user = 256;
  put_row(archive, 3, others.device, others.user, others.memory);
  if (archive.is_reading() && others.user.size() > longest_user) others.user.resize(longest_user);
}

static void put(Archive& archive, TreeSample& tree) {
  const auto put_with = [&](auto&... last) {
    put_row(archive, 6, tree.processes, tree.cpu, tree.memory_resident, tree.read, tree.written,
            tree.device_files_open, last...);
  };
  // An older record, or a run with a device, has none.
  const bool has_contexts = tree.gpu_contexts != Reading<std::uint64_t>(Absent::not_sampled);
  archive.is_reading() || has_contexts ? put_with(tree.gpu_contexts) : put_with();
}

/// A device's row is in the columns of its writer.
static void walk(Archive& archive, Sample& sample, const std::vector<std::string>& names) {
  constexpr std::size_t most_others = 4096;
  archive.member("t", sample.at, Form::required);
  if (archive.open("d", true, Form::required, nullptr)) {
    put_list(archive, sample.devices, most_devices + 1, [&](DeviceSample& device) {
      const std::size_t count = archive.begin_list(names.size());
      for (std::size_t at = 0; at < count && archive.is_good(); ++at) {
        archive.next_item();
        const std::size_t place = place_of_recorded(names[at]);
        if (place < recorded_readings.size()) recorded_readings[place].put(archive, device);
      }
      archive.end_list();
    });
    archive.close();
  }
  if (sample.devices.size() > most_devices) archive.mistake(sentence("it has too many devices"));
  archive.member("p", sample.processes, Form::required);
  archive.member("o", sample.others, most_others, Form::sparse);
  archive.member("tree", sample.tree, Form::required);
  archive.member("marks", sample.marks_bytes, Form::required);
}

std::string samples_header() {
  return write_json(JsonLayout::compact,
                    [](Archive& archive) {
                      archive.derived("format", std::string_view("berth-samples"));
                      archive.derived("version", 1);
                      archive.derived("device_columns", column_names());
                    }) +
         "\n";
}

std::string to_line(const Sample& sample) {
  return write_json(JsonLayout::terse,
                    [&](Archive& archive) {  // an archive that writes changes nothing
                      walk(archive, const_cast<Sample&>(sample), column_names());
                    }) +
         "\n";
}

void SampleReader::feed(std::string_view bytes, const std::function<void(const Sample&)>& each) {
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    keep(bytes.substr(0, end));
    read_line(rest_, each);
    rest_.clear();
    too_long_ = false;
    bytes.remove_prefix(end + 1);
  }
  keep(bytes);
}

void SampleReader::keep(std::string_view piece) {
  too_long_ = too_long_ || rest_.size() + piece.size() > longest_line;
  if (too_long_) {
    rest_ = "-";  // no sample: counted as torn
  } else {
    rest_ += piece;
  }
}

void SampleReader::read_line(std::string_view line,
                             const std::function<void(const Sample&)>& each) {
  if (line.empty()) return;
  Sample sample;
  std::optional<std::vector<std::string>> columns;
  const auto walk_line = [&](Archive& archive) {
    archive.member("device_columns", columns);
    if (!columns) walk(archive, sample, columns_);
  };
  if (!read_json(line, walk_line, WrongValues::absent)) {
    ++torn_;
  } else if (columns) {  // once per sampler: a restarted one writes it again
    columns_ = *std::move(columns);
  } else {
    each(sample);
  }
}

void ThinnedSamples::add(const Sample& sample) {
  const bool is_kept = seen_++ % stride_ == 0;
  newest_.reset();
  if (!is_kept) {
    newest_ = sample;
    return;
  }
  kept_.push_back(sample);
  if (kept_.size() < most) return;
  // The last one, where it is not among those that stay, is still the newest.
  if (kept_.size() % 2 == 0) newest_ = kept_.back();
  for (std::size_t i = 1; 2 * i < kept_.size(); ++i) kept_[i] = std::move(kept_[2 * i]);
  kept_.resize((kept_.size() + 1) / 2);
  stride_ *= 2;
}

std::vector<Sample> ThinnedSamples::take() && {
  if (newest_) kept_.push_back(std::move(*newest_));
  return std::move(kept_);
}

}  // namespace berth
