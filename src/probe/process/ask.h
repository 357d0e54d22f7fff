#pragma once
// The asking side: goes through the sources step by step and tells what it begins and what it
// learned. Runs in the probe process; anything here may never return.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "probe/driver_log.h"
#include "probe/observe.h"
#include "probe/process/progress.h"
#include "probe/process/wire.h"

namespace berth {

class ContainerFiles;
class NvmlProbe;
class PciProbe;
class ProcfsProbe;

/// Collects messages and hands them on as bytes whenever something that may block comes next.
class Teller {
 public:
  /// `send` false: nobody listens any more. It gets an empty piece after the last one.
  Teller(Progress& progress, std::function<bool(std::string_view)> send)
      : progress_(progress), send_(std::move(send)) {}

  void tell(wire::Message message);
  /// Says that this comes next, and sends all that was told before.
  void begin(wire::Step step);
  void finish(wire::Step step) { tell(wire::Finished{step}); }
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

/// What a probe process does: ask whatever `teller.progress()` does not know to be over.
using Ask = std::function<void(Teller& teller)>;

/// Probes that are kept from look to look.
struct Probes {
  NvmlProbe& nvml;
  PciProbe& pci;
  ProcfsProbe& procfs;
  const ContainerFiles& containers;
  DriverLog* driver_log = nullptr;  // of whoever wants all relations
  /// Of whoever looks again and again and remembers them: what was last told, by index.
  std::map<int, Device>* identified = nullptr;
};
/// Whether to ask for what the driver tells by events: only who has asked before hears anything.
enum class Events { none, new_ones };

/// What is wanted of them.
struct Wish {
  Wanted wanted = Depth::everything;
  const std::vector<Claim>& claims;
  Relations relations = Relations::none;
  Events events = Events::none;
};
void ask_with(Probes probes, const Wish& wish, Teller& teller);

/// The same with probes of its own: NVML device by device, then PCI, then /proc process by process.
void ask_sources(const Sources& sources, const Wish& wish, Teller& teller);

}  // namespace berth
