#include "probe/process/wire.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "snapshot/device_kind.h"
#include "snapshot/fields.h"

namespace berth::wire {

namespace {

constexpr std::size_t longest_message = 16 << 20;

/// Appends values to a message.
class Out {
 public:
  explicit Out(std::string& to) : bytes(to) {}
  template <class T>
    requires(std::is_arithmetic_v<T>)
  void walk(T& value) {
    std::array<char, sizeof(T)> raw{};
    std::memcpy(raw.data(), &value, sizeof(T));
    bytes.append(raw.data(), raw.size());
  }
  void walk(std::string& text) {
    size(text.size());
    bytes.append(text);
  }
  std::size_t size(std::size_t count) {
    auto short_count = static_cast<std::uint32_t>(count);
    walk(short_count);
    return count;
  }
  static constexpr bool reading = false;
  std::string& bytes;
};

/// Takes values from a message; after the first mistake everything is empty and `good` false.
class In {
 public:
  explicit In(std::string_view from) : rest(from) {}
  template <class T>
    requires(std::is_arithmetic_v<T>)
  void walk(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t raw = 0;
      walk(raw);
      good = good && raw <= 1;
      value = raw == 1;
    } else {
      good = good && rest.size() >= sizeof(T);
      if (!good) return;
      std::memcpy(&value, rest.data(), sizeof(T));
      rest.remove_prefix(sizeof(T));
    }
  }
  void walk(std::string& text) {
    const std::size_t length = size(0);
    if (!good) return;
    text.assign(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  /// A count of things that take at least a byte each.
  std::size_t size(std::size_t) {
    std::uint32_t count = 0;
    walk(count);
    good = good && count <= rest.size();
    return good ? count : 0;
  }
  static constexpr bool reading = true;
  std::string_view rest;
  bool good = true;
};

// One walk() per type, for both directions: what is written in one order is read in the same.

template <class Stream, class E>
void walk_enum(Stream& stream, E& value, E last) {
  auto raw = static_cast<std::uint8_t>(value);
  stream.walk(raw);
  if constexpr (Stream::reading) {
    stream.good = stream.good && raw <= static_cast<std::uint8_t>(last);
    if (stream.good) value = static_cast<E>(raw);
  }
}

template <class Stream, class T>
  requires(std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
void walk(Stream& stream, T& value) {
  stream.walk(value);
}
template <class Stream, class Tag, class Rep>
void walk(Stream& stream, Quantity<Tag, Rep>& quantity) {
  Rep count = quantity.count();
  stream.walk(count);
  quantity = Quantity<Tag, Rep>(count);
}
template <class Stream>
void walk(Stream& stream, WallTime& time) {
  stream.walk(time.unix_ms);
}
template <class Stream>
void walk(Stream& stream, ProcessId& id) {
  stream.walk(id.pid);
  stream.walk(id.start_ticks);
}
template <class Stream>
void walk(Stream& stream, DeviceId& id) {
  std::string text = id.text();
  stream.walk(text);
  id = DeviceId(std::move(text));
}
template <class Stream>
void walk(Stream& stream, MigPlace& place) {
  stream.walk(place.gpu_instance);
  stream.walk(place.compute_instance);
}
template <class Stream>
void walk(Stream& stream, UtilizationSample& sample) {
  walk(stream, sample.age);
  walk(stream, sample.busy);
}
template <class Stream, class T>
void walk(Stream& stream, std::vector<T>& list);
template <class Stream>
void walk(Stream& stream, Device& device);

template <class Stream, class T>
void walk(Stream& stream, std::optional<T>& value) {
  bool there = value.has_value();
  stream.walk(there);
  if constexpr (Stream::reading) {
    if (there) value.emplace();
  }
  if (there) walk(stream, *value);
}
template <class Stream, class T>
void walk(Stream& stream, Reading<T>& reading) {
  Absent why = reading.get() ? Absent::failed : reading.why();
  std::optional<T> value = reading.get();
  walk(stream, value);
  if (!value) walk_enum(stream, why, Absent::not_sampled);
  if constexpr (Stream::reading) {
    reading = value ? Reading<T>(std::move(*value)) : Reading<T>(why);
  }
}
template <class Stream, class T>
void walk(Stream& stream, std::vector<T>& list) {
  const std::size_t count = stream.size(list.size());
  if constexpr (Stream::reading) {
    for (std::size_t i = 0; i < count && stream.good; ++i) walk(stream, list.emplace_back());
  } else {
    for (T& item : list) walk(stream, item);
  }
}

void walk_alternative(Out& out, CellValue& value) {
  auto which = static_cast<std::uint8_t>(value.index());
  out.walk(which);
  std::visit([&](auto& inner) { out.walk(inner); }, value);
}
template <std::size_t I = 0>
void read_alternative(In& in, std::uint8_t which, CellValue& value) {
  if constexpr (I < std::variant_size_v<CellValue>) {
    if (which == I) {
      in.walk(value.emplace<I>());
    } else {
      read_alternative<I + 1>(in, which, value);
    }
  } else {
    in.good = false;
  }
}
void walk_alternative(In& in, CellValue& value) {
  std::uint8_t which = 0;
  in.walk(which);
  if (in.good) read_alternative(in, which, value);
}
template <class Stream>
void walk(Stream& stream, CellValue& value) {
  walk_alternative(stream, value);
}

/// The device's stored fields by the field table, so that a new reading travels by itself.
template <class Stream>
void walk_fields(Stream& stream, Device& device) {
  static const Snapshot nobody;  // stored fields are the device's own
  for (const Field& field : fields()) {
    if (field.write == nullptr || field.detail) continue;
    Cell cell = Stream::reading ? Cell() : field.read(device, nobody);
    walk(stream, cell);
    if constexpr (Stream::reading) {
      stream.good = stream.good && field.write(device, cell);
    }
  }
}

/// Sparse: most looks ask for no details at all.
void walk(Out& out, Details& details) {
  out.size(details.entries().size());
  for (const auto& entry : details.entries()) {
    auto which = static_cast<std::uint16_t>(entry.detail);
    Cell cell = entry.cell;
    out.walk(which);
    walk(out, cell);
  }
}
void walk(In& in, Details& details) {
  const std::size_t count = in.size(0);
  for (std::size_t i = 0; i < count && in.good; ++i) {
    std::uint16_t which = 0;
    Cell cell;
    in.walk(which);
    walk(in, cell);
    in.good = in.good && which < detail_count;
    if (in.good) details.put(static_cast<Detail>(which), std::move(cell));
  }
}
template <class Stream>
void walk(Stream& stream, RetiredPage& page) {
  walk(stream, page.address);
  walk_enum(stream, page.cause, RetiredPage::Cause::double_bit);
  walk(stream, page.retired);
}
template <class Stream>
void walk(Stream& stream, AccountedProcess& process) {
  walk(stream, process.pid);
  walk(stream, process.utilization_gpu);
  walk(stream, process.utilization_memory);
  walk(stream, process.memory_max);
  walk(stream, process.run_time);
  walk(stream, process.running);
}
template <class Stream>
void walk(Stream& stream, SupportedClocks& clocks) {
  walk(stream, clocks.memory);
  walk(stream, clocks.graphics);
}

template <class Stream>
void walk(Stream& stream, NvLink& link) {
  walk(stream, link.number);
  walk(stream, link.active);
  walk(stream, link.speed);
  walk(stream, link.remote);
}

/// What holds of every device that a probe makes, and without which a snapshot cannot be replayed.
bool can_be(const Device& device) {
  static constexpr std::int64_t oldest_ms = 1'000'000'000'000;
  const auto& history = device.utilization_history.get();
  return !device.id.text().empty() && device.index.value_or(0) >= 0 &&
         (!history || std::all_of(history->begin(), history->end(), [](const auto& sample) {
           return sample.age.count() >= 0 && sample.age.count() < oldest_ms &&
                  std::isfinite(sample.busy.count());
         }));
}

template <class Stream>
void walk(Stream& stream, Device& device) {
  walk(stream, device.id);
  walk_enum(stream, device.kind, DeviceKind::other);
  walk(stream, device.parent);
  walk(stream, device.mig);
  walk(stream, device.index);
  walk(stream, device.unusable_because);
  walk(stream, device.lost);
  walk_fields(stream, device);
  walk(stream, device.utilization_history);
  walk(stream, device.details);
  walk(stream, device.lists.retired_pages);
  walk(stream, device.lists.accounted_processes);
  walk(stream, device.lists.supported_clocks);
  walk(stream, device.lists.nvlinks);
  if constexpr (Stream::reading) stream.good = stream.good && can_be(device);
}
template <class Stream>
void walk(Stream& stream, GpuProcess& process) {
  walk(stream, process.device);
  walk(stream, process.pid);
  walk_enum(stream, process.use, GpuUse::mps);
  walk(stream, process.memory);
  walk(stream, process.utilization_sm);
  walk(stream, process.utilization_memory);
  walk(stream, process.utilization_encoder);
  walk(stream, process.utilization_decoder);
  walk(stream, process.utilization_jpeg);
  walk(stream, process.utilization_optical_flow);
  walk(stream, process.mig);
}
template <class Stream>
void walk(Stream& stream, Enclosure& enclosure) {
  walk(stream, enclosure.runtime);
  walk(stream, enclosure.id);
  walk(stream, enclosure.pod_uid);
  walk(stream, enclosure.owner_uid);
  walk(stream, enclosure.name);
  walk(stream, enclosure.image);
}
template <class Stream>
void walk(Stream& stream, HostProcess& process) {
  walk(stream, process.id);
  walk(stream, process.ancestors);
  walk(stream, process.uid);
  walk(stream, process.user);
  walk(stream, process.command);
  walk(stream, process.executable_name);
  walk(stream, process.started);
  walk(stream, process.cpu_time);
  walk(stream, process.memory_resident);
  walk(stream, process.state);
  walk(stream, process.container);
  walk(stream, process.enclosure);
}
template <class Stream>
void walk(Stream& stream, DeviceFileHolder& holder) {
  walk(stream, holder.pid);
  walk(stream, holder.minor);
}
template <class Stream>
void walk(Stream& stream, DeviceFiles& files) {
  walk(stream, files.holders);
  walk(stream, files.unreadable);
}
template <class Stream>
void walk(Stream& stream, XidEvent& event) {
  walk(stream, event.pci_address);
  walk(stream, event.code);
  walk(stream, event.at);
  walk(stream, event.pid);
  walk(stream, event.process);
  walk(stream, event.text);
}
template <class Stream>
void walk(Stream& stream, XidEvents& xids) {
  walk(stream, xids.events);
}
template <class Stream>
void walk(Stream& stream, ExcludedDevice& excluded) {
  walk(stream, excluded.pci_address);
  walk(stream, excluded.uuid);
}
template <class Stream>
void walk(Stream& stream, Host& host) {
  walk(stream, host.name);
  walk(stream, host.kernel);
  walk(stream, host.boot_id);
  walk(stream, host.driver_version);
  walk(stream, host.nvml_version);
  walk(stream, host.cuda_version_supported);
  walk(stream, host.process_view);
  walk(stream, host.excluded_devices);
}
template <class Stream>
void walk(Stream& stream, Problem& problem) {
  walk(stream, problem.source);
  walk(stream, problem.device);
  walk(stream, problem.code);
  walk(stream, problem.message);
  walk(stream, problem.remedy);
}
template <class Stream>
void walk(Stream& stream, SourceReport& report) {
  walk(stream, report.source);
  walk(stream, report.succeeded);
}
template <class Stream>
void walk(Stream& stream, Step& step) {
  walk_enum(stream, step.kind, StepKind::enclosure);
  walk(stream, step.number);
}
template <class Stream>
void walk(Stream& stream, Begun& begun) {
  walk(stream, begun.step);
}
template <class Stream>
void walk(Stream& stream, Finished& finished) {
  walk(stream, finished.step);
}
template <class Stream>
void walk(Stream& stream, DeviceCount& devices) {
  walk(stream, devices.count);
}
template <class Stream>
void walk(Stream& stream, Identified& identified) {
  walk(stream, identified.index);
  walk(stream, identified.device);
}
template <class Stream>
void walk(Stream& stream, CommandOf& command) {
  walk(stream, command.pid);
  walk(stream, command.command);
}
template <class Stream>
void walk(Stream& stream, EnclosureNames& names) {
  walk(stream, names.runtime);
  walk(stream, names.id);
  walk(stream, names.name);
  walk(stream, names.image);
}
template <class Stream>
void walk(Stream& stream, UserName& user) {
  walk(stream, user.uid);
  walk(stream, user.name);
}
template <class Stream>
void walk(Stream&, Done&) {}

template <std::size_t I = 0>
bool read_message(In& in, std::uint8_t which, Message& message) {
  if constexpr (I < std::variant_size_v<Message>) {
    if (which != I) return read_message<I + 1>(in, which, message);
    walk(in, message.emplace<I>());
    return in.good && in.rest.empty();
  } else {
    return false;
  }
}

}  // namespace

void append(std::string& bytes, const Message& message) {
  const std::size_t begin = bytes.size();
  bytes.append(sizeof(std::uint32_t), '\0');
  Out out(bytes);
  auto which = static_cast<std::uint8_t>(message.index());
  out.walk(which);
  // walk() serves both directions and so takes what it walks as changeable; Out changes nothing.
  std::visit([&](auto& inner) { walk(out, inner); }, const_cast<Message&>(message));
  const auto length = static_cast<std::uint32_t>(bytes.size() - begin - sizeof(std::uint32_t));
  std::memcpy(bytes.data() + begin, &length, sizeof(length));
}

std::optional<Message> decode(std::string_view body) {
  In in(body);
  std::uint8_t which = 0;
  in.walk(which);
  Message message;
  if (!in.good || !read_message(in, which, message)) return std::nullopt;
  return message;
}

std::optional<Message> Unpacker::next() {
  std::uint32_t length = 0;
  if (broken_ || bytes_.size() - at_ < sizeof(length)) return std::nullopt;
  std::memcpy(&length, bytes_.data() + at_, sizeof(length));
  broken_ = length > longest_message;
  if (broken_ || bytes_.size() - at_ - sizeof(length) < length) return std::nullopt;
  auto message = decode(std::string_view(bytes_).substr(at_ + sizeof(length), length));
  broken_ = !message;
  at_ += sizeof(length) + length;
  if (at_ == bytes_.size()) {
    bytes_.clear();
    at_ = 0;
  }
  return message;
}

}  // namespace berth::wire
