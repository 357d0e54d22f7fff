// smi_of_dump DUMP [PHASE] -- ARGUMENTS…: nvidia-smi's command line answered from a dump. It needs
// no machine, no probe and no program around it. For tests/parity.
//
// smi_of_dump DUMP [PHASE] -- --undetermined NAME,…: those names that the dump says nothing of.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.h"
#include "smi/csv.h"
#include "smi/dump.h"
#include "smi/smi.h"

namespace {

class Dump : public berth::smi::Source {
 public:
  explicit Dump(berth::Snapshot snapshot) : snapshot_(std::move(snapshot)) {}
  berth::Snapshot look(const berth::Wanted&) override { return snapshot_; }

 private:
  berth::Snapshot snapshot_;
};

/// Columns that no GPU of the dump has a reading, or a reason for none, of. What the driver answers
/// without reading anything ("deprecated") follows from its version.
berth::smi::Output undetermined(const berth::Snapshot& snapshot, std::string_view names) {
  std::string text;
  for (const std::string_view name : berth::split(names, ',')) {
    const auto column = berth::smi::find_gpu_column(name);
    if (!column || column->field == nullptr) continue;
    if (berth::smi::is_deprecated(*column, berth::smi::driver_of(snapshot))) continue;
    for (const berth::Device& device : snapshot.devices) {
      if (device.kind != berth::DeviceKind::nvidia_gpu) continue;
      const berth::Cell cell = column->field->read(device, snapshot);
      if (cell.get() || cell.why() != berth::Absent::not_sampled) continue;
      text += std::string(name) + "\n";
      break;
    }
  }
  return {.text = std::move(text)};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const std::string file = words.empty() ? "" : words[0];
  std::string phase;
  std::size_t at = 1;
  if (at < words.size() && words[at] != "--") phase = words[at++];
  std::ifstream stream(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  auto snapshot = berth::smi::snapshot_from_dump(text, phase);
  if (!snapshot) {
    std::fprintf(stderr, "%s: %s\n", file.c_str(), snapshot.error().message().c_str());
    return 1;
  }
  if (at < words.size()) ++at;
  const std::vector<std::string> rest(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  const bool asks = rest.size() == 2 && rest[0] == "--undetermined";
  Dump source(*snapshot);
  const auto output = asks ? undetermined(*snapshot, rest[1]) : berth::smi::run(rest, source);
  std::fwrite(output.text.data(), 1, output.text.size(), stdout);
  return output.code;
}
