// links: berth_probe
// What a probe process wrote into its pipe. It has a vendor's library in its address space, and may
// be killed in the middle of a message.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "probe/probe_process/progress.h"
#include "probe/probe_process/wire.h"
#include "snapshot/json.h"

namespace fuzz_wire {

namespace {

namespace wire = berth::wire;

std::vector<wire::Message> messages_in(std::string_view stream, std::size_t piece) {
  std::vector<wire::Message> messages;
  wire::Unpacker unpacker;
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    unpacker.feed(stream.substr(at, piece));
    wire::Message message;
    while (unpacker.next(message)) messages.push_back(std::move(message));
  }
  return messages;
}

/// Compared as bytes: what is not a number equals nothing, itself included.
std::string bytes_of(const std::vector<wire::Message>& messages) {
  std::string bytes;
  for (const wire::Message& message : messages) bytes += wire::encode(message);
  return bytes;
}

berth::Snapshot snapshot_of(const std::vector<wire::Message>& messages) {
  berth::Progress progress;
  for (wire::Message message : messages) berth::apply(progress, std::move(message));
  if (progress.current) berth::give_up(progress, *progress.current, {});
  // A thousand rows that all say the same would cost the fuzzer its speed.
  if (progress.device_count.value_or(0) <= 16) {
    berth::give_up_driver(progress, {.why = berth::GivenUp::Why::out_of_time});
  }
  return berth::finished_snapshot(std::move(progress));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view stream(reinterpret_cast<const char*>(data), size);
  (void)wire::decode(stream);
  const auto messages = messages_in(stream, std::max<std::size_t>(size, 1));
  const std::string written = bytes_of(messages);
  BERTH_CHECK(written.size() <= size, "a message holds no more than arrived");
  BERTH_CHECK(bytes_of(messages_in(stream, 7)) == written, "how the bytes arrive changes nothing");
  const auto again = messages_in(written, std::max<std::size_t>(written.size(), 1));
  BERTH_CHECK(again.size() == messages.size() && bytes_of(again) == written,
              "what was read can be told on");
  const std::string json = berth::to_json(snapshot_of(messages), berth::JsonLayout::compact);
  BERTH_CHECK(berth::snapshot_from_json(json).has_value(), "whatever is told can be replayed");
  return 0;
}

}  // namespace fuzz_wire
