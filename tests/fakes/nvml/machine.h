#pragma once
// The machine that the fake library plays, a snapshot (BERTH_FAKE_NVML=FILE), and how each call is
// answered. Before initialisation it is not. It is answered wrongly if a fault says so, and "lost"
// for a lost device. Else the answer is the snapshot's reading, or the code for its absence.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#include "faults.h"
#include "probe/nvml/abi.h"
#include "snapshot/snapshot.h"

namespace fake_nvml {

using namespace berth::nvml;

struct FakeDevice {
  berth::Device data;
  std::string label;  // "3", or "3.0" for a MIG instance
  unsigned index = 0;
  FakeDevice* parent = nullptr;
  std::vector<FakeDevice*> instances;
  /// A parent has those of its instances too.
  std::vector<berth::GpuProcess> processes;
};

/// NVML's functions without a device. Counts initialisations, as NVML does.
Return initialise();
Return shut_down();
void follow_changes();
[[nodiscard]] bool is_initialised();
[[nodiscard]] const berth::Snapshot& snapshot();
[[nodiscard]] const std::vector<FakeDevice*>& gpus();
[[nodiscard]] const FakeDevice* device_of(Handle handle);
[[nodiscard]] Handle handle_of(const FakeDevice& device);
[[nodiscard]] std::uint64_t now_us();
/// Seconds since initialisation where values are to move (BERTH_FAKE_NVML_MOVE=1), else 0.
[[nodiscard]] double seconds_moved();
/// BERTH_FAKE_NVML_PROCESS_LAYOUT=535: the five-member entries of early 535 drivers.
[[nodiscard]] bool five_member_processes();

[[nodiscard]] Return code_of(berth::Absent why);

/// A field of nvmlDeviceGetFieldValues that a detail holds; false: none does.
bool answer_detail_field(const FakeDevice& it, FieldValue& field);
/// The samples of a kind, oldest first, made up so that their summary is the snapshot's.
[[nodiscard]] std::vector<Sample> made_up_samples(const FakeDevice& it, unsigned kind);

/// One call being answered.
class Call {
 public:
  Call(const char* function, const std::string& device);
  /// Set: the call ends with it. A hang never returns.
  [[nodiscard]] const std::optional<Return>& ended() const { return ended_; }

  template <class Out>
  Return put(Out* out, std::type_identity_t<Out> value) const {
    if (out == nullptr) return invalid_argument;
    *out = value;
    if (lie_) *out = lied_as<Out>();
    return success;
  }
  template <class Out, class T>
  Return put(Out* out, const berth::Reading<T>& reading) const {
    if (out == nullptr) return invalid_argument;
    if (!reading.get() && !lie_) return code_of(reading.why());
    return put(out, reading.get() ? static_cast<Out>(plain(*reading.get())) : Out{});
  }
  Return put_text(char* out, unsigned length, const berth::Reading<std::string>& reading) const;
  [[nodiscard]] const std::optional<std::string>& lie() const { return lie_; }

 private:
  template <class T>
  static auto plain(const T& value) {
    if constexpr (requires { value.count(); }) {
      return value.count();
    } else {
      return value;
    }
  }
  /// A whole number keeps each of its 64 bits: all of them set is what a driver says of nothing.
  template <class Out>
  [[nodiscard]] Out lied_as() const {
    if (lie_->find_first_not_of("0123456789") == std::string::npos) {
      return static_cast<Out>(std::strtoull(lie_->c_str(), nullptr, 10));
    }
    return static_cast<Out>(std::strtod(lie_->c_str(), nullptr));
  }
  std::optional<Return> ended_;
  std::optional<std::string> lie_;
};

/// `answer` is called as answer(call) once the call may proceed.
template <class Answer>
Return on_system(const char* function, Answer answer) {
  const Call call(function, "");
  if (call.ended()) return *call.ended();
  if (!is_initialised()) return uninitialized;
  return answer(call);
}

/// As answer(call, device).
template <class Answer>
Return on_device(const char* function, Handle handle, Answer answer) {
  const FakeDevice* device = device_of(handle);
  const Call call(function, device == nullptr ? "" : device->label);
  if (call.ended()) return *call.ended();
  if (!is_initialised()) return uninitialized;
  if (device == nullptr) return invalid_argument;
  if (device->data.lost) return gpu_is_lost;
  return answer(call, *device);
}

}  // namespace fake_nvml
