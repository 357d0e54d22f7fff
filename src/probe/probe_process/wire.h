#pragma once
// What the probe process tells: messages of a few bytes to a few kilobytes, each with its length
// in front. Both ends are the same program, so there is no version. The reader believes nothing:
// the writer has a vendor's library in its address space, and may be cut off anywhere.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "snapshot/snapshot.h"
#include "snapshot/wanted.h"

namespace berth {

/// Whether to look beyond the processes on the devices: at their parents, and at all that have the
/// device files open. That reads every process of the machine.
enum class Relations { none, all };

/// What is wanted of one look.
struct CollectRequest {
  Wanted wanted = Depth::everything;
  Relations relations = Relations::none;
  /// The leases: which process is whose, and what a simulated server's devices should show.
  std::vector<Claim> claims;
};

}  // namespace berth

namespace berth::wire {

/// What the probe process is asked. It gets of the leases what it needs to know a job by.
struct TimedRequest {
  CollectRequest request;
  WallTime now;
};
[[nodiscard]] std::string encode_request(const TimedRequest& request);
/// Waits for the next one. Nothing: nobody asks any more.
[[nodiscard]] std::optional<TimedRequest> next_request(int fd);

/// The things that can take for ever, each begun and finished by itself. A probe process asks one
/// driver at most.
enum class StepKind : std::uint8_t {
  driver,  // opening it
  device,
  pci,
  process,
  command,
  user,
  files,
  enclosure,
  events,
  runtime,  // its version, where a file tells it and not the driver
};
struct ProbeStep {
  StepKind kind = StepKind::driver;
  std::uint64_t number = 0;  // index of a device, pid, uid
  friend auto operator<=>(const ProbeStep&, const ProbeStep&) = default;
};

struct Begun {
  ProbeStep step;
  friend bool operator==(const Begun&, const Begun&) = default;
};
/// Everything that the step has to say has been said.
struct Finished {
  ProbeStep step;
  friend bool operator==(const Finished&, const Finished&) = default;
};
struct DeviceCount {
  std::uint64_t count = 0;
  friend bool operator==(const DeviceCount&, const DeviceCount&) = default;
};
/// Who a device is, before anything of it is asked that could hang.
struct Identified {
  std::uint64_t index = 0;
  Device device;
  friend bool operator==(const Identified&, const Identified&) = default;
};
struct CommandOf {
  pid_t pid = 0;
  Reading<std::vector<std::string>> command;
  friend bool operator==(const CommandOf&, const CommandOf&) = default;
};
struct UserName {
  uid_t uid = 0;
  std::string name;
  friend bool operator==(const UserName&, const UserName&) = default;
};
/// What the runtime's files call an enclosure.
struct EnclosureNames {
  std::string runtime;
  std::string id;
  Reading<std::string> name;
  Reading<std::string> image;
  friend bool operator==(const EnclosureNames&, const EnclosureNames&) = default;
};
/// Who has device files open.
struct OpenFiles {
  Reading<DeviceFiles> found;
  friend bool operator==(const OpenFiles&, const OpenFiles&) = default;
};
/// What the driver has told by its events since the look before.
struct DriverEvents {
  Reading<std::vector<XidEvent>> events;
  friend bool operator==(const DriverEvents&, const DriverEvents&) = default;
};
/// The step that was begun takes long and gets its answers.
struct GoesOn {
  friend bool operator==(const GoesOn&, const GoesOn&) = default;
};
/// The last message: nothing is left to ask.
struct Done {
  friend bool operator==(const Done&, const Done&) = default;
};

using Message = std::variant<Begun, Finished, DeviceCount, Identified, CommandOf, UserName,
                             EnclosureNames, Done, Host, Device, GpuProcess, HostProcess, OpenFiles,
                             DriverEvents, Problem, SourceReport, GoesOn>;

/// Adds the message with its length in front.
void append(std::string& bytes, const Message& message);
[[nodiscard]] inline std::string encode(const Message& message) {
  std::string bytes;
  append(bytes, message);
  return bytes;
}
/// A message without its length. Nothing: not one.
[[nodiscard]] std::optional<Message> decode(std::string_view body);

/// Cuts a stream of bytes into messages.
class Unpacker {
 public:
  void feed(std::string_view bytes) { bytes_.append(bytes); }
  /// Puts the next whole message there; false: more bytes are needed, or is_broken().
  [[nodiscard]] bool next(Message& message);
  /// The stream is not ours any more: nothing that follows can be believed.
  [[nodiscard]] bool is_broken() const { return broken_; }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
  bool broken_ = false;
};

}  // namespace berth::wire
