#include "record/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/text.h"
#include "snapshot/json_number.h"

namespace berth {

namespace {

// A broken disk may leave anything in the file: no line of it may cost more than this.
constexpr std::size_t longest_line = 4 << 20;
constexpr std::size_t most_devices = 4096;

template <class T>
void write_reading(std::string& line, const Reading<T>& reading) {
  if (!reading.get()) {
    fmt::format_to(std::back_inserter(line), "\"{}\"", name_of(reading.why()));
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    fmt::format_to(std::back_inserter(line), "{}", *reading.get());
  } else {
    fmt::format_to(std::back_inserter(line), "{}", reading.get()->count());
  }
}

template <class T>
Reading<T> read_reading(const nlohmann::json& cell) {
  if (cell.is_string()) {
    return absent_from_name(cell.get_ref<const std::string&>()).value_or(Absent::failed);
  }
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    const auto number = number_in<T>(cell);
    return number ? Reading<T>(*number) : Absent::failed;
  } else {
    const auto number = number_in<typename T::rep>(cell);
    return number ? Reading<T>(T(*number)) : Absent::failed;
  }
}

/// What is thrown, inside this file only, at a line that is no sample.
struct Torn {};

template <class T>
T number(const nlohmann::json& cell) {
  if (const auto number = number_in<T>(cell)) return *number;
  throw Torn{};
}

/// One reading of DeviceSample: its name in the header line, how it is filled, written and read.
struct Column {
  std::string_view name;
  void (*fill)(DeviceSample&, const Device&);
  void (*write)(std::string&, const DeviceSample&);
  void (*read)(DeviceSample&, const nlohmann::json&);
};

template <auto in_sample, auto in_device>
constexpr Column column(std::string_view name) {
  using Value =
      typename std::remove_cvref_t<decltype(std::declval<DeviceSample>().*in_sample)>::value_type;
  return {
      name,
      [](DeviceSample& sample, const Device& device) { sample.*in_sample = device.*in_device; },
      [](std::string& line, const DeviceSample& sample) { write_reading(line, sample.*in_sample); },
      [](DeviceSample& sample, const nlohmann::json& cell) {
        sample.*in_sample = read_reading<Value>(cell);
      }};
}

// The names are those of the field table (snapshot/fields.cc).
constexpr std::array columns = {
    column<&DeviceSample::utilization_gpu, &Device::utilization_gpu>("utilization_gpu_percent"),
    column<&DeviceSample::utilization_memory, &Device::utilization_memory>(
        "utilization_memory_percent"),
    column<&DeviceSample::memory_used, &Device::memory_used>("memory_used_bytes"),
    column<&DeviceSample::power_draw, &Device::power_draw>("power_draw_milliwatts"),
    column<&DeviceSample::temperature, &Device::temperature>("temperature_celsius"),
    column<&DeviceSample::clock_sm, &Device::clock_sm>("clock_sm_megahertz"),
    column<&DeviceSample::clock_memory, &Device::clock_memory>("clock_memory_megahertz"),
    column<&DeviceSample::pcie_sent, &Device::pcie_sent>("pcie_sent_bytes"),
    column<&DeviceSample::pcie_received, &Device::pcie_received>("pcie_received_bytes"),
    column<&DeviceSample::energy, &Device::energy>("energy_millijoules"),
};

DeviceSample device_from_row(const nlohmann::json& row, const std::vector<std::string>& names) {
  DeviceSample device;
  for (std::size_t at = 0; at < names.size() && at < row.size(); ++at) {
    const auto* found = std::find_if(columns.begin(), columns.end(),
                                     [&](const Column& one) { return one.name == names[at]; });
    if (found != columns.end()) found->read(device, row[at]);
  }
  return device;
}

/// Of a row without them (an older record, a device that nobody else is on) there are none.
std::vector<OthersSample> others_from_row(const nlohmann::json& row) {
  constexpr std::size_t most = 4096;
  constexpr std::size_t longest_user = 256;
  std::vector<OthersSample> others;
  if (!row.contains("o")) return others;
  for (const nlohmann::json& one : row.at("o")) {
    if (others.size() >= most) throw Torn{};
    others.push_back({.device = number<std::uint64_t>(one.at(0)),
                      .user = one.at(1).get<std::string>().substr(0, longest_user),
                      .memory = read_reading<Bytes>(one.at(2))});
  }
  return others;
}

void write_others(std::string& line, const std::vector<OthersSample>& others) {
  if (others.empty()) return;  // the usual case costs nothing
  line += R"(,"o":[)";
  for (const OthersSample& one : others) {
    if (&one != others.data()) line += ',';
    const std::string user =
        nlohmann::json(one.user).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    fmt::format_to(std::back_inserter(line), "[{},{},", one.device, user);
    write_reading(line, one.memory);
    line += ']';
  }
  line += ']';
}

Sample sample_from_json(const nlohmann::json& row, const std::vector<std::string>& names) {
  Sample sample;
  sample.at = {number<std::int64_t>(row.at("t"))};
  if (row.at("d").size() > most_devices) throw Torn{};
  for (const nlohmann::json& device : row.at("d"))
    sample.devices.push_back(device_from_row(device, names));
  for (const nlohmann::json& process : row.at("p")) {
    sample.processes.push_back({.device = number<std::uint64_t>(process.at(0)),
                                .pid = number<pid_t>(process.at(1)),
                                .memory = read_reading<Bytes>(process.at(2))});
  }
  sample.others = others_from_row(row);
  const nlohmann::json& tree = row.at("tree");
  sample.tree.processes = number<std::uint64_t>(tree.at(0));
  sample.tree.cpu = Milliseconds(number<std::int64_t>(tree.at(1)));
  sample.tree.memory_resident = Bytes(number<std::uint64_t>(tree.at(2)));
  sample.tree.read = read_reading<Bytes>(tree.at(3));
  sample.tree.written = read_reading<Bytes>(tree.at(4));
  sample.tree.device_files_open = read_reading<std::uint64_t>(tree.at(5));
  // An older record, or a run with a device, has none.
  if (tree.size() > 6) sample.tree.gpu_contexts = read_reading<std::uint64_t>(tree.at(6));
  sample.marks_bytes = number<std::uint64_t>(row.at("marks"));
  return sample;
}

}  // namespace

DeviceSample sample_of(const Device& device) {
  DeviceSample sample;
  for (const Column& one : columns) one.fill(sample, device);
  return sample;
}

std::string samples_header() {
  std::string line = R"({"format":"berth-samples","version":1,"device_columns":[)";
  for (const Column& one : columns) {
    if (&one != columns.data()) line += ',';
    fmt::format_to(std::back_inserter(line), "\"{}\"", one.name);
  }
  return line + "]}\n";
}

std::string to_line(const Sample& sample) {
  std::string line;
  const auto out = std::back_inserter(line);
  fmt::format_to(out, R"({{"t":{},"d":[)", sample.at.unix_ms);
  for (const DeviceSample& device : sample.devices) {
    if (&device != sample.devices.data()) line += ',';
    line += '[';
    for (const Column& one : columns) {
      if (&one != columns.data()) line += ',';
      one.write(line, device);
    }
    line += ']';
  }
  line += R"(],"p":[)";
  for (const ProcessSample& process : sample.processes) {
    if (&process != sample.processes.data()) line += ',';
    fmt::format_to(out, "[{},{},", process.device, process.pid);
    write_reading(line, process.memory);
    line += ']';
  }
  line += ']';
  write_others(line, sample.others);
  fmt::format_to(out, R"(,"tree":[{},{},{},)", sample.tree.processes, sample.tree.cpu.count(),
                 sample.tree.memory_resident.count());
  write_reading(line, sample.tree.read);
  line += ',';
  write_reading(line, sample.tree.written);
  line += ',';
  write_reading(line, sample.tree.device_files_open);
  if (sample.tree.gpu_contexts != Reading<std::uint64_t>(Absent::not_sampled)) {
    line += ',';
    write_reading(line, sample.tree.gpu_contexts);
  }
  fmt::format_to(out, R"(],"marks":{}}})", sample.marks_bytes);
  return line + "\n";
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
  if (nesting_depth(line) > 10) {
    ++torn_;
    return;
  }
  try {
    const nlohmann::json row = nlohmann::json::parse(line);
    if (row.contains("device_columns")) {  // once per sampler: a restarted one writes it again
      columns_ = row.at("device_columns").get<std::vector<std::string>>();
      return;
    }
    each(sample_from_json(row, columns_));
  } catch (const nlohmann::json::exception&) {
    ++torn_;
  } catch (const Torn&) {
    ++torn_;
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
