#pragma once
// The members of a snapshot's types, named once for its JSON and for the probe's wire.

#include "base/archive.h"
#include "snapshot/snapshot.h"

namespace berth {

void walk(Archive& archive, ProcessId& id);
void walk(Archive& archive, Partition& mig);
void walk(Archive& archive, Device& device);
void walk(Archive& archive, GpuProcess& process);
void walk(Archive& archive, HostProcess& process);
void walk(Archive& archive, DeviceFiles& files);
void walk(Archive& archive, XidEvent& event);
/// The software of a vendor that JSON names. What tells only a part of Host has them all alike.
struct OtherVendor {
  std::string vendor;
  std::string_view runtime_name;
  VendorSoftware software;
};
[[nodiscard]] std::vector<OtherVendor> other_vendors(const Host& host);
void walk(Archive& archive, OtherVendor& other);
void walk(Archive& archive, Host& host);
/// `hidden`: how a name and a command stand that a policy has emptied. Without a name there is no
/// uid.
void walk(Archive& archive, Claim& claim, Form hidden);
void walk(Archive& archive, Waiter& waiter, Form hidden);
void walk(Archive& archive, Claim& claim);
void walk(Archive& archive, Waiter& waiter);
/// What a lease or a ticket says itself, in its lines (lease/lease_text.h) as in JSON. A stranger
/// may have written it.
void walk_said(Archive& archive, Claim& claim, Form hidden = Form::plain);
void walk_said(Archive& archive, Waiter& waiter, Form hidden = Form::plain);
void walk(Archive& archive, Problem& problem);
void walk(Archive& archive, SourceReport& report);
void walk(Archive& archive, Snapshot& snapshot);

}  // namespace berth
