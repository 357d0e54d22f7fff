#pragma once
// Error texts of containers that are given no GPU. Included by catalogue.cc only.

#include <array>

#include "diagnose/postmortem/catalogue.h"

namespace berth {

inline constexpr auto container_entries = std::to_array<LogEntry>({
    {"container_without_driver",
     Severity::error,
     LogPart::cause,
     "nvidia-container-cli: initialization error: *driver not loaded\n"
     "nvidia-container-cli: initialization error: load library failed\n"
     "nvidia-container-cli: initialization error: nvml error: driver not loaded",
     as_key("the container could not be given GPUs: its host has no driver that runs"),
     as_key("A container uses the driver of its host. There it is not installed or its module is "
            "not loaded, whatever the image brings."),
     {{as_key("on the host, not in the container: let berth say why"), "berth doctor"},
      {as_key("have an administrator load the module"), "sudo modprobe nvidia"}}},
    {"container_toolkit_missing",
     Severity::error,
     LogPart::cause,
     "could not select device driver\n"
     "unknown or invalid runtime name: nvidia\n"
     "unknown runtime specified nvidia\n"
     "nvidia-container-runtime{-hook|}\": {executable file not found|no such file}\n"
     "nvidia-container-runtime: no such file\n"
     "no runtime for \"nvidia\" is configured\n"
     "nvidia-container-toolkit*not found\n"
     "no cdi devices found\n"
     "could not load nvml library\n"
     "did you configure the nvidia container toolkit",
     as_key("Docker does not know how to give a container GPUs"),
     as_key("NVIDIA's container toolkit is not installed on the host, or this Docker was not told "
            "of it. Docker from snap and Docker Desktop are others than the system's."),
     {{as_key("see whether Docker knows it"), "docker info | grep -i -E 'runtimes|cdi'"},
      {as_key("have an administrator install the package nvidia-container-toolkit, then"),
       "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker"}}},
    {"container_hook_failed",
     Severity::error,
     LogPart::cause,
     "nvidia-container-cli: {mount|device|detection|ldcache|container|permission|filesystem} "
     "error\n"
     "nvidia-container-cli.real: \n"
     "error running hook*nvidia\n"
     "nvidia-container-cli: ",
     as_key("the container could not be given its GPUs"),
     as_key("NVIDIA's hook failed on the control group, a file or the driver of the host."),
     {{as_key("on the host: let it say more"), "sudo nvidia-container-cli -k -d /dev/stderr info"},
      {as_key(
           "where control groups are not allowed (a container in a container): no-cgroups = true"),
       "/etc/nvidia-container-runtime/config.toml"}}},
    {"cdi_device_unresolved",
     Severity::error,
     LogPart::cause,
     "unresolvable cdi devices\n"
     "failed to inject cdi devices\n"
     "cdi device injection failed\n"
     "unresolvable cdi device",
     as_key("the container names a GPU that CDI does not know"),
     as_key("The description of the devices (/etc/cdi or /var/run/cdi) is missing or older than "
            "the machine's cards."),
     {{as_key("see which devices it knows"), "nvidia-ctk cdi list"},
      {as_key("have an administrator write it anew"),
       "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"}}},
    {"gpu_access_blocked",
     Severity::error,
     LogPart::cause,
     "gpu access blocked by the operating system",
     as_key("the operating system blocks the GPU"),
     as_key("In WSL the driver of Windows and the container toolkit do not fit each other. Or the "
            "library is not Windows' own."),
     {{as_key("update the driver of Windows, then restart WSL"), "wsl --shutdown"}}},
});

}  // namespace berth
