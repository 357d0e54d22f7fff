// A request as one line of JSON, for a ticket in the queue. The reader is somebody else's process,
// perhaps of another version and another user: all of it is hostile until it is a Request.

#include "base/json_archive.h"
#include "base/tr.h"
#include "place/key_text.h"

namespace berth {

namespace {

constexpr int newest_version = 1;
constexpr std::size_t longest_text = 64 << 10;

void walk_version(Archive& archive) {
  std::optional<std::uint64_t> version;
  if (!archive.is_reading()) version = newest_version;
  archive.member("berth_request", version);
  if (!version) return archive.mistake("it has no \"berth_request\": 1");
  if (*version == 0) archive.mistake("its version is 0");
  if (*version > newest_version) {
    archive.mistake("its version " + std::to_string(*version) + " is newer than this berth knows");
  }
}

void walk(Archive& archive, Request& request) {
  walk_version(archive);
  for (const JobKey& key : request_keys()) key.walk(archive, request);
}

}  // namespace

std::string to_json(const Request& request) {
  Request copy = request;
  return write_json(JsonLayout::compact, [&](Archive& archive) { walk(archive, copy); });
}

Result<Request> request_from_json(std::string_view text) {
  if (text.size() > longest_text) {
    return fail(ErrorCode::invalid, std::string(tr("not a request of berth: too long")));
  }
  Request request;
  const auto read = read_json(text, [&](Archive& archive) { walk(archive, request); });
  if (read) return request;
  return fail(read.error().code(),
              trf("not a request that berth can read: {}", read.error().message()));
}

}  // namespace berth
