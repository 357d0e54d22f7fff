#pragma once
// Doctor's rules, by what they look at; each is rules/NAME.cc, with its test beside it. Each finds
// something, or nothing; each keeps quiet about what was not looked at. The names of what they find
// stand in doctor.cc and doc/EXPLAIN.md.

#include "diagnose/doctor/examined.h"

namespace berth::doctor {

// Is the driver there and whole?
Findings devices_not_seen(const Examined& host);
Findings nouveau_driver(const Examined& host);
Findings no_driver(const Examined& host);
Findings driver_versions_differ(const Examined& host);
Findings driver_silent(const Examined& host);
// The files by which programs reach the driver
Findings device_files(const Examined& host);
// The container this is, and those that are started here
Findings container_without_devices(const Examined& host);
Findings container_hides_devices(const Examined& host);
Findings container_without_compute(const Examined& host);
Findings container_toolkit_missing_here(const Examined& host);
// What libcuda itself says
Findings cuda_refuses(const Examined& host);
Findings cuda_order_differs(const Examined& host);
// What a test of the devices found, where somebody asked for one
Findings gpu_wrong(const Examined& host);
Findings gpu_test_failed(const Examined& host);
Findings gpu_slow(const Examined& host);
Findings gpu_not_tested(const Examined& host);
// The cards' state, and how they are set up
Findings health_findings(const Examined& host);
Findings mig_without_instances(const Examined& host);
Findings mig_instance_hollow(const Examined& host);
Findings mig_mode_pending(const Examined& host);
Findings compute_mode_prohibited(const Examined& host);
Findings compute_mode_exclusive(const Examined& host);
Findings persistence_off(const Examined& host);
// Driver against CUDA against card
Findings driver_too_old(const Examined& host);
Findings architecture_missing(const Examined& host);
Findings toolkit_newer_than_driver(const Examined& host);
// The frameworks of the environment in use
Findings framework_cpu_only(const Examined& host);
Findings interpreter_silent(const Examined& host);
Findings import_failed(const Examined& host);
Findings framework_blind(const Examined& host);
Findings tensorflow_libraries_missing(const Examined& host);
Findings cudnn_of_another_major(const Examined& host);
Findings shadowed_module(const Examined& host);
// Variables that hide devices or number them
Findings visible_devices(const Examined& host);
Findings device_order_unknown(const Examined& host);
// Libraries that are in each other's way
Findings library_path_stubs(const Examined& host);
Findings library_twice(const Examined& host);
Findings library_path_old_cuda(const Examined& host);
Findings wheels_of_two_majors(const Examined& host);
Findings preload_missing(const Examined& host);
Findings preload_stands_in(const Examined& host);
// CUDA toolkits: of matter to those alone who compile something here, as frameworks bring their own
Findings cuda_home_missing(const Examined& host);
Findings toolkit_of_another_major(const Examined& host);
Findings toolkits_differ(const Examined& host);
// Variables that slow programs down or lead them astray
Findings nccl_slow_settings(const Examined& host);
Findings nccl_interface_missing(const Examined& host);
Findings nccl_old_names(const Examined& host);
Findings launch_blocking(const Examined& host);
// Folders that do not answer, and the working directory
Findings folder_silent(const Examined& host);
Findings slow_directory(const Examined& host);
Findings disk_nearly_full(const Examined& host);
// The CPU's side, for when the GPU is off or starved
Findings shared_memory_small(const Examined& host);
Findings memory_low(const Examined& host);
Findings memory_limit_near(const Examined& host);
Findings threads_over_cores(const Examined& host);
Findings quota_below_cores(const Examined& host);
Findings one_cpu_of_many(const Examined& host);
Findings open_files_low(const Examined& host);
Findings mkl_missing(const Examined& host);
Findings governor_powersave(const Examined& host);

}  // namespace berth::doctor
