// links: berth_serve
// What other servers say of themselves, a list of them, and the file that names them.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/json_archive.h"
#include "serve/fleet_report.h"

namespace fuzz_serve_fleet {

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const serve::HttpReply reply{.status = 200, .headers = {}, .body = std::string(text)};
  HostReport report = serve::report_after(serve::unasked(serve::parse_member("gpu1").value()),
                                          reply, WallTime{1}, false);
  BERTH_CHECK(report.seen || !report.why.empty(), "what is not known has a reason");
  const std::string json =
      write_json(JsonLayout::compact, [&](Archive& archive) { walk(archive, report); });
  const auto back = parse_hosts("{\"hosts\":[" + json + "]}");
  BERTH_CHECK(back && back->size() == 1, "a report comes back from its JSON");
  (void)parse_hosts(text);
  const auto members = serve::parse_member_file(text);
  if (members) {
    for (const serve::FleetMember& member : *members) {
      BERTH_CHECK(!member.name.empty(), "a host has a name");
    }
  }
  return 0;
}

}  // namespace fuzz_serve_fleet
