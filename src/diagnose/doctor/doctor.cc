#include "diagnose/doctor/doctor.h"

#include <array>
#include <iterator>

#include "diagnose/doctor/rules.h"

namespace berth {

namespace {

using Rule = Findings (*)(const Examined& host);

constexpr Rule rules[] = {doctor::devices_not_seen,
                          doctor::nouveau_driver,
                          doctor::no_driver,
                          doctor::driver_versions_differ,
                          doctor::driver_silent,
                          doctor::device_files,
                          doctor::container_without_devices,
                          doctor::container_hides_devices,
                          doctor::container_without_compute,
                          doctor::cuda_refuses,
                          doctor::gpu_wrong,
                          doctor::gpu_test_failed,
                          doctor::gpu_slow,
                          doctor::gpu_not_tested,
                          doctor::health_findings,
                          doctor::driver_too_old,
                          doctor::framework_cpu_only,
                          doctor::architecture_missing,
                          doctor::interpreter_silent,
                          doctor::import_failed,
                          doctor::framework_blind,
                          doctor::tensorflow_libraries_missing,
                          doctor::cudnn_of_another_major,
                          doctor::shadowed_module,
                          doctor::visible_devices,
                          doctor::device_order_unknown,
                          doctor::cuda_order_differs,
                          doctor::mig_without_instances,
                          doctor::mig_instance_hollow,
                          doctor::mig_mode_pending,
                          doctor::compute_mode_prohibited,
                          doctor::compute_mode_exclusive,
                          doctor::library_path_stubs,
                          doctor::library_twice,
                          doctor::library_path_old_cuda,
                          doctor::wheels_of_two_majors,
                          doctor::preload_missing,
                          doctor::preload_stands_in,
                          doctor::toolkit_newer_than_driver,
                          doctor::cuda_home_missing,
                          doctor::toolkit_of_another_major,
                          doctor::toolkits_differ,
                          doctor::nccl_slow_settings,
                          doctor::nccl_interface_missing,
                          doctor::nccl_old_names,
                          doctor::launch_blocking,
                          doctor::container_toolkit_missing_here,
                          doctor::folder_silent,
                          doctor::slow_directory,
                          doctor::disk_nearly_full,
                          doctor::shared_memory_small,
                          doctor::memory_low,
                          doctor::memory_limit_near,
                          doctor::threads_over_cores,
                          doctor::quota_below_cores,
                          doctor::one_cpu_of_many,
                          doctor::open_files_low,
                          doctor::mkl_missing,
                          doctor::governor_powersave,
                          doctor::persistence_off};

// tools/check_docs.py holds doc/EXPLAIN.md against this list.
constexpr auto rule_names = std::to_array<std::string_view>({
    "devices_not_seen",
    "no_driver",
    "nouveau_driver",
    "secure_boot",
    "driver_versions_differ",
    "driver_silent",
    "device_files_missing",
    "device_files_forbidden",
    "devices_taken_away",
    "container_without_devices",
    "container_hides_devices",
    "container_without_compute",
    "cuda_refuses",
    "libcuda_missing",
    "gpu_computes_wrong",
    "gpu_copies_wrong",
    "cpu_computes_wrong",
    "gpu_test_failed",
    "gpu_test_unfinished",
    "gpu_slow",
    "gpu_not_tested",
    "health_unknown",
    "driver_too_old",
    "torch_cpu_only",
    "tensorflow_cpu_only",
    "jax_cpu_only",
    "architecture_missing",
    "interpreter_silent",
    "import_failed",
    "framework_blind",
    "tensorflow_libraries_missing",
    "cudnn_of_another_major",
    "shadowed_module",
    "visible_devices_none",
    "visible_devices_broken",
    "visible_devices_unclear",
    "device_order_unknown",
    "cuda_order_differs",
    "mig_without_instances",
    "mig_instance_hollow",
    "mig_mode_pending",
    "compute_mode_prohibited",
    "compute_mode_exclusive",
    "library_path_stubs",
    "library_twice",
    "library_path_old_cuda",
    "wheels_of_two_majors",
    "preload_missing",
    "preload_stands_in",
    "toolkit_newer_than_driver",
    "cuda_home_missing",
    "toolkit_of_another_major",
    "toolkits_differ",
    "nccl_slow_settings",
    "nccl_interface_missing",
    "nccl_old_names",
    "launch_blocking",
    "container_toolkit_missing_here",
    "folder_silent",
    "slow_directory",
    "disk_nearly_full",
    "shared_memory_small",
    "memory_low",
    "memory_limit_near",
    "threads_over_cores",
    "quota_below_cores",
    "one_cpu_of_many",
    "open_files_low",
    "mkl_missing",
    "governor_powersave",
    "persistence_off",
});

}  // namespace

Findings examine(const Examined& host) {
  Findings findings;
  for (const Rule rule : rules) {
    Findings found = rule(host);
    findings.insert(findings.end(), std::make_move_iterator(found.begin()),
                    std::make_move_iterator(found.end()));
  }
  sort_by_severity(findings);
  return findings;
}

std::span<const std::string_view> doctor_rule_names() { return rule_names; }

}  // namespace berth
