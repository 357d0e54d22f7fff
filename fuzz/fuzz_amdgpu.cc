// links: berth_probe
// The amdgpu and KFD drivers' texts, gpu_metrics, and what DRM tells of clients.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "probe/amdgpu/gpu_metrics.h"
#include "probe/amdgpu/parse.h"
#include "probe/drm/load.h"

namespace fuzz_amdgpu {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace amdgpu = berth::amdgpu;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto metrics = amdgpu::parse_gpu_metrics(text)) {
    BERTH_CHECK(!metrics->busy || metrics->busy->count() <= 100, "a share");
    BERTH_CHECK(metrics->partitions_busy.size() <= 8, "as many as there can be");
    for (const auto& one : metrics->partitions_busy) {
      BERTH_CHECK(!one || (one->count() >= 0 && one->count() <= 100), "a share of one");
    }
  }
  const auto node = amdgpu::parse_properties(text);
  BERTH_CHECK(amdgpu::place_of(node).card.size() == 16, "an address");
  BERTH_CHECK(amdgpu::place_of(node).function < 8, "a function");
  (void)amdgpu::chip_name(amdgpu::value_of(node, "gfx_target_version"));
  (void)amdgpu::parse_error_counts(text);
  (void)amdgpu::parse_bad_pages(text);
  (void)amdgpu::highest_level(text);
  if (const auto client = berth::drm::parse_fdinfo(text)) {
    (void)berth::drm::memory_on_card(*client);
    (void)berth::drm::memory_of_host(*client);
    berth::drm::Load load;
    for (int i = 1; i < 3; ++i) {
      load.begin(berth::Instant{} + std::chrono::seconds(i));
      const auto told = load.of(*client);
      BERTH_CHECK(!told.shader.get() || told.shader.get()->count() >= 0, "a share of time");
      load.end();
    }
  }
  return 0;
}

}  // namespace fuzz_amdgpu
