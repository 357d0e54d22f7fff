#include "snapshot/wanted.h"

#include "snapshot/fields.h"
#include "snapshot/recorded.h"

namespace berth {

namespace {

using D = Device;

/// What placement decides by, and what a refusal tells.
void add_placement(Wanted& wanted) {
  for (const Extra extra :
       {Extra::driver_version, Extra::library_version, Extra::excluded_devices, Extra::host,
        Extra::devices, Extra::other_devices, Extra::instances, Extra::verdicts, Extra::processes,
        Extra::process_names, Extra::process_owners, Extra::leases}) {
    wanted.add(extra);
  }
  wanted.add<&D::name, &D::minor_number, &D::compute_capability, &D::multiprocessors,
             &D::clock_sm_max, &D::mig_mode, &D::partition_mode, &D::architecture, &D::memory_total,
             &D::memory_used, &D::memory_free, &D::memory_reserved, &D::process_count,
             &D::utilization_gpu, &D::utilization_history, &D::compute_mode>();
}

/// What a sampler records, and what it judges a device by.
void add_state(Wanted& wanted) {
  wanted.add(Extra::runtime_version).add(Extra::process_load);
  wanted.add<&D::pci_id, &D::temperature_memory, &D::power_limit, &D::throttle_reasons>();
  for (const RecordedReading& one : recorded_readings) one.want(wanted);
}

}  // namespace

Wanted::Wanted(Depth depth) {
  add_placement(*this);
  if (depth >= Depth::state) add_state(*this);
  if (depth >= Depth::everything) {
    members_.set();
    add(Extra::enclosures);
  }
  if (depth >= Depth::details) {
    details_.set();
    add(Extra::process_engines).add(Extra::instance_readings);
  }
  if (depth >= Depth::lists) {
    add(Extra::retired_pages).add(Extra::accounted_processes);
    add(Extra::supported_clocks).add(Extra::nvlinks);
  }
}

Wanted& Wanted::add(const Field& field) {
  if (field.detail) add(*field.detail);
  if (field.want != nullptr) field.want(*this);
  return *this;
}

Wanted& Wanted::add(const Wanted& more) {
  details_ |= more.details_;
  members_ |= more.members_;
  extras_ |= more.extras_;
  return *this;
}

Wanted Wanted::without(const Wanted& known) const {
  Wanted left = *this;
  left.details_ &= ~known.details_;
  left.members_ &= ~known.members_;
  left.extras_ &= ~known.extras_;
  return left;
}

}  // namespace berth
