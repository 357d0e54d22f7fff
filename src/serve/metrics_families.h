#pragma once
// The berth profile's families beside those of the field table, each once: the page writes them,
// doc/METRICS.md lists them. Internal to the metrics pages.

#include <array>

#include "serve/metrics_exposition.h"

namespace berth::serve::families {

using enum MetricType;

// --- the program and its looks
inline constexpr Family build_info{"berth_build_info", info, "The program that serves this page.",
                                   "version"};
inline constexpr Family host_info{"berth_host_info", info, "The machine and its driver.",
                                  "host, kernel, driver_version, cuda_version"};
inline constexpr Family other_vendor_info{"berth_other_vendor_info", info,
                                          "The driver and the runtime of a vendor that "
                                          "berth_host_info says nothing of.",
                                          "vendor, driver_version, runtime, runtime_version"};
inline constexpr Family simulated{
    "berth_simulated", gauge, "Whether the server is simulated: 1, then nothing here is real.", ""};
inline constexpr Family simulated_info{"berth_simulation_info", info,
                                       "Which simulated server this is.", "scenario"};
inline constexpr Family snapshot_age{"berth_snapshot_age_seconds", gauge,
                                     "How old the look is that this page is of.", ""};
inline constexpr Family snapshot_timestamp{"berth_snapshot_timestamp_seconds", gauge,
                                           "When that look was taken, since 1970.", ""};
inline constexpr Family look_interval{"berth_look_interval_seconds", gauge,
                                      "Time from one look to the next.", ""};
inline constexpr Family look_duration{"berth_look_duration_seconds", gauge,
                                      "How long the newest look took.", ""};
inline constexpr Family looks{"berth_looks_total", counter, "Looks since the daemon started.", ""};
inline constexpr Family looks_failed{"berth_looks_failed_total", counter,
                                     "Looks of which nothing came.", ""};
inline constexpr Family probe_success{
    "berth_probe_success", gauge, "Whether a source could be asked in the newest look.", "probe"};
inline constexpr Family problems{"berth_problems", gauge,
                                 "What went wrong in the newest look, by source and kind.",
                                 "probe, code"};
inline constexpr Family alerts{"berth_alerts", gauge, "Alerts that go on.", "rule, severity"};
inline constexpr Family samples_lost{
    "berth_samples_dropped_total", counter,
    "Looks that the history never wrote: its queue or the disk was full.", ""};
inline constexpr Family requests{"berth_http_requests_total", counter,
                                 "Requests since the daemon started.", ""};
inline constexpr Family daemon_cpu{"berth_daemon_cpu_seconds_total", counter,
                                   "Processor time of the daemon, its probe process "
                                   "and commands that it ran.",
                                   ""};
inline constexpr Family daemon_resident{"berth_daemon_resident_memory_bytes", gauge,
                                        "Main memory of the daemon and its probe process.", ""};
inline constexpr Family daemon_start{"berth_daemon_start_timestamp_seconds", gauge,
                                     "When the daemon started, since 1970.", ""};
inline constexpr Family history_used{"berth_history_size_bytes", gauge,
                                     "Size of the history, with what was set aside of it.", ""};
inline constexpr Family history_limit{"berth_history_limit_bytes", gauge,
                                      "Most that the history may take.", ""};
inline constexpr Family history_disk_free{"berth_history_disk_free_bytes", gauge,
                                          "Room left on the disk that the history is on.", ""};
inline constexpr Family history_writing{
    "berth_history_writing", gauge,
    "Whether the history is written; 0: its disk is full, or does not let it be opened.", ""};
inline constexpr Family join_up{"berth_join_up", gauge,
                                "Whether a server shown beside this one answered when it was last "
                                "asked.",
                                "host"};
inline constexpr Family join_age{"berth_join_age_seconds", gauge,
                                 "How long ago such a server answered last.", "host"};
inline constexpr Family left_out{"berth_series_left_out", gauge,
                                 "What has no series here because there are more than the bound.",
                                 "of"};

// --- devices
inline constexpr Family devices{"berth_devices", gauge, "Devices in each state.", "state"};
inline constexpr Family device_info{
    "berth_device_info", info, "What a device is.",
    "device, uuid, name, kind, pci_address, architecture, vbios_version, parent"};
inline constexpr Family device_state{"berth_device_state", gauge,
                                     "1 for the state that the device is in, 0 for the others.",
                                     "device, uuid, name, state"};
inline constexpr Family device_health{"berth_device_health", gauge,
                                      "1 for how well the device is, 0 for the others.",
                                      "device, uuid, name, health"};
inline constexpr Family device_finding{"berth_device_finding", gauge,
                                       "1 for each thing that is not well with the device.",
                                       "device, uuid, name, code, health"};
inline constexpr Family device_not_examined{"berth_device_not_examined", gauge,
                                            "Things of the device's health that could not be read.",
                                            "device, uuid, name"};
inline constexpr Family window_seconds{
    "berth_window_seconds", gauge,
    "Time that the berth_device_window metrics cover, from first look to last.", ""};
inline constexpr Family window_looks{"berth_window_looks", gauge, "Looks in that time.", ""};
inline constexpr Family xid_errors{"berth_xid_errors_total", counter,
                                   "XID errors that the driver wrote to the kernel log.",
                                   "device, uuid, name, xid"};
inline constexpr Family xid_last{"berth_xid_last_timestamp_seconds", gauge,
                                 "When the newest of them was, since 1970.",
                                 "device, uuid, name, xid"};

// --- people
inline constexpr Family user_devices{"berth_user_devices", gauge,
                                     "Devices with a process or a lease of the user.", "user"};
inline constexpr Family user_leased{"berth_user_leased_devices", gauge,
                                    "Devices that a lease of the user names.", "user"};
inline constexpr Family user_idle{
    "berth_user_idle_devices", gauge,
    "Devices with a process or a lease of the user on which nothing ran in the whole window.",
    "user"};
inline constexpr Family user_processes{"berth_user_processes", gauge,
                                       "Processes of the user on devices, each once.", "user"};
inline constexpr Family user_memory{
    "berth_user_memory_used_bytes", gauge,
    "Device memory of the user's processes; no sample where one of them hides its own.", "user"};
inline constexpr Family device_user_memory{"berth_device_user_memory_used_bytes", gauge,
                                           "The same on one device.", "device, uuid, name, user"};
inline constexpr Family device_user_processes{"berth_device_user_processes", gauge,
                                              "Processes of the user on one device.",
                                              "device, uuid, name, user"};
inline constexpr Family strangers{"berth_processes_of_unknown_user", gauge,
                                  "Processes on devices whose user could not be read.", ""};
inline constexpr Family pod_memory{
    "berth_pod_memory_used_bytes", gauge,
    "Device memory of the pod's processes on one device; no sample where one of them hides its "
    "own.",
    "device, uuid, name, namespace, pod, container, pod_uid"};
inline constexpr Family pod_processes{"berth_pod_processes", gauge,
                                      "Processes of the pod on one device.",
                                      "device, uuid, name, namespace, pod, container, pod_uid"};
inline constexpr Family leases{"berth_leases", gauge, "Leases held.", ""};
inline constexpr Family lease_start{"berth_lease_start_timestamp_seconds", gauge,
                                    "Since when the lease is held, since 1970.",
                                    "lease, run, user"};
inline constexpr Family lease_devices{"berth_lease_devices", gauge, "Devices of the lease.",
                                      "lease, run, user"};
inline constexpr Family lease_promised{
    "berth_lease_memory_promised_bytes", gauge,
    "Device memory promised; no sample where it has a whole device.", "lease, run, user"};
inline constexpr Family lease_memory{
    "berth_lease_memory_used_bytes", gauge,
    "Device memory of its processes; no sample where one of them hides its own.",
    "lease, run, user"};
inline constexpr Family lease_processes{
    "berth_lease_processes", gauge, "Processes on devices that run under it.", "lease, run, user"};
inline constexpr Family queue_length{"berth_queue_length", gauge, "Who waits for devices.", ""};
inline constexpr Family queue_wait{"berth_queue_longest_wait_seconds", gauge,
                                   "How long the first of them has waited; no sample: nobody does.",
                                   ""};
inline constexpr Family process_memory{"berth_process_memory_used_bytes", gauge,
                                       "Device memory of a process (only where asked for).",
                                       "device, uuid, name, pid, process, user"};
inline constexpr Family process_sm{
    "berth_process_sm_utilization_ratio", gauge,
    "Share of the device's time that a process computed (only where asked for).",
    "device, uuid, name, pid, process, user"};

inline constexpr std::array all = {&build_info,
                                   &host_info,
                                   &other_vendor_info,
                                   &simulated,
                                   &simulated_info,
                                   &snapshot_age,
                                   &snapshot_timestamp,
                                   &look_interval,
                                   &look_duration,
                                   &looks,
                                   &looks_failed,
                                   &probe_success,
                                   &problems,
                                   &alerts,
                                   &samples_lost,
                                   &requests,
                                   &daemon_cpu,
                                   &daemon_resident,
                                   &daemon_start,
                                   &history_used,
                                   &history_limit,
                                   &history_disk_free,
                                   &history_writing,
                                   &join_up,
                                   &join_age,
                                   &left_out,
                                   &devices,
                                   &device_info,
                                   &device_state,
                                   &device_health,
                                   &device_finding,
                                   &device_not_examined,
                                   &window_seconds,
                                   &window_looks,
                                   &xid_errors,
                                   &xid_last,
                                   &user_devices,
                                   &user_leased,
                                   &user_idle,
                                   &user_processes,
                                   &user_memory,
                                   &device_user_memory,
                                   &device_user_processes,
                                   &strangers,
                                   &pod_memory,
                                   &pod_processes,
                                   &leases,
                                   &lease_start,
                                   &lease_devices,
                                   &lease_promised,
                                   &lease_memory,
                                   &lease_processes,
                                   &queue_length,
                                   &queue_wait,
                                   &process_memory,
                                   &process_sm};

}  // namespace berth::serve::families
