// The private table that the vendor's own tool asks for. To the tool a library without one is "of
// another version". The table was seen from outside, on the tools of 535 to 555. Its first word is
// its size in bytes, then come functions. A missing one is "Uninitialized" in a cell. One that
// answers "not supported" is N/A.

#include <array>
#include <cstdio>

#include "details.h"

using namespace fake_nvml;

namespace {

/// A process as the tool's own lists have it: a name stands behind the public entry.
struct NamedProcess {
  std::uint32_t pid;
  std::uint64_t used_memory;
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
  std::uint64_t protected_memory;
  std::array<char, 4096> name;
};
static_assert(sizeof(NamedProcess) == 4128);

std::string name_of_process(std::int64_t pid) {
  for (const berth::HostProcess& process : snapshot().processes) {
    if (process.id.pid != pid || !process.command.get()) continue;
    if (!process.command.get()->empty()) return process.command.get()->front();
  }
  return "[Not Found]";
}

void write(NamedProcess& to, const berth::GpuProcess& from) {
  to = {};
  to.pid = static_cast<std::uint32_t>(from.pid);
  to.used_memory = from.memory.get() ? from.memory.get()->count() : value_not_available;
  to.gpu_instance = from.partition ? from.partition->gpu_instance : no_instance;
  to.compute_instance = from.partition ? from.partition->compute_instance : no_instance;
  std::snprintf(to.name.data(), to.name.size(), "%s", name_of_process(from.pid).c_str());
}

/// Clients of MPS are in the list of computing processes, too. A list of its own tells which they
/// are.
template <berth::GpuUse List>
bool belongs_to(berth::GpuUse use) {
  using enum berth::GpuUse;
  if (use == List || (use == both && List != mps)) return true;
  return use == mps && List == compute;
}

template <berth::GpuUse List>
Return list_named(Handle handle, unsigned* count, NamedProcess* out) {
  return on_device("private:processes", handle, [&](const Call& call, const FakeDevice& it) {
    if (count == nullptr || out == nullptr) return invalid_argument;
    std::vector<const berth::GpuProcess*> found;
    for (const berth::GpuProcess& process : it.processes) {
      if (belongs_to<List>(process.use)) found.push_back(&process);
    }
    const unsigned room = *count;
    const Return code = call.put(count, static_cast<unsigned>(found.size()));
    if (code != success || found.size() > room) return insufficient_size;
    for (std::size_t i = 0; i < found.size(); ++i) write(out[i], *found[i]);
    return success;
  });
}

Return enforced_limit(Handle handle, unsigned* out) {
  return on_device("private:limit", handle, [&](const Call& call, const FakeDevice& it) {
    return call.put(out, it.data.power_limit);
  });
}

Return limit_margin(Handle handle, int* out) {
  return on_device("private:margin", handle, [&](const Call& call, const FakeDevice& it) {
    return put_cell(call, out, cell_of(it, Detail::temperature_limit_margin));
  });
}

Return refuse() { return not_supported; }

struct Table {
  std::size_t bytes = sizeof(Table);
  std::array<void*, 512> functions{};
};

/// The place of a function is counted in words from the table's beginning.
Table filled_table() {
  Table table;
  table.functions.fill(reinterpret_cast<void*>(refuse));
  const auto put = [&](std::size_t word, auto* function) {
    table.functions.at(word - 1) = reinterpret_cast<void*>(function);
  };
  put(108, enforced_limit);
  put(213, list_named<berth::GpuUse::compute>);
  put(214, list_named<berth::GpuUse::mps>);
  put(215, list_named<berth::GpuUse::graphics>);
  put(240, limit_margin);
  return table;
}

}  // namespace

FAKE_NVML nvmlInternalGetExportTable(const void** out, const void* name) {
  const Call call(__func__, "");
  if (call.ended()) return *call.ended();
  if (out == nullptr || name == nullptr) return invalid_argument;
  static const Table table = filled_table();
  *out = &table;
  return success;
}
