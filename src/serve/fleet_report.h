#pragma once
// What an answer, or none, says of a host: its state, why, and what to do about it. Pure.

#include "serve/fleet_members.h"
#include "serve/http_client.h"
#include "snapshot/host_report.h"

namespace berth::serve {

/// Before it was ever asked.
[[nodiscard]] HostReport unasked(const FleetMember& member);

/// The report after the host was asked. `before`: the report until now. A host that did not answer
/// once is stale and keeps its report. The second time it is unreachable, and nothing is known.
[[nodiscard]] HostReport report_after(const HostReport& before, const Result<HttpReply>& answer,
                                      WallTime asked, bool with_token);

/// Where it cannot even be asked: the file of its token cannot be read.
[[nodiscard]] HostReport report_without_token(const FleetMember& member, const Error& error);

}  // namespace berth::serve
