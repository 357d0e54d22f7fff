#include "probe/process/wire.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "snapshot/device_kind.h"
#include "snapshot/fields.h"

namespace berth::wire {

namespace {

constexpr std::size_t longest_message = 16 << 20;

/// Appends values to a message: thousands of a few bytes each within a look, so there is room
/// before it is needed.
class Out {
 public:
  explicit Out(std::string& to) : bytes_(to), length_(to.size()) {}
  Out(const Out&) = delete;
  Out& operator=(const Out&) = delete;
  ~Out() { bytes_.resize(length_); }
  template <class T>
    requires(std::is_arithmetic_v<T>)
  void walk(T& value) {
    put(&value, sizeof(T));
  }
  void walk(std::string& text) {
    size(text.size());
    put(text.data(), text.size());
  }
  std::size_t size(std::size_t count) {
    auto short_count = static_cast<std::uint32_t>(count);
    walk(short_count);
    return count;
  }
  static constexpr bool reading = false;

 private:
  void put(const void* from, std::size_t count) {
    constexpr std::size_t room = 256;
    if (bytes_.size() - length_ < count) bytes_.resize(length_ + count + room);
    std::memcpy(bytes_.data() + length_, from, count);
    length_ += count;
  }
  std::string& bytes_;
  std::size_t length_;
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
// Therefore they take what they walk as changeable; Out changes nothing.
template <class T>
T& changeable(const T& value) {
  return const_cast<T&>(value);
}

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
/// One member after the other. Finds walk() of each at the place of use, by the stream's namespace.
template <class Stream, class... Members>
void walk_all(Stream& stream, Members&... members) {
  (walk(stream, members), ...);
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
  walk_all(stream, id.pid, id.start_ticks);
}
template <class Stream>
void walk(Stream& stream, DeviceId& id) {
  if constexpr (Stream::reading) {
    std::string text;
    stream.walk(text);
    id = DeviceId(std::move(text));
  } else {
    stream.walk(changeable(id.text()));
  }
}
template <class Stream>
void walk(Stream& stream, MigPlace& place) {
  walk_all(stream, place.gpu_instance, place.compute_instance);
}
template <class Stream>
void walk(Stream& stream, UtilizationSample& sample) {
  walk_all(stream, sample.age, sample.busy);
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
template <class T>
void walk(Out& out, Reading<T>& reading) {
  bool there = reading.has_value();
  out.walk(there);
  Absent why = reading.why();
  if (!there) return walk_enum(out, why, Absent::not_sampled);
  walk(out, changeable(*reading.get()));
}
template <class T>
void walk(In& in, Reading<T>& reading) {
  std::optional<T> value;
  Absent why = Absent::failed;
  walk(in, value);
  if (!value) walk_enum(in, why, Absent::not_sampled);
  reading = value ? Reading<T>(std::move(*value)) : Reading<T>(why);
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

/// The device's stored fields by the field table, so that a new reading travels by itself; those
/// alone that somebody has taken.
constexpr std::uint16_t end_of_fields = 0xFFFF;
void walk_fields(Out& out, Device& device) {
  static const Snapshot nobody;  // stored fields are the device's own
  std::uint16_t which = 0;
  for (const Field* field : stored_fields()) {
    Cell cell = field->read(device, nobody);
    if (cell != Cell(Absent::not_sampled)) {
      out.walk(which);
      walk(out, cell);
    }
    ++which;
  }
  std::uint16_t end = end_of_fields;
  out.walk(end);
}
void walk_fields(In& in, Device& device) {
  while (in.good) {
    std::uint16_t which = end_of_fields;
    in.walk(which);
    if (which == end_of_fields) return;
    Cell cell;
    walk(in, cell);
    in.good =
        in.good && which < stored_fields().size() && stored_fields()[which]->write(device, cell);
  }
}

/// Sparse: most looks ask for no details at all.
void walk(Out& out, Details& details) {
  out.size(details.entries().size());
  for (const auto& entry : details.entries()) {
    auto which = static_cast<std::uint16_t>(entry.detail);
    out.walk(which);
    walk(out, changeable(entry.cell));
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
  walk_all(stream, process.pid, process.utilization_gpu, process.utilization_memory,
           process.memory_max, process.run_time, process.running);
}
template <class Stream>
void walk(Stream& stream, SupportedClocks& clocks) {
  walk_all(stream, clocks.memory, clocks.graphics);
}

template <class Stream>
void walk(Stream& stream, NvLink& link) {
  walk_all(stream, link.number, link.active, link.speed, link.remote);
}

constexpr std::int64_t oldest_ms = 1'000'000'000'000;

/// What holds of every device that a probe makes, and without which a snapshot cannot be replayed.
bool can_be(const Device& device) {
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
  walk_all(stream, device.parent, device.mig, device.index, device.unusable_because, device.lost);
  walk_fields(stream, device);
  walk_all(stream, device.utilization_history, device.details);
  walk_all(stream, device.lists.retired_pages, device.lists.accounted_processes,
           device.lists.supported_clocks, device.lists.nvlinks);
  if constexpr (Stream::reading) stream.good = stream.good && can_be(device);
}
template <class Stream>
void walk(Stream& stream, GpuProcess& process) {
  walk_all(stream, process.device, process.pid);
  walk_enum(stream, process.use, GpuUse::mps);
  walk_all(stream, process.memory, process.utilization_sm, process.utilization_memory,
           process.utilization_encoder, process.utilization_decoder, process.utilization_jpeg,
           process.utilization_optical_flow, process.mig);
}
template <class Stream>
void walk(Stream& stream, Enclosure& enclosure) {
  walk_all(stream, enclosure.runtime, enclosure.id, enclosure.pod_uid, enclosure.owner_uid,
           enclosure.name, enclosure.image);
}
template <class Stream>
void walk(Stream& stream, HostProcess& process) {
  walk_all(stream, process.id, process.ancestors, process.uid, process.user, process.command,
           process.executable_name, process.started, process.cpu_time, process.read,
           process.memory_resident, process.state, process.container, process.enclosure,
           process.stuck);
}
template <class Stream>
void walk(Stream& stream, DeviceFileHolder& holder) {
  walk_all(stream, holder.pid, holder.minor);
}
template <class Stream>
void walk(Stream& stream, DeviceFiles& files) {
  walk_all(stream, files.holders, files.unreadable);
}
template <class Stream>
void walk(Stream& stream, XidEvent& event) {
  walk_all(stream, event.pci_address, event.code, event.at, event.pid, event.process, event.text);
}
template <class Stream>
void walk(Stream& stream, XidEvents& xids) {
  walk_all(stream, xids.events, xids.driver_loaded);
}
template <class Stream>
void walk(Stream& stream, DriverEvents& told) {
  walk(stream, told.events);
}
template <class Stream>
void walk(Stream& stream, ExcludedDevice& excluded) {
  walk_all(stream, excluded.pci_address, excluded.uuid);
}
template <class Stream>
void walk(Stream& stream, Host& host) {
  walk_all(stream, host.name, host.kernel, host.boot_id, host.driver_version, host.nvml_version,
           host.cuda_version_supported, host.process_view, host.excluded_devices);
}
template <class Stream>
void walk(Stream& stream, Problem& problem) {
  walk_all(stream, problem.source, problem.device, problem.code, problem.message, problem.remedy);
}
template <class Stream>
void walk(Stream& stream, SourceReport& report) {
  walk_all(stream, report.source, report.succeeded);
}
template <class Stream>
void walk(Stream& stream, Step& step) {
  walk_enum(stream, step.kind, StepKind::nvml_events);
  walk(stream, step.number);
}
template <class Stream>
void walk(Stream& stream, OpenFiles& files) {
  walk(stream, files.found);
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
  walk_all(stream, identified.index, identified.device);
}
template <class Stream>
void walk(Stream& stream, CommandOf& command) {
  walk_all(stream, command.pid, command.command);
}
template <class Stream>
void walk(Stream& stream, EnclosureNames& names) {
  walk_all(stream, names.runtime, names.id, names.name, names.image);
}
template <class Stream>
void walk(Stream& stream, UserName& user) {
  walk_all(stream, user.uid, user.name);
}
template <class Stream>
void walk(Stream&, Done&) {}
template <class Stream>
void walk(Stream&, GoesOn&) {}

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
  {
    Out out(bytes);
    auto which = static_cast<std::uint8_t>(message.index());
    out.walk(which);
    std::visit([&](auto& inner) { walk(out, inner); }, changeable(message));
  }
  const auto length = static_cast<std::uint32_t>(bytes.size() - begin - sizeof(std::uint32_t));
  std::memcpy(bytes.data() + begin, &length, sizeof(length));
}

namespace {

bool decode_into(std::string_view body, Message& message) {
  In in(body);
  std::uint8_t which = 0;
  in.walk(which);
  return in.good && read_message(in, which, message);
}

}  // namespace

std::optional<Message> decode(std::string_view body) {
  Message message;
  if (!decode_into(body, message)) return std::nullopt;
  return message;
}

bool Unpacker::next(Message& message) {
  std::uint32_t length = 0;
  if (broken_ || bytes_.size() - at_ < sizeof(length)) return false;
  std::memcpy(&length, bytes_.data() + at_, sizeof(length));
  broken_ = length > longest_message;
  if (broken_ || bytes_.size() - at_ - sizeof(length) < length) return false;
  broken_ = !decode_into(std::string_view(bytes_).substr(at_ + sizeof(length), length), message);
  at_ += sizeof(length) + length;
  if (at_ == bytes_.size()) {
    bytes_.clear();
    at_ = 0;
  }
  return !broken_;
}

}  // namespace berth::wire
