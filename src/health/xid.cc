#include "health/xid.h"

#include <algorithm>
#include <array>

#include "base/tr.h"

namespace berth {

namespace {

using enum XidAction;

/// Codes that mean the same for several engines of a kind.
struct XidRange {
  std::uint64_t first;
  std::uint64_t last;
  std::string_view meaning;
  XidAction action;
};

// Ordered by code. What is left out up to the last is in the catalogue as unused.
constexpr auto catalogue = std::to_array<XidRange>({
    {8, 8, "the job's work took too long and was ended", restart_app},
    {11, 11, "a command of the job was invalid", restart_app},
    {13, 13, "an exception in the job's kernel: often an index out of bounds", restart_app},
    {14, 14, "a code that is not in use on cards of today", none},
    {25, 25, "a command of the job was invalid", restart_app},
    {31, 31, "the job touched memory that is not its own", restart_app},
    {32, 32, "a command of the job was invalid or damaged", restart_app},
    {37, 38, "the driver's firmware met something it does not know", none},
    {39, 41, "an exception in a copy engine", restart_app},
    {43, 43, "the job's work was stopped", none},
    {44, 44, "a fault while one job gave way to another", none},
    {45, 45, "what was running was removed after another error", none},
    {46, 46, "the GPU stopped working", reset},
    {48, 48, "a memory error that could not be corrected (double bit)", reset},
    {54, 54, "the board's power cable is not connected", check_power},
    {60, 60, "an exception in the video engine", restart_app},
    {62, 62, "its internal controller has halted", reset},
    {63, 63, "a row of memory was marked for replacement at the next reset", none},
    {64, 64, "a row of memory could not be replaced", reset},
    {66, 67, "the driver made an access that is not allowed", none},
    {68, 68, "an exception in a video decoder", restart_app},
    {69, 69, "a command of the job asked for what the GPU does not have", restart_app},
    {70, 72, "an exception in a copy engine", restart_app},
    {74, 74, "an error on NVLink", check_link},
    {75, 77, "an exception in a copy engine", restart_app},
    {78, 78, "a virtual GPU could not start", update},
    {79, 79, "it has fallen off the bus", restart_machine},
    {80, 80, "damaged data were sent to the GPU", restart_app},
    {82, 82, "an error in the JPEG engine", restart_app},
    {83, 84, "an error in a video decoder", restart_app},
    {85, 85, "an exception in a copy engine", restart_app},
    {86, 86, "an exception in the optical flow engine", restart_app},
    {88, 89, "an error in a video decoder", restart_app},
    {92, 92, "many memory errors were corrected", none},
    {93, 93, "its configuration memory is written too often", none},
    {94, 94, "a memory error that hit one job alone", restart_app},
    {95, 95, "a memory error that may have hit every job", reset},
    {96, 98, "an error in a video decoder", restart_app},
    {99, 105, "an error in a JPEG engine", restart_app},
    {106, 107, "a test message of the board's management", none},
    {108, 108, "a code that is not in use on cards of today", none},
    {109, 109, "one job did not give way to another in time", reset},
    {110, 110, "a security fault", reset},
    {119, 119, "its system processor (GSP) did not answer in time", reset},
    {120, 120, "an error in its system processor (GSP)", reset},
    {121, 121, "an error on the link to the CPU (C2C)", none},
    {126, 135, "an exception in a copy engine", restart_app},
    {136, 136, "a link could not be trained", reset},
    {137, 137, "an access over NVLink was not allowed", none},
    {139, 139, "an exception in the optical flow engine", restart_app},
    {140, 140, "a memory error it did not recover from", reset},
    {141, 141, "an error in CUDA's fast path", none},
    {142, 142, "an error in a video encoder", support},
    {143, 143, "it could not be initialised", reset},
    {144, 150, "an error on NVLink", check_link},
    {151, 151, "keys could not be changed (confidential computing)", restart_machine},
    {152, 153, "an error in the deep learning accelerator (DLA)", none},
    {154, 154, "what it takes to recover it has changed", none},
    {155, 155, "an error on NVLink that software defined", reset},
    {156, 156, "a part of it was retired", reset},
    {157, 157, "a part of it could not be retired", none},
    {158, 158, "it did not answer in time, for good", reset},
    {159, 159, "an error on the link to the CPU (CHI)", support},
    {160, 160, "a channel of memory was retired", none},
    {161, 161, "a channel of memory could not be retired", none},
    // From here on NVIDIA names no action. Power smoothing is for the room's power supply: the card
    // itself works on without it. Of the others nothing is guessed.
    {162, 162, "its power smoothing is at work again", none},
    {163, 163, "its power smoothing was switched off", none},
    {164, 164, "its power smoothing will wear out soon", none},
    {165, 165, "its power smoothing has worn out: its power swings freely", none},
    {166, 166, "an NVLink carried data before it was encrypted (confidential computing)", support},
    {167, 167, "the PCIe link did not answer in time, for good", support},
    {168, 168, "an error in memory that the driver keeps for itself", support},
    {169, 169, "its security controller (SEC2) has halted", support},
    {170, 170, "an NVLink reported an error (confidential computing)", support},
    // Said beside XID 48, to tell which memory it was.
    {171, 171, "a memory error that could not be corrected, in DRAM", reset},
    {172, 172, "a memory error that could not be corrected, in SRAM", reset},
});
constexpr std::uint64_t last_in_catalogue = 172;

}  // namespace

XidFacts xid_facts(std::uint64_t code) {
  const auto found = std::find_if(catalogue.begin(), catalogue.end(), [&](const XidRange& range) {
    return code >= range.first && code <= range.last;
  });
  if (found != catalogue.end()) return {code, found->meaning, found->action};
  if (code > 0 && code <= last_in_catalogue) {
    return {code, as_key("a code that is not in use on cards of today"), support};
  }
  return {code, as_key("an error that is not in the catalogue"), support};
}

std::string_view advice_for(XidAction action) {
  switch (action) {
    case XidAction::none:
      return "";
    case XidAction::restart_app:
      return as_key(
          "start the job again; if it happens with other jobs too, tell the administrator");
    case XidAction::check_link:
      return as_key(
          "look at `nvidia-smi nvlink -s` and -e; a reset of all linked GPUs trains them anew");
    case XidAction::reset:
      return as_key("no new jobs on it, then a reset by root (nvidia-smi --gpu-reset) or a reboot");
    case XidAction::restart_machine:
      return as_key("reboot; if it comes back, look at seating, power and cooling");
    case XidAction::check_power:
      return as_key("shut down and look at the power cables of the card");
    case XidAction::update:
      return as_key("update driver and firmware together");
    case XidAction::support:
      return as_key("ask the machine's administrator, with the lines of the kernel log");
  }
  return "";
}

XidGravity gravity_of(XidAction action) {
  switch (action) {
    case XidAction::none:
    case XidAction::restart_app:
      return XidGravity::of_job;
    case XidAction::check_link:
    case XidAction::check_power:
    case XidAction::update:
    case XidAction::support:
      return XidGravity::of_device;
    case XidAction::reset:
    case XidAction::restart_machine:
      return XidGravity::needs_reset;
  }
  return XidGravity::needs_reset;
}

bool is_before_driver_load(const XidEvent& event, const Snapshot& snapshot) {
  constexpr std::int64_t slack_ms = 2000;
  const auto& loaded = snapshot.driver_loaded.get();
  return loaded && event.at.unix_ms + slack_ms < loaded->unix_ms;
}

}  // namespace berth
