// smi_of_dump DUMP [PHASE] -- ARGUMENTS…: nvidia-smi's command line answered from a dump, without a
// machine, a probe or the program around it. For tests/parity.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "smi/dump.h"
#include "smi/smi.h"

namespace {

class Dump : public berth::smi::Source {
 public:
  explicit Dump(berth::Snapshot snapshot) : snapshot_(std::move(snapshot)) {}
  berth::Snapshot look(berth::smi::Need) override { return snapshot_; }

 private:
  berth::Snapshot snapshot_;
};

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
  Dump source(std::move(*snapshot));
  const auto output = berth::smi::run(rest, source);
  std::fwrite(output.text.data(), 1, output.text.size(), stdout);
  return output.code;
}
