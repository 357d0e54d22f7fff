// What each answer prints, and so what is read for it.

#include <algorithm>

#include "smi/csv.h"
#include "smi/gpustat.h"
#include "smi/layout.h"
#include "smi/smi.h"
#include "snapshot/fields.h"

namespace berth::smi {

namespace {

using What = SmiRequest::What;
using D = Device;

/// The layout of every answer follows the driver's version.
Wanted devices_wanted(const std::vector<std::string>& chosen) {
  Wanted wanted;
  wanted.add(Extra::driver_version).add(Extra::devices);
  if (!chosen.empty()) wanted.add<&D::serial>();  // -i may mean it
  return wanted;
}

void add_table(Wanted& wanted) {
  wanted.add(Extra::runtime_version).add(Extra::instances).add(Extra::instance_readings);
  wanted.add(Extra::processes).add(Extra::process_names);
  wanted.add(Detail::mig_mode_pending).add(Detail::ecc_mode_pending).add(Detail::inforom_valid);
  wanted.add<&D::name, &D::persistence_mode, &D::display_active, &D::ecc_mode, &D::ecc_uncorrected,
             &D::fan_speed, &D::temperature, &D::performance_state, &D::power_draw, &D::power_limit,
             &D::memory_used, &D::memory_total, &D::utilization_gpu, &D::compute_mode,
             &D::mig_mode>();
}

void add_special(const LayoutRow& row, bool text, bool selected, Wanted& wanted) {
  switch (row.special) {
    case Special::none:
      return;
    case Special::mig_devices:
      wanted.add(Extra::instances).add(Extra::instance_readings).add<&D::memory_total>();
      return;
    case Special::retired_pages:
      if (text) return;  // counts them
      wanted.add(Detail::retired_pages_single_bit).add(Detail::retired_pages_double_bit);
      wanted.add(Extra::retired_pages);
      return;
    case Special::supported_clocks:
      if (!text || selected) wanted.add(Extra::supported_clocks);
      return;
    case Special::processes:
      wanted.add(Extra::processes).add(Extra::process_names).add(Detail::driver_model);
      return;
    case Special::accounted:
      if (!text || selected) wanted.add(Extra::accounted_processes);
      return;
  }
}

void add_query(const SmiRequest& request, Wanted& wanted) {
  const bool text = request.form == SmiRequest::Form::text;
  const bool selects = !request.sections.empty();
  wanted.add(Extra::runtime_version);
  std::string_view topic;
  for (const LayoutRow& row : gpu_rows()) {
    if (depth_on(row, text ? Surface::text : Surface::xml) == 0) topic = row.topic;
    const bool selected = std::ranges::find(request.sections, topic) != request.sections.end();
    if (selects ? !selected : row.sampled) continue;
    add_special(row, text, selected, wanted);
    const bool printed = !(text ? row.label : row.tag).empty();
    if (const Field* field = field_of(row); field != nullptr && printed) wanted.add(*field);
    // Some rows stand only where others have an answer, or on chips of some kinds.
    wanted.add<&D::architecture>();
    if (row.when == When::margins || row.when == When::no_margins) {
      wanted.add(Detail::temperature_limit_margin).add(Detail::temperature_shutdown_margin);
      wanted.add(Detail::temperature_slowdown_margin);
      wanted.add(Detail::temperature_max_operating_margin);
    }
  }
  if (wanted.has(Detail::platform_slot_number)) {
    wanted.add(Detail::platform_chassis_serial).add(Detail::platform_fabric_guid);
  }
}

void add_gpu_columns(const SmiRequest& request, Wanted& wanted) {
  for (const std::string& name : request.fields) {
    const auto column = find_gpu_column(name);
    if (column && column->field != nullptr) wanted.add(*column->field);
  }
}

void add_monitor(const SmiRequest& request, Wanted& wanted) {
  constexpr std::string_view usual = "puc";
  for (const char group : request.select.empty() ? usual : std::string_view(request.select)) {
    switch (group) {
      case 'p':
        wanted.add<&D::power_draw, &D::temperature, &D::temperature_memory>();
        break;
      case 'u':
        wanted.add<&D::utilization_gpu, &D::utilization_memory, &D::utilization_encoder,
                   &D::utilization_decoder>();
        wanted.add(Detail::utilization_jpeg).add(Detail::utilization_optical_flow);
        break;
      case 'c':
        wanted.add<&D::clock_memory, &D::clock_sm>();
        break;
      case 'v':
        wanted.add<&D::throttle_reasons>().add(Detail::throttled_power_cap);
        wanted.add(Detail::throttled_software_thermal).add(Detail::throttled_hardware_thermal);
        break;
      case 'm':
        wanted.add<&D::memory_used>().add(Detail::bar1_used).add(Detail::protected_memory_used);
        break;
      case 'e':
        wanted.add<&D::ecc_corrected, &D::ecc_uncorrected, &D::pcie_replays>();
        break;
      case 't':  // the rates, or the counters that the caller makes them of
        wanted.add<&D::pcie_sent, &D::pcie_received>();
        wanted.add(Detail::pcie_sent_rate).add(Detail::pcie_received_rate);
        break;
      default:
        break;
    }
  }
}

void add_list_columns(const SmiRequest& request, Wanted& wanted) {
  for (const std::string& name : request.fields) {
    if (const Field* field = find_field(name)) wanted.add(*field);
    if (name == "process_name" || name == "name") wanted.add(Extra::process_names);
  }
  if (request.what == What::query_compute_apps) {
    wanted.add(Extra::processes).add(Extra::instances);
  } else if (request.what == What::query_accounted_apps) {
    wanted.add(Extra::accounted_processes);
  } else if (request.what == What::query_retired_pages) {
    wanted.add(Extra::retired_pages).add(Detail::retired_pages_single_bit);
    wanted.add(Detail::retired_pages_double_bit);
  } else if (request.what == What::query_supported_clocks) {
    wanted.add(Extra::supported_clocks);
  }
}

}  // namespace

Wanted wanted_by(const SmiRequest& request) {
  Wanted wanted = devices_wanted(request.devices);
  switch (request.what) {
    case What::table:
      add_table(wanted);
      break;
    case What::list:
      wanted.add(Extra::instances).add<&D::name>();
      break;
    case What::excluded:
      return Wanted().add(Extra::excluded_devices);
    case What::version:
      return Wanted()
          .add(Extra::driver_version)
          .add(Extra::runtime_version)
          .add(Extra::library_version);
    case What::query:
      add_query(request, wanted);
      break;
    case What::query_gpu:
      add_gpu_columns(request, wanted);
      break;
    case What::query_compute_apps:
    case What::query_accounted_apps:
    case What::query_retired_pages:
    case What::query_remapped_rows:
    case What::query_supported_clocks:
      add_list_columns(request, wanted);
      break;
    case What::topology:
      wanted.add<&D::numa_node>().add(Detail::pci_path).add(Detail::cpu_affinity);
      wanted.add(Extra::nvlinks);
      break;
    case What::nvlink:
      wanted.add<&D::name, &D::mig_mode>().add(Detail::nvlink_count).add(Extra::nvlinks);
      break;
    case What::dmon:
      add_monitor(request, wanted);
      break;
    case What::pmon:
      wanted.add(Extra::processes).add(Extra::instances).add(Extra::process_names);
      wanted.add(Extra::process_load).add(Extra::process_engines);
      break;
    case What::text:
      return {};
  }
  return wanted;
}

Wanted wanted_by(const GpustatRequest& request) {
  Wanted wanted = devices_wanted(request.devices);
  wanted.add(Extra::host);
  wanted.add<&D::name, &D::temperature, &D::utilization_gpu, &D::memory_used, &D::memory_total>();
  if (request.fan || request.json) wanted.add<&D::fan_speed>();
  if (request.encoder || request.json) wanted.add<&D::utilization_encoder>();
  if (request.decoder || request.json) wanted.add<&D::utilization_decoder>();
  if (request.power || request.json) wanted.add<&D::power_draw>();
  if (request.power_limit || request.json) wanted.add<&D::power_limit>();
  if (!request.processes && !request.json) return wanted;
  wanted.add(Extra::processes).add(Extra::instances);
  return wanted.add(Extra::process_names).add(Extra::process_owners);
}

bool prints_cpu(const GpustatRequest& request) { return request.json || request.full_command; }

Wanted wanted_before(const GpustatRequest& request) {
  Wanted wanted = devices_wanted(request.devices);
  return wanted.add(Extra::processes).add(Extra::instances).add(Extra::process_owners);
}

}  // namespace berth::smi
