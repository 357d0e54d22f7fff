#include "probe/probe_process/wire.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <type_traits>
#include <utility>

#include "snapshot/walk.h"

namespace berth::wire {

namespace {

constexpr std::size_t longest_message = 16 << 20;

/// Appends values to a message: thousands of a few bytes each within a look, so there is room
/// before it is needed.
class Out final : public Archive {
 public:
  explicit Out(std::string& to) : bytes_(to), length_(to.size()) {}
  ~Out() override { bytes_.resize(length_); }
  [[nodiscard]] bool is_reading() const override { return false; }
  [[nodiscard]] bool is_text() const override { return false; }

  void scalar(bool& value) override { put(value); }
  void scalar(std::int64_t& value) override { put(value); }
  void scalar(std::uint64_t& value) override { put(value); }
  void scalar(double& value) override { put(value); }
  void scalar(std::string& value) override {
    begin_list(value.size());
    std::memcpy(room_for(value.size()), value.data(), value.size());
  }
  void scalar(Scalar& value) override {
    byte(value.index());
    std::visit([this](auto& one) { scalar(one); }, value);
  }
  bool open(std::string_view, bool there, Form form, Absent* why) override {
    if (may_be_absent(form)) scalar(there);
    if (!there && why != nullptr) byte(static_cast<std::size_t>(*why));
    return there;
  }
  bool has_value(bool there, Absent* why) override { return open({}, there, Form::nullable, why); }
  std::size_t begin_list(std::size_t count) override {
    put(static_cast<std::uint32_t>(count));
    return count;
  }
  void byte(std::size_t value) { put(static_cast<std::uint8_t>(value)); }

 private:
  /// The compiler knows the size: a call for each would take longer than the copy.
  template <class T>
  void put(T value) {
    std::memcpy(room_for(sizeof(value)), &value, sizeof(value));
  }
  char* room_for(std::size_t count) {
    constexpr std::size_t room = 1024;  // not cleared before it is written
    if (bytes_.size() - length_ < count) {
      bytes_.resize_and_overwrite(length_ + count + room,
                                  [](char*, std::size_t size) { return size; });
    }
    return bytes_.data() + std::exchange(length_, length_ + count);
  }
  std::string& bytes_;
  std::size_t length_;
};

/// Takes values from a message; after the first mistake everything is empty.
class In final : public Archive {
 public:
  explicit In(std::string_view from) : rest_(from) {}
  [[nodiscard]] bool is_reading() const override { return true; }
  [[nodiscard]] bool is_text() const override { return false; }
  [[nodiscard]] bool is_good() const override { return good_; }
  void mistake(Sentence) override { good_ = false; }
  [[nodiscard]] bool is_all() const { return good_ && rest_.empty(); }

  void scalar(bool& value) override { value = byte(1) == 1; }
  void scalar(std::int64_t& value) override { take(value); }
  void scalar(std::uint64_t& value) override { take(value); }
  void scalar(double& value) override { take(value); }
  void scalar(std::string& value) override {
    const std::size_t length = begin_list(0);
    value.assign(rest_.substr(0, length));
    rest_.remove_prefix(length);
  }
  void scalar(Scalar& value) override {
    const std::size_t which = byte(std::variant_size_v<Scalar> - 1);
    read_alternative(which, value);
  }
  bool open(std::string_view, bool, Form form, Absent* why) override {
    bool there = true;
    if (may_be_absent(form)) scalar(there);
    if (!there && why != nullptr) {
      *why = static_cast<Absent>(byte(static_cast<std::size_t>(Absent::not_sampled)));
    }
    return there && good_;
  }
  bool has_value(bool, Absent* why) override { return open({}, true, Form::nullable, why); }
  /// Each item takes at least a byte.
  std::size_t begin_list(std::size_t) override {
    std::uint32_t count = 0;
    take(count);
    good_ = good_ && count <= rest_.size();
    return good_ ? count : 0;
  }
  std::size_t byte(std::size_t last) {
    std::uint8_t value = 0;
    take(value);
    good_ = good_ && value <= last;
    return good_ ? value : 0;
  }

 private:
  template <class T>
  void take(T& value) {
    good_ = good_ && rest_.size() >= sizeof(T);
    if (!good_) return;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
  }
  template <std::size_t I = 0>
  void read_alternative(std::size_t which, Scalar& value) {
    if constexpr (I < std::variant_size_v<Scalar>) {
      if (which != I) return read_alternative<I + 1>(which, value);
      scalar(value.emplace<I>());
    }
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

// Found by the namespace of what they walk, hence not in the nameless one.
static void walk(Archive& archive, ProbeStep& step) {
  auto kind = static_cast<std::uint8_t>(step.kind);
  archive.member("kind", kind);
  if (kind > static_cast<std::uint8_t>(StepKind::runtime))
    return archive.mistake(sentence("no step"));
  step.kind = static_cast<StepKind>(kind);
  archive.member("number", step.number);
}
static void walk(Archive& archive, Begun& begun) { archive.member("step", begun.step); }
static void walk(Archive& archive, Finished& finished) { archive.member("step", finished.step); }
static void walk(Archive& archive, DeviceCount& devices) { archive.member("count", devices.count); }
static void walk(Archive& archive, Identified& identified) {
  archive.member("index", identified.index);
  archive.member("device", identified.device);
}
static void walk(Archive& archive, CommandOf& command) {
  archive.member("pid", command.pid);
  archive.member("command", command.command);
}
static void walk(Archive& archive, UserName& user) {
  archive.member("uid", user.uid);
  archive.member("name", user.name);
}
static void walk(Archive& archive, EnclosureNames& names) {
  archive.member("runtime", names.runtime);
  archive.member("id", names.id);
  archive.member("name", names.name);
  archive.member("image", names.image);
}
static void walk(Archive& archive, OpenFiles& files) { archive.member("found", files.found); }
static void walk(Archive& archive, DriverEvents& told) { archive.member("events", told.events); }
static void walk(Archive&, Done&) {}
static void walk(Archive&, GoesOn&) {}

namespace {

template <std::size_t I = 0>
bool read_message(In& in, std::size_t which, Message& message) {
  if constexpr (I < std::variant_size_v<Message>) {
    if (which != I) return read_message<I + 1>(in, which, message);
    put(in, message.emplace<I>());
    return in.is_all();
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
    out.byte(message.index());
    // An archive that writes changes nothing.
    std::visit([&](auto& inner) { put(out, inner); }, const_cast<Message&>(message));
  }
  const auto length = static_cast<std::uint32_t>(bytes.size() - begin - sizeof(std::uint32_t));
  std::memcpy(bytes.data() + begin, &length, sizeof(length));
}

namespace {

bool decode_into(std::string_view body, Message& message) {
  In in(body);
  const std::size_t which = in.byte(std::variant_size_v<Message> - 1);
  return in.is_good() && read_message(in, which, message);
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

namespace {

/// What the probe process is asked, as it lies in memory. The leases follow.
struct RequestHead {
  std::int64_t now_ms = 0;
  Wanted wanted;
  Relations relations = Relations::none;
  std::uint32_t bytes = 0;
};
static_assert(std::is_trivially_copyable_v<RequestHead>);

bool read_whole(int fd, void* to, std::size_t size) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = ::read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

/// What a job is known by: a pipe that nobody reads must hold it.
std::vector<Claim> jobs_of(const std::vector<Claim>& claims) {
  std::vector<Claim> jobs;
  for (const Claim& claim : claims) {
    if (!claim.job) continue;
    jobs.push_back({.keeper = claim.keeper, .job = claim.job, .devices = claim.devices});
  }
  return jobs;
}

}  // namespace

std::string encode_request(const TimedRequest& request) {
  std::vector<Claim> jobs = jobs_of(request.request.claims);
  std::string bytes;
  {
    Out out(bytes);
    put(out, jobs);
  }
  const RequestHead head{.now_ms = request.now.unix_ms,
                         .wanted = request.request.wanted,
                         .relations = request.request.relations,
                         .bytes = static_cast<std::uint32_t>(bytes.size())};
  bytes.insert(0, sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

std::optional<TimedRequest> next_request(int fd) {
  RequestHead head;
  if (!read_whole(fd, &head, sizeof head)) return std::nullopt;
  std::string bytes(head.bytes, '\0');
  if (!read_whole(fd, bytes.data(), bytes.size())) return std::nullopt;
  TimedRequest request{.request = {.wanted = head.wanted, .relations = head.relations},
                       .now = {head.now_ms}};
  In in(bytes);
  put(in, request.request.claims);
  return in.is_all() ? std::optional(std::move(request)) : std::nullopt;
}

}  // namespace berth::wire
