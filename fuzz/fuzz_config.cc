// links: berth_config
// The files of a configuration: another user may have written one.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "config/config.h"

namespace fuzz_config {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  berth::Config config;
  config.add_file(berth::ConfigSource::project, "/berth.toml", text);
  BERTH_CHECK(!config.text("ledger") && !config.text("nvml_library") && !config.text("simulated"),
              "a project says what is asked for and nothing else");
  const std::vector<std::string> nothing(berth::job_keys().size());
  const auto job = berth::job_of(nothing, config);
  BERTH_CHECK(job.has_value() || !job.error().message().empty(), "a mistake is named");
  return 0;
}

}  // namespace fuzz_config
