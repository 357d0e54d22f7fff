#include <algorithm>

#include "diagnose/doctor/driver_parts.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

const DeviceFile* first_with(const Examined& host, FileAccess access) {
  const auto at = std::ranges::find(host.world.device_files, access, &DeviceFile::access);
  return at == host.world.device_files.end() ? nullptr : &*at;
}

Finding missing() {
  return {.rule = "device_files_missing",
          .severity = Severity::error,
          .title = sentence("the driver is loaded and its device files are missing"),
          .evidence = {sentence("there is no {}", "/dev/nvidiactl")},
          .meaning = sentence("Programs reach the driver through these files alone."),
          .steps = {{sentence("have them made; nvidia-modprobe comes with the driver"),
                     "sudo nvidia-modprobe -c 0 -u"}}};
}

Finding forbidden(const DeviceFile& file) {
  return {.rule = "device_files_forbidden",
          .severity = Severity::error,
          .title = sentence("you may not open the GPU's device files"),
          .evidence = {sentence("{} is {} and you are neither its owner nor in its group",
                                file.path, file.mode)},
          .meaning = sentence("To a program without permission it looks as if there were no GPU."),
          .steps = {
              {sentence("ask the administrator to add you to the file's group, then log in again"),
               "ls -l /dev/nvidia*; id"}}};
}

Finding blocked(const DeviceFile& file) {
  return {
      .rule = "devices_taken_away",
      .severity = Severity::error,
      .title = sentence("the GPUs are blocked for this process although the files allow it"),
      .evidence = {sentence("opening {} ({}): operation not permitted", file.path, file.mode)},
      .meaning = sentence("A control group forbids them. In a container that had its GPUs before, "
                          "`systemctl daemon-reload` on the host does this; in a job, the "
                          "scheduler gave it none."),
      .steps = {{sentence("in a container: start it again; with the device links or a CDI "
                          "runtime it does not happen again"),
                 "sudo nvidia-ctk system create-dev-char-symlinks --create-all"},
                {sentence("in a job of a scheduler: ask it for a GPU"), ""}}};
}

}  // namespace

Findings device_files(const Examined& host) {
  if (!host.world.kernel || host.world.kernel->is_wsl) return {};
  if (const DeviceFile* file = first_with(host, FileAccess::blocked)) return {blocked(*file)};
  if (driver_works(host)) return {};
  if (const DeviceFile* file = first_with(host, FileAccess::forbidden)) return {forbidden(*file)};
  if (!module_is_loaded(host) || is_container(host) || has_device_file(host, "/dev/nvidiactl"))
    return {};
  return {missing()};
}

}  // namespace berth::doctor
