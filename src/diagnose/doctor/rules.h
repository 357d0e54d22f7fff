#pragma once
// Doctor's rules, by what they look at. Each finds something, or nothing; each keeps quiet about
// what was not looked at. Their names stand in rule_names.h and doc/EXPLAIN.md.

#include "diagnose/doctor/examined.h"

namespace berth::doctor {

// driver.cc: is the driver there and whole?
Findings no_driver(const Examined& host);
Findings driver_versions_differ(const Examined& host);
Findings driver_silent(const Examined& host);
Findings devices_not_seen(const Examined& host);
// device_files.cc
Findings device_files(const Examined& host);
Findings container_without_devices(const Examined& host);
// containers.cc
Findings container_toolkit(const Examined& host);
// cuda_answer.cc: what libcuda itself says
Findings cuda_refuses(const Examined& host);
Findings cuda_order_differs(const Examined& host);
// devices.cc
Findings health_findings(const Examined& host);
Findings persistence_off(const Examined& host);
Findings mig_without_instances(const Examined& host);
Findings mig_instance_hollow(const Examined& host);
Findings mig_mode_pending(const Examined& host);
Findings compute_mode(const Examined& host);
// versions.cc: driver against CUDA against card
Findings driver_too_old(const Examined& host);
Findings toolkit_newer_than_driver(const Examined& host);
Findings architecture_missing(const Examined& host);
// frameworks.cc
Findings framework_cpu_only(const Examined& host);
Findings framework_blind(const Examined& host);
Findings import_failed(const Examined& host);
Findings tensorflow_libraries_missing(const Examined& host);
Findings cudnn_of_another_major(const Examined& host);
Findings shadowed_module(const Examined& host);
// libraries.cc
Findings library_path(const Examined& host);
Findings library_path_old_cuda(const Examined& host);
Findings wheels_of_two_majors(const Examined& host);
Findings preload(const Examined& host);
Findings preload_stands_in(const Examined& host);
// toolkits.cc: what is compiled with here
Findings cuda_home_missing(const Examined& host);
Findings toolkit_of_another_major(const Examined& host);
Findings toolkits_differ(const Examined& host);
// variables.cc
Findings visible_devices(const Examined& host);
Findings device_order_unknown(const Examined& host);
Findings container_variables(const Examined& host);
Findings nccl_variables(const Examined& host);
Findings launch_blocking(const Examined& host);
// processor.cc
Findings threads(const Examined& host);
Findings memory(const Examined& host);
Findings shared_memory(const Examined& host);
Findings open_files(const Examined& host);
Findings mkl_missing(const Examined& host);
Findings governor(const Examined& host);
// proofs.cc: what a test of the devices found, where somebody asked for one
Findings gpu_wrong(const Examined& host);
Findings gpu_test_failed(const Examined& host);
Findings gpu_slow(const Examined& host);
Findings gpu_not_tested(const Examined& host);
// folders.cc
Findings folders(const Examined& host);

}  // namespace berth::doctor
