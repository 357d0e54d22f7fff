#pragma once
// The asking side: goes through the sources step by step and tells what it begins and what it
// learned. Runs in the probe process; anything here may never return.

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "probe/probe_process/progress.h"
#include "probe/probe_process/wire.h"
#include "probe/sources.h"

namespace berth {

/// Collects messages and hands them on as bytes whenever something that may block comes next.
class StepReporter {
 public:
  /// `send` false: nobody listens any more.
  StepReporter(Progress& progress, std::function<bool(std::string_view)> send)
      : progress_(progress), send_(std::move(send)) {}

  void tell(wire::Message message);
  /// Says that this comes next, and sends all that was told before.
  void begin(wire::ProbeStep step);
  void finish(wire::ProbeStep step) { tell(wire::Finished{step}); }
  /// The step that was begun goes on: it has had an answer. Sent now and then.
  void goes_on();
  void done();
  /// All that is known, what was just told included.
  [[nodiscard]] const Progress& progress() const { return progress_; }

 private:
  void send();

  Progress& progress_;
  std::function<bool(std::string_view)> send_;
  std::string unsent_;
  SystemClock clock_;
  Instant sent_{};
};

/// Asks whatever `reporter.progress()` does not know to be over.
using Ask = std::function<void(const CollectRequest& request, StepReporter& reporter)>;

/// What a probe process asks.
struct Asked {
  std::optional<DeviceKind> driver;  // of these devices
  bool kernel = true;                // PCI and /proc, for what the drivers told
};

/// The sources of a real machine, kept from look to look: a driver device by device, then PCI, then
/// /proc process by process. Where it looks again, it asks for what the driver tells by events, and
/// remembers who a device is.
class MachineProbe {
 public:
  MachineProbe(const Sources& sources, Looks looks, Asked asked);
  ~MachineProbe();
  MachineProbe(const MachineProbe&) = delete;
  MachineProbe& operator=(const MachineProbe&) = delete;

  /// Starts the driver's library, which takes longest, before it is known what is wanted of it.
  void open(StepReporter& reporter);
  void ask(const CollectRequest& request, StepReporter& reporter);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth
