// links: berth_host_environment
// Files of Python environments and of the kernel, and what children answer.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/control_group.h"
#include "base/text.h"
#include "host_environment/cdi.h"
#include "host_environment/cuda_driver.h"
#include "host_environment/machine_side.h"
#include "host_environment/python_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)berth::parse_torch_version(text);
  for (const auto one : berth::parse_tensorflow_build(text).architectures) {
    BERTH_CHECK(one.major >= 0 && one.minor >= 0, "an architecture is a number");
  }
  (void)berth::parse_pip_index(text);
  (void)berth::names_conda_channels(text);
  for (const auto& said : berth::parse_import_answer(text)) {
    BERTH_CHECK(!said.name.empty(), "a framework has a name");
  }
  BERTH_CHECK(berth::parse_cuda_answer(text).devices.size() <= 1024, "as many as CUDA has");
  (void)berth::parse_nvrm_version(text);
  if (const auto spec = berth::parse_cdi_spec(text)) {
    BERTH_CHECK(!spec->version.empty() && !spec->kind.empty(), "a specification says both");
  }
  (void)berth::file_system_of(text, "/home/ada");
  (void)berth::numbers_in_list(text);
  (void)berth::group_folders(text, "cpu", "/sys/fs/cgroup");
  BERTH_CHECK(!berth::is_older_version(text, text), "nothing is older than itself");
  return 0;
}
